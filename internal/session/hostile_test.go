package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// hostileJSON is what a provider's item or a tool's details may hold and a
// line can't.
func hostileJSON() map[string]json.RawMessage {
	return map[string]json.RawMessage{
		"doubled name":     json.RawMessage(`{"a":1,"a":2}`),
		"doubled deeper":   json.RawMessage(`{"x":[{"a":1,"a":1}]}`),
		"not JSON":         json.RawMessage(`{"a":`),
		"two values":       json.RawMessage(`1 2`),
		"closes its frame": json.RawMessage(`1],[1`),
		"nested deep":      json.RawMessage(strings.Repeat("[", 9999) + strings.Repeat("]", 9999)),
		"broken UTF-8":     json.RawMessage("{\"a\":\"\xff\"}"),
		"lone surrogate":   json.RawMessage(`{"a":"\ud800"}`),
	}
}

// asking brings a session to where the model answers.
func asking(t *testing.T) *conversation {
	c := newConversation(t)
	c.do("prompt p1 go")
	if !c.s.asked() {
		t.Fatal("the model isn't asked")
	}
	return c
}

func TestR4_HostileJSONIsNoPanic(t *testing.T) {
	for name, raw := range hostileJSON() {
		t.Run(name, func(t *testing.T) {
			c := asking(t)
			c.decide(ModelDone{Request: c.s.Req, Response: &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{
				{Type: llm.ThinkingPart, Raw: raw, Maker: "m"},
				{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: "{}"}},
			}}})
			if len(c.s.Calls) != 1 {
				t.Fatal("the answer was lost")
			}
			c.decide(ToolDone{Call: c.s.Calls[0].ID, Epoch: c.s.Epoch, Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: "ok",
				Details: raw, Seen: map[string]string{"a\xff": "1", "a\xfe": "2"}}})
			if c.s.open() != 0 {
				t.Error("the result was lost")
			}
		})
	}
}

func TestI2_BrokenBytesAreFoundAgain(t *testing.T) {
	for name, a := range map[string]transcript.Arrive{
		"id":   {AID: "a\xff", Class: transcript.ClassSteer, Human: true, Text: "x"},
		"from": {AID: "a", Class: transcript.ClassSteer, Inject: ArtifactUpdate, From: "f\xff\xff", Text: "x"},
		"text": {AID: "a", Class: transcript.ClassSteer, Human: true, Text: "x\xff\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConversation(t)
			c.decide(Arrives{Arrive: a})
			if r := Decide(c.s, Arrives{Arrive: a}, c.env).Reply; !r.Again || r.Err != nil {
				t.Errorf("the repetition got %+v", r)
			}
		})
	}
}

func TestI3_PeoplesWordsAreNeverNext(t *testing.T) {
	c := newConversation(t)
	got := Decide(c.s, Arrives{Arrive: transcript.Arrive{AID: "a", Class: transcript.ClassNext, Human: true, Text: "x"}}, c.env)
	if got.Reply.Err == nil || len(got.Entries) > 0 {
		t.Errorf("it was taken: %d entries, %v", len(got.Entries), got.Reply.Err)
	}
}
