package provider

import (
	"bytes"
	"slices"
	"sync"

	"github.com/gamma-harness/gamma/llm"
)

// Limits of the cache of encoded messages, over all sessions.
const (
	memoSessions = 32
	memoBytes    = 16 << 20
)

// memo keeps, for the sessions that spoke last, the encoding of their latest
// request: a session's next request repeats it and adds a little. What is
// reused is compared by value, so a history that was changed in any way is
// encoded again; for strings that are shared the comparison is nearly free.
type memo struct {
	mu   sync.Mutex
	list []*cached // the newest last
	size int
}

// cached is the encoding of one request. While a request is being encoded
// its session's value belongs to that goroutine alone.
type cached struct {
	session  string
	settings llm.Settings
	system   string
	tools    []llm.Tool
	head     []byte

	messages []llm.Message // copies
	ends     []int         // encoded[:ends[i]] holds messages 0..i, each behind a comma
	encoded  []byte
}

// take hands out the session's value, or a new one.
func (m *memo) take(session string) *cached {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, c := range m.list {
		if c.session == session {
			m.list = slices.Delete(m.list, i, i+1)
			m.size -= len(c.encoded)
			return c
		}
	}
	return &cached{session: session}
}

// put takes a value back and drops the oldest ones beyond the limits.
func (m *memo) put(c *cached) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, c)
	m.size += len(c.encoded)
	drop := 0
	for drop < len(m.list) && (m.size > memoBytes || len(m.list)-drop > memoSessions) {
		m.size -= len(m.list[drop].encoded)
		drop++
	}
	m.list = slices.Delete(m.list, 0, drop)
}

// hasHead reports whether the head is that of the request.
func (c *cached) hasHead(req *llm.Request) bool {
	return c.head != nil && c.settings == req.Settings && c.system == req.System &&
		slices.EqualFunc(c.tools, req.Tools, func(a, b llm.Tool) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
		})
}

// setHead keeps a new head. Another model may encode messages otherwise.
func (c *cached) setHead(req *llm.Request, head []byte) {
	if c.settings.Model != req.Settings.Model {
		c.cut(0)
	}
	c.settings, c.system, c.head = req.Settings, req.System, head
	c.tools = slices.Clone(req.Tools)
	for i := range c.tools {
		c.tools[i].Schema = bytes.Clone(c.tools[i].Schema)
	}
}

// reuse keeps the encoding of the messages that the new ones begin with, and
// returns how many these are.
func (c *cached) reuse(messages []llm.Message) int {
	n := 0
	for n < min(len(c.messages), len(messages)) && equalMessages(&c.messages[n], &messages[n]) {
		n++
	}
	c.cut(n)
	return n
}

func (c *cached) cut(n int) {
	clear(c.messages[n:])
	c.messages, c.ends = c.messages[:n], c.ends[:n]
	end := 0
	if n > 0 {
		end = c.ends[n-1]
	}
	c.encoded = c.encoded[:end]
}

// add keeps one more message; encoded is the encoding with it at the end.
func (c *cached) add(m *llm.Message, encoded []byte) {
	c.messages = append(c.messages, copyMessage(m))
	c.ends = append(c.ends, len(encoded))
	c.encoded = encoded
}

// copyMessage copies what the owner of a message could change later.
func copyMessage(m *llm.Message) llm.Message {
	out := llm.Message{Role: m.Role, Parts: slices.Clone(m.Parts)}
	for i := range out.Parts {
		p := &out.Parts[i]
		p.Raw = bytes.Clone(p.Raw)
		if p.Call != nil {
			call := *p.Call
			p.Call = &call
		}
		if p.Result != nil {
			result := *p.Result
			p.Result = &result
		}
	}
	return out
}

func equalMessages(a, b *llm.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, func(p, q llm.Part) bool {
		return p.Type == q.Type && p.Text == q.Text && p.Maker == q.Maker && bytes.Equal(p.Raw, q.Raw) &&
			(p.Call == q.Call || p.Call != nil && q.Call != nil && *p.Call == *q.Call) &&
			(p.Result == q.Result || p.Result != nil && q.Result != nil && *p.Result == *q.Result)
	})
}
