package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// Dialect is the API that a server speaks.
type Dialect string

// The dialects.
const (
	Responses Dialect = "responses" // POST /responses
	Chat      Dialect = "chat"      // POST /chat/completions
)

// DefaultBaseURL is where requests go if Config.BaseURL is empty.
const DefaultBaseURL = "https://api.openai.com/v1"

// ErrNoKey says that a key is missing and the server wants one.
var ErrNoKey = errors.New("no API key")

// Timeouts bound one attempt. Zero means the default.
type Timeouts struct {
	Header time.Duration // from the start to the response header; default 2 minutes
	Idle   time.Duration // without a byte of the answer; default 5 minutes
	Total  time.Duration // the whole attempt; default 30 minutes
}

// Config says which server to use and how it wants to be spoken to.
type Config struct {
	// Provider is "openai" (Responses), "openai-chat" (Chat) or a name of the
	// configuration. It becomes Response.Provider and part of Part.Maker.
	Provider string
	Dialect  Dialect // may be empty for "openai" and "openai-chat"
	BaseURL  string  // up to and including "/v1"; default DefaultBaseURL
	Key      string  `json:"-"` // sent as bearer token; may be empty with an own BaseURL
	// KeyName is where the key comes from, for messages; default
	// "OPENAI_API_KEY".
	KeyName string
	Model   string // used if Settings.Model is empty

	// DeveloperRole: the model takes the role "developer" in Chat. Otherwise
	// the system prompt and the developer messages before the first other
	// message are sent as "system", later ones as "user".
	DeveloperRole bool
	// NoReasoning: the model doesn't reason, and Responses refuses reasoning
	// options for it; they are left out.
	NoReasoning bool
	// Summary asks Responses for readable reasoning summaries ("auto",
	// "concise", "detailed"). Empty: none, since some accounts are refused.
	Summary string

	Timeouts   Timeouts
	HTTPClient *http.Client // default: own connections, proxies from the environment
	UserAgent  string       // default "gamma"
}

// String describes the configuration without its key.
func (c Config) String() string {
	return fmt.Sprintf("%s (%s) at %s, model %s", c.Provider, c.Dialect, c.BaseURL, c.Model)
}

// GoString is String, so that no way of printing shows the key.
func (c Config) GoString() string { return c.String() }

// New returns a model that speaks to the configured server. It does no I/O.
// The error wraps ErrNoKey if only the key is missing.
func New(c Config) (llm.Model, error) {
	c, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	u, err := endpoint(c.BaseURL, c.Dialect)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	official := u.Hostname() == "api.openai.com"
	if c.Key == "" && official {
		return nil, fmt.Errorf("provider %s: %w: set %s, or the base URL of a server that needs none", c.Provider, ErrNoKey, c.KeyName)
	}
	hidden := secretsOf(c.Key, u)
	c.Key = ""
	return &model{
		provider: c.Provider,
		dialect:  c.Dialect,
		name:     c.Model,
		url:      u.String(),
		host:     u.Host,
		agent:    c.UserAgent,
		timeouts: c.Timeouts,
		client:   client(c.HTTPClient),
		secrets:  hidden,
		keyName:  c.KeyName,
		enc:      &encoder{config: c, official: official},
	}, nil
}

// complete fills in the defaults and refuses what can't work.
func (c Config) complete() (Config, error) {
	c.Key = strings.TrimSpace(c.Key)
	c.KeyName = cmp.Or(c.KeyName, "OPENAI_API_KEY")
	for _, r := range c.Key {
		if r <= ' ' || r > '~' {
			return c, errors.New("the API key holds characters that no key has; check " + c.KeyName)
		}
	}
	if c.Dialect == "" {
		switch c.Provider {
		case "openai":
			c.Dialect = Responses
		case "openai-chat":
			c.Dialect = Chat
		default:
			return c, errors.New("no dialect: want responses or chat")
		}
	}
	if c.Dialect != Responses && c.Dialect != Chat {
		return c, fmt.Errorf("dialect %q: want responses or chat", c.Dialect)
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.UserAgent == "" {
		c.UserAgent = "gamma"
	}
	setDefault(&c.Timeouts.Header, 2*time.Minute)
	setDefault(&c.Timeouts.Idle, 5*time.Minute)
	setDefault(&c.Timeouts.Total, 30*time.Minute)
	return c, nil
}

// NeverReasons reports whether a model of this name is known to refuse
// reasoning options. Of names that tell nothing it is false.
func NeverReasons(name string) bool {
	for _, family := range []string{"gpt-3.5", "gpt-4", "chatgpt-"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

func setDefault(d *time.Duration, to time.Duration) {
	if *d <= 0 {
		*d = to
	}
}

// endpoint returns the address that requests are posted to. A query of the
// base URL is kept.
func endpoint(base string, d Dialect) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The error of url.Parse would show the URL, and a password in it.
		return nil, errors.New("the base URL isn't an http or https URL; want one like " + DefaultBaseURL)
	}
	if d == Chat {
		return u.JoinPath("chat", "completions"), nil
	}
	return u.JoinPath("responses"), nil
}

// client returns an HTTP client that never follows a redirect: the request
// holds a key and a conversation, and both were meant for one host.
func client(own *http.Client) *http.Client {
	var c http.Client
	if own != nil {
		c = *own
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 16 // sessions that take turns keep their connections
		t.DisableCompression = true
		c.Transport = t
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}
