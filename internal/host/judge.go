package host

import (
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// move is what a step's attempt needs.
type move string

// The moves.
const (
	moveWait   move = "wait"   // for a settle
	movePrompt move = "prompt" // nothing of the attempt is there
	moveRemind move = "remind" // it settled without a submission
	moveResume move = "resume" // a new prompt: it was stopped, and goes on
	moveGoOn   move = "go on"  // its run was interrupted with its owner
	moveYield  move = "yield"  // it asked a person, who hasn't spoken yet
	moveEnd    move = "end"    // it has settled for good
)

// maxReminders is how often a model is reminded to submit.
const maxReminders = 2

// sight is what is seen of an attempt in its session.
type sight struct {
	session.Attempt
	interrupted bool // its run belongs to an owner before this one
	first       bool // nobody here has done anything about it yet
}

// look reads an attempt of a session's state.
func look(s *session.State, attempt string) sight {
	return sight{Attempt: s.Attempt(attempt), interrupted: s.Interrupted() && s.Run.Step != nil && s.Run.Step.Attempt == attempt}
}

// judge says what an attempt needs next. The session reports, and the outcome
// is judged by flow; here is decided who is to speak next.
func judge(step runner.Step, a sight) move {
	switch a.State {
	case session.StepAbsent:
		return movePrompt
	case session.StepQueued:
		return moveWait
	case session.StepPrompted, session.StepAnswered:
		if a.interrupted && !mutant("host.InterruptedLeft") {
			return moveGoOn
		}
		return moveWait
	}
	switch {
	case a.Submitted != nil && !mutant("host.SubmissionUnseen"), a.replied(), a.over() && !mutant("host.EndedGoesOn"):
		return moveEnd
	case a.Waits && !mutant("host.YieldEnds"):
		return moveYield
	}
	switch a.Reason {
	case transcript.Interrupted:
		return moveResume
	case transcript.Aborted: // CausePark is of a log only: see there
		let := a.Cause == transcript.CauseEscape && (step.Resumes >= a.Escapes || mutant("host.EscapeUnheld"))
		if (let || a.Cause == transcript.CausePark && a.first || mutant("host.EndedGoesOn")) && !mutant("host.ResumeUnprompted") {
			return moveResume
		}
	case transcript.Done, transcript.NoYield, transcript.Yield:
		if !a.Assistant() && !mutant("host.YieldEnds") && (a.Reminders < maxReminders || mutant("host.RemindersUncounted")) {
			return moveRemind
		}
	}
	return moveEnd
}

// replied: it completes with an answer and has it; whatever came after that,
// there must not be a second one.
func (a sight) replied() bool { return a.Assistant() && a.Answered }

// over: the workflow has ended it.
func (a sight) over() bool {
	return a.Cause == transcript.CauseTimeout || a.Cause == transcript.CauseCancel
}

// report is an attempt as flow reads it. An attempt that needs another move
// hasn't settled yet.
func report(a sight, m move, token int64) flow.StepOutcome {
	o := flow.StepOutcome{State: string(a.State), Text: a.Text, Output: workflow.JSON(a.Submitted), Detail: a.Detail, SessionToken: token}
	if m != moveEnd && !mutant("host.UnsettledTaken") {
		if a.State == session.StepSettled {
			o.State = flow.StepPrompted
		}
		return o
	}
	for _, p := range []struct {
		to *string
		id transcript.ID
	}{{&o.Entry, a.Answer}, {&o.First, a.First}, {&o.Last, a.Last}} {
		if !p.id.IsZero() {
			*p.to = p.id.String()
		}
	}
	o.Stop = stopOf(a)
	if o.Stop == flow.StopAborted {
		o.Cause = a.Cause
	}
	return o
}

// stopOf names how a settled attempt stopped; what isn't one of the stops that
// flow knows keeps the name of its reason.
func stopOf(a sight) string {
	switch {
	case a.replied():
	case a.over() && !mutant("host.EndForgotten"):
		return flow.StopAborted
	case a.Reason != transcript.Done && a.Reason != transcript.NoYield && a.Reason != transcript.Yield:
		return string(a.Reason)
	}
	switch {
	case !flow.Blank(a.Text):
		return flow.StopOK
	case a.Called:
		return flow.StopToolOnly
	}
	return flow.StopEmpty
}
