package session

import (
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

const (
	maxRetries   = 3               // after the first try
	firstBackoff = 2 * time.Second // doubled for each further failure
	maxWait      = time.Minute     // the longest wait that a provider may ask for
)

// failure makes the entry of a failed try: its class and the time before
// which the next try must not start.
func failure(ev ModelFailed, before int, now time.Time) *transcript.Fail {
	e := ev.Err
	f := &transcript.Fail{Request: ev.Request, Class: e.Class, Status: e.Status, Code: e.Code,
		Phase: e.Phase, Message: e.Message, Partial: e.Partial, Usage: e.Usage}
	if f.Class != llm.Retry && f.Class != llm.Incomplete {
		return f
	}
	wait := firstBackoff << before
	if mutant("BackoffFlat") {
		wait = firstBackoff
	}
	wait += time.Duration(ev.Jitter * float64(wait) / 4)
	if e.RetryAfter > maxWait {
		f.Class = llm.Fatal
		f.Message = fmt.Sprintf("%s; the provider asks to wait %s, which is more than %s: try again later", e.Message, e.RetryAfter, maxWait)
		return f
	}
	if before >= maxRetries && !mutant("RetriesWithoutEnd") {
		return f // the last one: nothing is tried again
	}
	if e.RetryAfter > 0 && !mutant("RetryAfterIgnored") {
		wait = e.RetryAfter
	}
	f.NotBefore = now.Add(wait)
	return f
}

// backingOff reports whether the next try has to wait. A time further off than
// any wait can be comes from a clock that was set back, and doesn't count.
func (s *State) backingOff(now time.Time) bool {
	if s.LastFail == nil {
		return false
	}
	left := s.LastFail.NotBefore.Sub(now)
	return left > 0 && left <= maxWait
}

// spent reports whether the failures so far end the run.
func spent(s *State) bool {
	return s.Fails > 0 && s.LastFail.Class != llm.Overflow && (s.LastFail.Class == llm.Fatal && !mutant("FatalRetried") || s.Fails > maxRetries && !mutant("RetriesWithoutEnd"))
}

// failReason maps the last failure to the reason of the settle.
func failReason(f *transcript.Fail) transcript.Reason {
	if f.Class == llm.Incomplete {
		return transcript.ModelIncomplete
	}
	return transcript.ModelError
}
