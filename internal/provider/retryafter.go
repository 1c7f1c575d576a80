package provider

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a header can ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long the provider wants us to wait: "retry-after-ms",
// else "Retry-After" in seconds or as a date. A date counts from the
// response's own Date, so a clock that is wrong here or there doesn't matter.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bounded(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return bounded(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return bounded(at.Sub(now).Seconds())
}

// bounded turns seconds into a duration between 0 and maxRetryAfter.
func bounded(seconds float64) time.Duration {
	switch {
	case seconds > maxRetryAfter.Seconds():
		return maxRetryAfter
	case seconds > 0:
		return time.Duration(seconds * float64(time.Second))
	}
	return 0 // negative or not a number
}

// target names where a redirect leads, without what may be secret in a URL.
func target(h http.Header) string {
	u, err := url.Parse(h.Get("Location"))
	if err != nil || u.Path == "" && u.Host == "" {
		return ""
	}
	return " to " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
