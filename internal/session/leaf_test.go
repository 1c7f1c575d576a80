package session

import (
	"errors"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// lines plays lines of a conversation file and returns the conversation.
func lines(t *testing.T, text ...string) *conversation {
	t.Helper()
	c := newConversation(t)
	for _, l := range text {
		c.do(l)
	}
	return c
}

// moved appends a leaf record, as a repair writes it, and opens again.
func (c *conversation) moved(to transcript.ID) {
	c.t.Helper()
	c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: transcript.OpenDeposit})
	c.store(&transcript.Leaf{To: to, Why: "repair"})
	c.entries[len(c.entries)-1].ID.Epoch = c.s.Epoch + 1
	c.refold()
	c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: transcript.OpenStart})
	c.refold()
}

func (c *conversation) said() string {
	var b strings.Builder
	for _, m := range Request(c.s, c.env).Messages {
		for _, p := range m.Parts {
			b.WriteString(p.Text + "\n")
		}
	}
	return b.String()
}

func TestE22_BC28_LeafRecordMovesTheBranch(t *testing.T) {
	c := lines(t, "prompt p1 one", "answer first", "prompt p2 two", `calls read {"path":"a"}`)
	settled := c.s.Last.Settled
	c.moved(settled)
	if c.s.Run != nil || c.s.Leaf != settled || c.s.Generation != 1 || len(c.s.Calls) != 0 || len(c.s.Queue) != 0 {
		t.Fatalf("run %v, leaf %v, calls %v, waits %v", c.s.Run, c.s.Leaf, c.s.Calls, c.s.Queue)
	}
	if c.s.Tries["turn"] != 2 {
		t.Errorf("%d tries: those of the other branch count", c.s.Tries["turn"])
	}
	c.do("prompt p3 three") // live state and fold are compared here
	said := c.said()
	if !strings.Contains(said, "one") || strings.Contains(said, "two") || !strings.Contains(said, "three") {
		t.Errorf("said: %s", said)
	}
	if d := c.last.Entries[1]; d.Parent != settled {
		t.Errorf("%s stands behind %s, want %s", d.ID, d.Parent, settled)
	}
	c.breaks("branch")
	c.do("answer third")
	c.do("prompt p4 four")
	c.breaks("")
	if r := c.do("prompt p2 two"); !strings.Contains(r, "again") {
		t.Errorf("a message of the other branch was taken twice: %s", r)
	}
}

// breaks checks the reason in the newest request, and its digest.
func (c *conversation) breaks(want string) {
	c.t.Helper()
	for i := len(c.entries) - 1; i >= 0; i-- {
		r, ok := c.entries[i].Body.(*transcript.Request)
		if !ok {
			continue
		}
		if r.Break != want {
			c.t.Errorf("request %s: break %q, want %q", c.entries[i].ID, r.Break, want)
		}
		var d Digester
		if got := d.Of(c.s, r.Prefix); got.Hex != r.SHA256 {
			c.t.Errorf("request %s: its digest isn't that of its messages", c.entries[i].ID)
		}
		return
	}
}

func TestE22_LeafRecordMovesToTheRoot(t *testing.T) {
	c := lines(t, "prompt p1 one", "fail retry 500")
	c.moved(transcript.ID{})
	c.do("prompt p2 two")
	if said := c.said(); strings.Contains(said, "one") || !strings.Contains(said, "two") {
		t.Errorf("said: %s", said)
	}
	c.breaks("branch")
}

func TestE22_LeafRecordThatPointsNowhere(t *testing.T) {
	c := lines(t, "prompt p1 one", "answer first")
	c.store(&transcript.Leaf{To: transcript.ID{Epoch: 1, Seq: 3}}) // a message, no node
	_, err := Fold(c.entries)
	b := (*BrokenError)(nil)
	if !errors.As(err, &b) || b.Kind != "leaf" {
		t.Errorf("%v", err)
	}
}

// Entries that Decide never writes in this order are refused by Fold.
func TestE34_BC13_FoldRefusesContradictions(t *testing.T) {
	base := []string{"prompt p1 one", `calls read {"path":"a"} ;; bash {"command":"x"}`}
	for name, c := range map[string]struct {
		lines []string
		body  func(c *conversation) transcript.Body
		want  string
	}{
		"a request while calls are open":  {base, func(c *conversation) transcript.Body { return &transcript.Request{} }, "no result"},
		"a delivery while calls are open": {base, func(c *conversation) transcript.Body { return &transcript.Deliver{Run: c.s.Run.ID} }, "no result"},
		"an end while calls are open": {base, func(c *conversation) transcript.Body {
			return &transcript.Settled{Run: c.s.Run.ID, Reason: transcript.Done}
		}, "no result"},
		"a result without its call": {base, func(c *conversation) transcript.Body { return &transcript.Result{Call: "c99.1"} }, "no call c99.1"},
		"a second intent":           {base, func(c *conversation) transcript.Body { return &transcript.Intent{Call: c.s.Calls[0].ID} }, "intent"},
		"a second result": {append(base, "tool 1 ok out"), func(c *conversation) transcript.Body {
			return &transcript.Result{Call: c.s.Calls[0].ID}
		}, "second result"},
		"an answer to no request": {append(base, "tool 1 ok a", "tool 2 ok b"), func(c *conversation) transcript.Body {
			return &transcript.Answer{Request: transcript.ID{Epoch: 1, Seq: 4}, Stop: llm.StopEnd}
		}, "answers request 1-4"},
		"a request before the answer":  {base[:1], func(c *conversation) transcript.Body { return &transcript.Request{} }, "no answer yet"},
		"a delivery before the answer": {base[:1], func(c *conversation) transcript.Body { return &transcript.Deliver{Run: c.s.Run.ID} }, "no answer yet"},
		"the end of another run": {base[:1], func(c *conversation) transcript.Body {
			return &transcript.Settled{Run: transcript.ID{Epoch: 1, Seq: 1}}
		}, "run 1-1"},
		"a result without a run": {nil, func(c *conversation) transcript.Body { return &transcript.Result{Call: "c1.1"} }, "no run"},
		"a delivery of nothing there": {nil, func(c *conversation) transcript.Body {
			return &transcript.Deliver{Arrivals: []transcript.ID{{Epoch: 1, Seq: 99}}}
		}, "not waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			k := lines(t, c.lines...)
			k.store(c.body(k))
			k.entries[len(k.entries)-1].Parent = k.s.Leaf
			_, err := Fold(k.entries)
			b := (*BrokenError)(nil)
			if !errors.As(err, &b) || !strings.Contains(b.Reason, c.want) || b.Entry != k.entries[len(k.entries)-1].ID {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Replay gives, for each request on every branch, the state that it was made
// from: its digest is the stored one.
func TestE32_BC44_ReplayFindsWhatWasSent(t *testing.T) {
	c := lines(t, "prompt p1 one", `calls read {"path":"a"} ;; todo {"action":"list"}`, "tool 1 ok out", "fail retry 500", "tick 5s", "answer first", "prompt p2 two", "answer second")
	c.moved(c.s.Last.ID) // not pair-safe, but whole
	c.entries = c.entries[:len(c.entries)-2]
	c.moved(transcript.ID{})
	c.do("prompt p3 three")
	var d Digester
	n := 0
	Replay(c.entries, func(e transcript.Entry, s *State) {
		n++
		r := e.Body.(*transcript.Request)
		if s == nil {
			t.Fatalf("request %s has no state", e.ID)
		}
		if got := d.Of(s, r.Prefix); got.Hex != r.SHA256 || got.Items != r.Items || got.Bytes != r.Bytes {
			t.Errorf("request %s: %d messages, digest %s; stored %d, %s", e.ID, got.Items, got.Hex, r.Items, r.SHA256)
		}
	})
	if n != 5 {
		t.Errorf("%d requests", n)
	}
}
