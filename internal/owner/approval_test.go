package owner

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// TestE47_AnswersBySocket: what the socket refuses, with code and field, and
// what its events tell.
func TestE47_AnswersBySocket(t *testing.T) {
	n := 0
	model := modelFunc(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		if n++; n > 1 {
			return say("done"), nil
		}
		return &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: `{"command":"x"}`}}}}, nil
	})
	asked, answered := make(chan *wire.Approval, 1), make(chan *wire.Approval, 1)
	o, c := live(t, model, func(o *owned) {
		o.permit = func(string, json.RawMessage) session.Judgement {
			return session.Judgement{Do: session.Ask, Rule: "ask " + mark}
		}
		o.tools = func(context.Context, session.ToolCall, func(string)) session.Output {
			return session.Output{Outcome: transcript.OutcomeOK, Text: "ran"}
		}
		o.seen = func(p agent.Published) {
			switch p.Type {
			case session.Asks:
				asked <- EventOf(p).Asked
			case session.Answered:
				answered <- EventOf(p).Asked
			}
		}
	})
	if _, err := c.Prompt(t.Context(), wire.Prompt{Message: "go"}); err != nil {
		t.Fatal(err)
	}
	ask := <-asked
	st, err := c.State(t.Context())
	if err != nil || st.Status != "awaiting approval" || len(st.Approvals) != 1 || st.Approvals[0].ID != ask.ID ||
		string(st.Approvals[0].Args) != `{"command":"x"}` || st.Approvals[0].Rule != "ask [mark]" {
		t.Fatalf("state %+v, %v", st, err)
	}
	for name, x := range map[string]struct {
		id   string
		in   any
		code string
	}{
		"no choice":      {ask.ID, wire.Decision{}, wire.CodeBadField},
		"another choice": {ask.ID, wire.Decision{Choice: "maybe"}, wire.CodeBadField},
		"unknown field":  {ask.ID, map[string]string{"choice": "allow", "for": "ever"}, wire.CodeUnknownField},
		"no id":          {"one", wire.Decision{Choice: "allow"}, wire.CodeNotFound},
		"other session":  {"9-9", wire.Decision{Choice: "allow"}, wire.CodeStale},
		"other digest":   {ask.ID, wire.Decision{Choice: "allow", Digest: "00"}, wire.CodeStale},
		"long reason":    {ask.ID, wire.Decision{Choice: "deny", Reason: string(make([]byte, maxReason+1))}, wire.CodeBadField},
	} {
		var r *wire.Refusal
		if err := c.call(t.Context(), http.MethodPost, "approvals/"+x.id, x.in, &wire.Accepted{}); !errors.As(err, &r) || r.Code != x.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Approve(t.Context(), ask.ID, wire.Decision{Choice: "allow", Digest: ask.Digest}); err != nil {
		t.Fatal(err)
	}
	if a := <-answered; a.ID != ask.ID || a.Choice != "allow" {
		t.Errorf("answered %+v", a)
	}
	if why := <-o.idle; why != transcript.Done {
		t.Errorf("settled %s", why)
	}
}
