package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// many is an answer with n calls.
func many(c *conversation, n int, name, args string) Event {
	parts := make([]llm.Part, n)
	for i := range parts {
		parts[i] = llm.Part{Type: llm.CallPart, Call: &llm.Call{Name: name, Arguments: args}}
	}
	return c.answer(llm.StopTools, parts...)
}

func TestE4_ThousandsOfCallsInOneAnswer(t *testing.T) {
	for _, call := range [][2]string{{"todo", `{"action":"list"}`}, {"fly", "{}"}, {"read", `{"path":"a"}`}} {
		const n = 2000
		c := newConversation(t)
		c.do("prompt p1 go")
		got := Decide(c.s, many(c, n, call[0], call[1]), c.env)
		ran, refused := 0, 0
		for _, call := range got.Next.Calls {
			switch {
			case call.Intent != nil || call.Result.Outcome == transcript.OutcomeOK:
				ran++
			case call.Result.NotRun:
				refused++
			}
		}
		if ran > maxBatch || ran+refused != n {
			t.Errorf("%s: %d ran, %d were refused", call[0], ran, refused)
		}
	}
}

func TestE10_AClockThatWasSetBackHoldsNothingUp(t *testing.T) {
	c := newConversation(t)
	c.do("prompt p1 go")
	c.do("fail retry 429 after=20s")
	c.env.Now = c.env.Now.Add(-24 * time.Hour)
	c.do("tick 0s")
	if !c.s.asked() {
		t.Error("the next try waits for a clock that was set back")
	}
}

func TestE12_AbsurdUsageIsNotBelieved(t *testing.T) {
	c := newConversation(t)
	c.env.Window = 100_000
	c.do("prompt p1 go")
	c.decide(ModelDone{Request: c.s.Req, Response: &llm.Response{Stop: llm.StopEnd, Parts: []llm.Part{{Type: llm.TextPart, Text: "hi"}},
		Usage: llm.Usage{Input: 999_999_999_999, Output: 1}}})
	c.do("prompt p2 more")
	if !c.s.asked() || c.s.Tokens(c.env) > 10_000 {
		t.Errorf("about %d tokens, last settled %+v", c.s.Tokens(c.env), c.s.Last)
	}
}

func TestE5_ARefusalIsBrief(t *testing.T) {
	c := newConversation(t)
	c.do("prompt p1 go")
	var args strings.Builder
	args.WriteString(`{"path":"a"`)
	for i := range 50_000 {
		fmt.Fprintf(&args, `,"field%d":1`, i)
	}
	args.WriteString("}")
	got := Decide(c.s, many(c, 1, "read", args.String()), c.env)
	if n := len(got.Next.Calls[0].Result.Text); n > maxRefusal+100 {
		t.Errorf("the refusal has %d bytes", n)
	}
}
