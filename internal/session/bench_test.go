package session

import (
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// long builds a session of about n entries: turns with a read of 2.4 kB each.
func long(tb testing.TB, n int) ([]transcript.Entry, Env) {
	c := newConversation(tb)
	c.do("prompt p1 go")
	entries, s := c.entries, c.s
	body := strings.Repeat("all work and no play makes a dull boy\n", 64)
	step := func(ev Event) {
		out := Decide(s, ev, c.env)
		entries, s = append(entries, out.Entries...), out.Next
	}
	for len(entries) < n {
		step(ModelDone{Request: s.Req, Response: &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{
			{Type: llm.TextPart, Text: "Reading on."},
			{Type: llm.CallPart, Call: &llm.Call{Name: "read", Arguments: `{"path":"a.txt"}`}}}}})
		step(ToolDone{Call: s.Calls[0].ID, Epoch: 1, Output: Output{Outcome: transcript.OutcomeOK, Text: body}})
	}
	return entries, c.env
}

// BenchmarkE25_FoldAndRequest: 20,000 decoded entries to state and request.
func BenchmarkE25_FoldAndRequest(b *testing.B) {
	entries, env := long(b, 20_000)
	for b.Loop() {
		s, err := Fold(entries)
		if err != nil {
			b.Fatal(err)
		}
		if len(Request(s, env).Messages) == 0 {
			b.Fatal("no messages")
		}
	}
}

// BenchmarkP2_Decide: the core's share of a read turn in a session of 200
// turns (an answer with a call, and its result).
func BenchmarkP2_Decide(b *testing.B) {
	entries, env := long(b, 800)
	s, err := Fold(entries)
	if err != nil {
		b.Fatal(err)
	}
	answer := &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart, Call: &llm.Call{Name: "read", Arguments: `{"path":"a"}`}}}}
	out := Output{Outcome: transcript.OutcomeOK, Text: strings.Repeat("x", 2000)}
	for b.Loop() {
		one := Decide(s.Clone(), ModelDone{Request: s.Req, Response: answer}, env)
		two := Decide(one.Next, ToolDone{Call: one.Next.Calls[0].ID, Epoch: 1, Output: out}, env)
		if two.Next.Req.IsZero() {
			b.Fatal("no request")
		}
	}
}

// BenchmarkE5_CheckArguments: decoding and validating a call.
func BenchmarkE5_CheckArguments(b *testing.B) {
	_, env := long(b, 10)
	call := llm.Call{Name: "read", Arguments: `{"path":"internal/session/plan.go"}`}
	for b.Loop() {
		if _, err := env.Tools.check(call); err != nil {
			b.Fatal(err)
		}
	}
}
