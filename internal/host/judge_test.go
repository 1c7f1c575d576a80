package host

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// TestW31_WhatAnAttemptNeeds is the table of doc/design.md, a case a row.
func TestW31_WhatAnAttemptNeeds(t *testing.T) {
	const submit, assistant = transcript.CompleteSubmit, transcript.CompleteAssistant
	settled := func(completion string, why transcript.Reason, f func(*sight)) sight {
		a := sight{Attempt: session.Attempt{Step: transcript.Step{Completion: completion}, State: session.StepSettled, Reason: why}}
		if f != nil {
			f(&a)
		}
		return a
	}
	cause := func(c string, escapes int) func(*sight) { return func(a *sight) { a.Cause, a.Escapes = c, escapes } }
	for name, c := range map[string]struct {
		at      sight
		resumes int
		want    move
		stop    string
	}{
		"absent":                   {sight{Attempt: session.Attempt{State: session.StepAbsent}}, 0, movePrompt, ""},
		"queued":                   {sight{Attempt: session.Attempt{State: session.StepQueued}}, 0, moveWait, ""},
		"prompted":                 {sight{Attempt: session.Attempt{State: session.StepPrompted}}, 0, moveWait, ""},
		"answered":                 {sight{Attempt: session.Attempt{State: session.StepAnswered}}, 0, moveWait, ""},
		"interrupted run":          {sight{Attempt: session.Attempt{State: session.StepPrompted}, interrupted: true}, 0, moveGoOn, ""},
		"interrupted, answered":    {sight{Attempt: session.Attempt{State: session.StepAnswered}, interrupted: true}, 0, moveGoOn, ""},
		"no submission":            {settled(submit, transcript.Done, nil), 0, moveRemind, ""},
		"reminded once":            {settled(submit, transcript.Done, func(a *sight) { a.Reminders = 1 }), 0, moveRemind, ""},
		"reminded twice":           {settled(submit, transcript.Done, func(a *sight) { a.Reminders = 2 }), 0, moveEnd, "empty"},
		"submitted":                {settled(submit, transcript.Aborted, func(a *sight) { a.Submitted = json.RawMessage("1") }), 0, moveEnd, "aborted"},
		"asks the user":            {settled(submit, transcript.Yield, func(a *sight) { a.Waits = true }), 0, moveYield, ""},
		"a yield without a claim":  {settled(submit, transcript.Yield, nil), 0, moveRemind, ""},
		"withdrawn yield":          {settled(submit, transcript.Yield, cause("timeout", 0)), 0, moveEnd, "aborted"},
		"spoken":                   {settled(assistant, transcript.Done, func(a *sight) { a.Text, a.Answered = "x", true }), 0, moveEnd, "ok"},
		"blank":                    {settled(assistant, transcript.Done, func(a *sight) { a.Text, a.Answered = " \n", true }), 0, moveEnd, "empty"},
		"calls only":               {settled(assistant, transcript.Done, func(a *sight) { a.Called = true }), 0, moveEnd, "tool_only"},
		"cut":                      {settled(assistant, transcript.Length, func(a *sight) { a.Text = "x" }), 0, moveEnd, "length"},
		"failed":                   {settled(submit, transcript.ModelError, nil), 0, moveEnd, "error"},
		"limit":                    {settled(submit, transcript.Limit, nil), 0, moveEnd, "limit"},
		"timed out":                {settled(assistant, transcript.Aborted, cause("timeout", 0)), 9, moveEnd, "aborted"},
		"cancelled":                {settled(submit, transcript.Aborted, cause("cancel", 0)), 9, moveEnd, "aborted"},
		"stopped":                  {settled(submit, transcript.Aborted, cause("escape", 1)), 0, moveEnd, "aborted"},
		"stopped and let go":       {settled(submit, transcript.Aborted, cause("escape", 1)), 1, moveResume, ""},
		"stopped again":            {settled(submit, transcript.Aborted, cause("escape", 2)), 1, moveEnd, "aborted"},
		"parked":                   {settled(assistant, transcript.Aborted, func(a *sight) { a.Cause, a.first = "park", true }), 0, moveResume, ""},
		"parked while we look":     {settled(assistant, transcript.Aborted, cause("park", 0)), 0, moveEnd, "aborted"},
		"closed by a person":       {settled(assistant, transcript.Interrupted, nil), 0, moveResume, ""},
		"answered, then closed":    {settled(assistant, transcript.Interrupted, func(a *sight) { a.Text, a.Answered = "x", true }), 0, moveEnd, "ok"},
		"unfinished, then aborted": {settled(assistant, transcript.Aborted, func(a *sight) { a.Text, a.Cause = "half", "timeout" }), 0, moveEnd, "aborted"},
	} {
		got := judge(runner.Step{Completion: c.at.Completion, Resumes: c.resumes}, c.at)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		o := report(c.at, got, 7)
		if o.Stop != c.stop || o.SessionToken != 7 || (o.State == "settled") != (got == moveEnd) {
			t.Errorf("%s: reported %+v", name, o)
		}
		if (o.Cause != "") != (c.stop == "aborted" && c.at.Cause != "") {
			t.Errorf("%s: cause %q", name, o.Cause)
		}
	}
}

// Only the newest caller may end a step, and what has ended takes no
// submission.
func TestW30_OnlyTheNewestCallerEndsAStep(t *testing.T) {
	f := &openAttempt{wish: make(chan struct{}, 1), left: make(chan struct{})}
	s := runner.Step{Completion: transcript.CompleteSubmit}
	old := f.join(s)
	newest := f.join(s)
	f.end(old, transcript.CauseTimeout)
	if _, cause := f.now(); cause != "" {
		t.Errorf("it ends by %s", cause)
	}
	if _, err := f.open(); err != nil {
		t.Error(err)
	}
	f.end(newest, transcript.CauseCancel)
	f.end(newest, transcript.CauseTimeout)
	if _, cause := f.now(); cause != transcript.CauseCancel {
		t.Errorf("it ends by %q", cause)
	}
	if _, err := f.open(); err == nil {
		t.Error("it still takes a submission")
	}
}

// An answer for a user is given in the session of origin or not at all.
func TestW37_AnAssistantStepHasNoOtherSession(t *testing.T) {
	x := &Steps{Sessions: NewSessions()}
	x.Sessions.Add(NewLive(ChildID("r"), 1), nil)
	s := runner.Step{Run: "r", Session: "S", Attempt: "r/say#1", Completion: transcript.CompleteAssistant}
	if _, err := x.Look(t.Context(), s); !errors.Is(err, runner.ErrAbsent) {
		t.Errorf("looked at: %v", err)
	}
	if _, err := x.Step(t.Context(), s); !errors.Is(err, runner.ErrAbsent) {
		t.Errorf("asked: %v", err)
	}
}
