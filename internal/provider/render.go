package provider

import (
	"fmt"

	"github.com/gamma-harness/gamma/llm"
)

// Encoder makes the bytes that a model configured in the same way sends. It
// needs no key and does no I/O.
type Encoder struct{ enc encoder }

// NewEncoder returns the encoder of a configuration.
func NewEncoder(c Config) (*Encoder, error) {
	c, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	u, err := endpoint(c.BaseURL, c.Dialect)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	c.Key = ""
	return &Encoder{encoder{config: c, official: u.Hostname() == "api.openai.com"}}, nil
}

// Body returns the body of a request.
func (e *Encoder) Body(req *llm.Request) ([]byte, error) { return e.enc.body(req) }
