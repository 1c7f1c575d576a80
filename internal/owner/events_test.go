package owner

import (
	"testing"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// TestC5_OutputsAreToldTwiceAtMost: by the end of the call and the end of the
// result message.
func TestC5_OutputsAreToldTwiceAtMost(t *testing.T) {
	parts := []llm.Part{{Type: llm.ResultPart, Result: &llm.Result{Text: "output"}}}
	for typ, want := range map[string]string{session.MessageStart: "", session.MessageEnd: "output"} {
		e := EventOf(agent.Published{Update: session.Update{Type: typ, Role: llm.ToolRole, Call: "c1.1", Parts: parts}})
		if e.Text != want {
			t.Errorf("%s: text %q", typ, e.Text)
		}
	}
	e := EventOf(agent.Published{Update: session.Update{Type: session.MessageStart, Role: llm.User, Parts: []llm.Part{{Type: llm.TextPart, Text: "hi"}}}})
	if e.Text != "hi" {
		t.Errorf("a person's message begins with %q", e.Text)
	}
}

// TestC5_UnknownOutcomeTellsTheArguments: the call may have been started by
// another process.
func TestC5_UnknownOutcomeTellsTheArguments(t *testing.T) {
	for outcome, want := range map[transcript.Outcome]string{transcript.OutcomeUnknown: `{"path":"a"}`, transcript.OutcomeOK: ""} {
		e := EventOf(agent.Published{Update: session.Update{Type: session.ToolEnd, Call: "c1.1", Tool: "read", Args: `{"path":"a"}`,
			Result: &transcript.Result{Output: transcript.Output{Outcome: outcome}}}})
		if string(e.Args) != want {
			t.Errorf("%s: args %s", outcome, e.Args)
		}
	}
}
