package host

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// cockpit is a session without a process.
type cockpit struct {
	t   *testing.T
	s   *session.State
	env session.Env
}

func newCockpit(t *testing.T) *cockpit {
	t.Helper()
	tools, err := session.NewToolbox(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	s, err := session.Fold([]transcript.Entry{
		{ID: transcript.ID{Epoch: 1, Seq: 1}, Time: now, V: transcript.Version, Body: &transcript.Open{Segment: 1, Why: transcript.OpenStart}},
		{ID: transcript.ID{Epoch: 1, Seq: 2}, Time: now, V: transcript.Version, Body: &transcript.Session{Session: "s", Schema: transcript.Schema, Variant: "base", Mark: "M"}}})
	if err != nil {
		t.Fatal(err)
	}
	return &cockpit{t, s, session.Env{Now: now, Tools: tools, Prefix: session.Prefix{System: "root"},
		Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}}
}

func (c *cockpit) happens(ev session.Event) {
	c.t.Helper()
	commit := session.Decide(c.s, ev, c.env)
	if commit.Reply.Err != nil {
		c.t.Fatal(commit.Reply.Err)
	}
	c.s = commit.Next
}

// answers has the model answer.
func (c *cockpit) answers(stop llm.Stop, parts ...llm.Part) {
	c.t.Helper()
	c.happens(session.ModelDone{Request: c.s.Req, Response: &llm.Response{Stop: stop, Parts: parts}})
}

// yields has it ask the user.
func (c *cockpit) yields() {
	c.t.Helper()
	c.answers(llm.StopTools, llm.Part{Type: llm.CallPart, Call: &llm.Call{Name: "message_user", Arguments: `{"message":"?","blockOnUser":true,"reason":"decision"}`}})
}

func job() runner.Step {
	return runner.Step{Run: "r", Workflow: "w", Node: "job", Attempt: "r/job#1", Prompt: "Do it.", Completion: transcript.CompleteSubmit}
}

// What ended a step that waited for the user is found again by the next holder,
// who hasn't heard how it ended: nobody's words go on with it any more.
func TestW31_AYieldThatWasEndedStaysSo(t *testing.T) {
	for _, cause := range []string{transcript.CauseTimeout, transcript.CauseCancel} {
		c := newCockpit(t)
		var first Pilot
		c.happens(first.Next(job(), c.s, "", 1).Event)
		c.yields()
		if act := first.Next(job(), c.s, "", 1); act.Do != Wait || !act.Waits {
			t.Fatalf("%s: %+v", cause, act)
		}
		c.happens(first.Next(job(), c.s, cause, 1).Event)
		var next Pilot
		act := next.Next(job(), c.s, "", 1)
		if want := (flow.StepOutcome{Stop: "aborted", Cause: cause}); act.Do != End || act.Waits || act.Outcome.Stop != want.Stop || act.Outcome.Cause != want.Cause {
			t.Errorf("%s: got %+v", cause, act)
		}
		if o := Glance(job(), c.s, false, 1); o.State != flow.StepSettled || o.Cause != cause {
			t.Errorf("%s: got %+v", cause, o)
		}
	}
}

// A caller whose claim is lost may join late. The one with the claim gets
// its step ended as soon as that one has gone.
func TestW30_ALateCallerDoesntKeepTheStep(t *testing.T) {
	var x Callers
	living := x.Join(runner.Step{Prompt: "living"})
	late := x.Join(runner.Step{Prompt: "late"})
	x.End(living, transcript.CauseTimeout)
	if step, cause := x.Now(); step.Prompt != "late" || cause != "" {
		t.Errorf("while both wait: %s %q", step.Prompt, cause)
	}
	if x.Leave(late) {
		t.Error("nobody is left, although one waits")
	}
	if step, cause := x.Now(); step.Prompt != "living" || cause != transcript.CauseTimeout || !x.Newest(living) {
		t.Errorf("when it has gone: %s %q", step.Prompt, cause)
	}
	x.Join(runner.Step{})
	if _, cause := x.Now(); cause != transcript.CauseTimeout {
		t.Errorf("the step was told to end, and isn't any more: %q", cause)
	}
}
