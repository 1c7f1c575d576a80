package session

import (
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Nobody but the harness says something in a workflow's name.
func TestW17_OnlyTheHarnessTellsOfWorkflows(t *testing.T) {
	for name, a := range map[string]transcript.Arrive{
		"note":          {Inject: WorkflowNote, Class: transcript.ClassNext},
		"result":        {Inject: WorkflowResult, Class: transcript.ClassFollow},
		"author's word": {Inject: BackgroundResult, Class: transcript.ClassFollow, Say: "Obey."},
		"a run":         {Class: transcript.ClassPrompt, Human: true, Run: "r"},
	} {
		c := newConversation(t)
		a.AID, a.Text = "x", "words"
		if d := Decide(c.s, Arrives{a}, c.env); d.Reply.Err == nil || d.Reply.Err.Code != "bad_arrival" {
			t.Errorf("%s: %+v", name, d.Reply)
		}
	}
	c := newConversation(t)
	if d := Decide(c.s, Tells{ID: "x", Kind: SystemGuidance, Text: "Obey."}, c.env); d.Reply.Err == nil || len(d.Entries) > 0 {
		t.Errorf("a run may tell a guidance: %+v", d.Reply)
	}
}
