package provider

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// encoder makes request bodies: a constant head, the messages, "]}".
type encoder struct {
	config   Config
	official bool // OpenAI's own server, which knows fields that others refuse
	memo     memo
}

// body returns the body of a request.
func (e *encoder) body(req *llm.Request) ([]byte, error) {
	c := e.memo.take(req.Origin.Session)
	defer e.memo.put(c)
	if !c.hasHead(req) {
		head, err := e.head(req)
		if err != nil {
			return nil, err
		}
		c.setHead(req, head)
	}
	leading := leadingDeveloper(req.Messages)
	reused := c.reuse(req.Messages)
	c.encoded = slices.Grow(c.encoded, estimate(req.Messages[reused:]))
	for i := reused; i < len(req.Messages); i++ {
		m := &req.Messages[i]
		encoded, err := e.message(append(c.encoded, ','), m, i < leading, req)
		if err != nil {
			return nil, fmt.Errorf("message %d (%s): %w", i+1, m.Role, err)
		}
		c.add(m, encoded)
	}
	messages := c.encoded
	if len(messages) > 0 && c.head[len(c.head)-1] == '[' {
		messages = messages[1:]
	}
	body := make([]byte, 0, len(c.head)+len(messages)+2)
	body = append(append(body, c.head...), messages...)
	return append(body, "]}"...), nil
}

// estimate guesses how many bytes the messages take when encoded.
func estimate(messages []llm.Message) int {
	n := 0
	for i := range messages {
		n += 64
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			n += 64 + len(p.Text) + len(p.Raw)
			if p.Call != nil {
				n += len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.Text)
			}
		}
	}
	return n + n/8 // escapes
}

// leadingDeveloper counts the developer messages before the first other one.
func leadingDeveloper(messages []llm.Message) int {
	for i := range messages {
		if messages[i].Role != llm.Developer {
			return i
		}
	}
	return len(messages)
}

// head returns everything before the messages, up to the "[" and, in Chat, the
// system message.
func (e *encoder) head(req *llm.Request) ([]byte, error) {
	name := cmp.Or(req.Settings.Model, e.config.Model)
	if name == "" {
		return nil, errors.New("no model is named; use --model PROVIDER/NAME or GAMMA_MODEL")
	}
	b := append([]byte(nil), `{"model":`...)
	b = appendQuoted(b, name)
	b = append(b, `,"stream":true`...)
	if e.config.Dialect == Chat {
		return e.chatHead(b, req)
	}
	return e.respHead(b, req)
}

// message appends one encoded message.
func (e *encoder) message(dst []byte, m *llm.Message, leading bool, req *llm.Request) ([]byte, error) {
	if e.config.Dialect == Chat {
		return e.chatMessage(dst, m, leading)
	}
	return e.respMessage(dst, m, maker(e.config.Provider, cmp.Or(req.Settings.Model, e.config.Model)))
}

// schema returns a tool's schema; one that isn't an object would break the
// whole body.
func schema(t *llm.Tool) ([]byte, error) {
	if len(t.Schema) == 0 {
		return []byte(`{"type":"object","properties":{}}`), nil
	}
	v := jsontext.Value(t.Schema)
	if v.Kind() != '{' || !v.IsValid() {
		return nil, fmt.Errorf("tool %s: its schema isn't a JSON object", t.Name)
	}
	return t.Schema, nil
}

func appendInt(dst []byte, name string, n int) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return strconv.AppendInt(dst, int64(n), 10)
}

// textsOf returns the texts of a message that may hold nothing else.
func textsOf(m *llm.Message) ([]string, error) {
	texts := make([]string, 0, 1)
	for i := range m.Parts {
		if m.Parts[i].Type != llm.TextPart {
			return nil, fmt.Errorf("part %d is %q; want text", i+1, m.Parts[i].Type)
		}
		texts = append(texts, m.Parts[i].Text)
	}
	if len(texts) == 0 {
		texts = append(texts, "")
	}
	return texts, nil
}

// resultsOf returns the results of a tool message.
func resultsOf(m *llm.Message) ([]*llm.Result, error) {
	var results []*llm.Result
	for i := range m.Parts {
		r := m.Parts[i].Result
		if m.Parts[i].Type != llm.ResultPart || r == nil || r.CallID == "" {
			return nil, fmt.Errorf("part %d is no result with a call id", i+1)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, errors.New("it has no result")
	}
	return results, nil
}

// checkCall refuses a call that can't be paired with its result.
func checkCall(c *llm.Call) error {
	if c == nil || c.ID == "" {
		return errors.New("a call has no id")
	}
	return nil
}
