package host

import (
	"cmp"
	"slices"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Pilot decides what is done next about an attempt in its session. It is pure
// but for what it remembers of its own deeds, so a simulator goes the same
// way as a live attempt does.
type Pilot struct {
	begun bool // something was done about the attempt
	told  bool // the session was told to stop it
}

// byWorkflow names a workflow to a session, as who does something.
const byWorkflow = "workflow"

// Deed is a kind of act.
type Deed string

// The deeds.
const (
	Wait Deed = "wait" // until the session has changed, or the step is to end
	Say  Deed = "say"  // Event to the session
	Stop Deed = "stop" // Event to the session, which ends the attempt there
	End  Deed = "end"  // with Outcome
)

// Act is what is to be done next.
type Act struct {
	Do    Deed
	Event session.Event // of Say and Stop
	// Waits: the step waits for the user. Before the act is carried out, unless
	// it is Stop, the run is told when that has changed.
	Waits   bool
	Outcome flow.StepOutcome // of End
	// Refused is of Stop the outcome if the session has nothing to end; nil:
	// look again.
	Refused *flow.StepOutcome

	token int64 // of the session
}

// Ended returns the outcome if the session's refusal of the event ends the
// attempt: there was nothing to be stopped, or the step could never submit its
// output, so nobody was asked.
func (a Act) Ended(r *session.Refusal) (flow.StepOutcome, bool) {
	switch {
	case a.Refused != nil:
		return *a.Refused, true
	case a.Do == Say && r.Code == session.RefusedDenied:
		return flow.StepOutcome{State: flow.StepSettled, Stop: r.Code, Detail: r.Message, SessionToken: a.token}, true
	}
	return flow.StepOutcome{}, false
}

// Next says what is to be done, by the session's state. A cause other than ""
// says that the step is to end.
func (p *Pilot) Next(step runner.Step, s *session.State, cause string, token int64) Act {
	a := look(s, step.Attempt)
	a.first = !p.begun
	m := judge(step, a)
	if m == moveEnd {
		return Act{Do: End, Outcome: report(a, m, token)}
	}
	over := flow.StepOutcome{State: flow.StepSettled, Stop: flow.StopAborted, Cause: cause, SessionToken: token}
	switch speaks := m != moveWait && m != moveGoOn; {
	case cause != "" && (p.told && speaks || m == movePrompt):
		return Act{Do: End, Outcome: over} // nobody is to be asked any more
	case cause != "" && mutant("host.AbortUntold"):
		return Act{Do: End, Outcome: over}
	case cause != "" && !p.told:
		p.told = true
		act := Act{Do: Stop, Event: session.Aborts{By: byWorkflow, Why: cause, Attempt: step.Attempt, Cause: cause}}
		if a.State == session.StepAbsent || a.State == session.StepQueued || a.State == session.StepSettled {
			act.Refused = &over
		}
		return act
	}
	p.begun = true
	do := act(step, m)
	do.token = token
	return do
}

// act is how a move is carried out.
func act(step runner.Step, m move) Act {
	switch m {
	case movePrompt:
		return Act{Do: Say, Event: prompt(step, transcript.StepPrompt)}
	case moveRemind:
		return Act{Do: Say, Event: prompt(step, transcript.StepReminder)}
	case moveResume:
		return Act{Do: Say, Event: prompt(step, transcript.StepResume)}
	case moveGoOn:
		return Act{Do: Say, Event: session.Resumes{By: byWorkflow, Attempt: step.Attempt}}
	}
	return Act{Do: Wait, Waits: m == moveYield}
}

// Glance is what a session has of an attempt, for who asks before anything is
// done. open: somebody here carries it out.
func Glance(step runner.Step, s *session.State, open bool, token int64) flow.StepOutcome {
	a := look(s, step.Attempt)
	a.first = !open
	return report(a, judge(step, a), token)
}

// Callers are the callers that share an open attempt. The newest one that is waiting
// counts: those before it have lost their claim. One that has lost its claim may
// come late, and then goes when it notices.
type Callers struct {
	waiting []*Caller
	step    runner.Step // of the newest one
	cause   string      // why the step is to end; it stays when it was told
}

// Caller is a caller.
type Caller struct {
	step  runner.Step
	cause string // with which it wants the step to end
}

// Join takes a caller in.
func (x *Callers) Join(s runner.Step) *Caller {
	r := &Caller{step: s}
	x.waiting = append(x.waiting, r)
	x.step = s
	return r
}

// Leave says that a caller waits no longer; none: nobody does.
func (x *Callers) Leave(r *Caller) (none bool) {
	x.waiting = slices.DeleteFunc(x.waiting, func(o *Caller) bool { return o == r })
	if n := len(x.waiting); n > 0 {
		x.step = x.waiting[n-1].step
	}
	return len(x.waiting) == 0
}

// End asks for the end of the step; nil: a person does, whoever is waiting. The
// first cause counts.
func (x *Callers) End(r *Caller, cause string) {
	switch {
	case r == nil && x.cause == "":
		x.cause = cause
	case r != nil && r.cause == "":
		r.cause = cause
	}
}

// Now returns the step, and why it is to end; "": it isn't.
func (x *Callers) Now() (runner.Step, string) {
	if n := len(x.waiting); x.cause == "" && n > 0 {
		x.cause = x.waiting[n-1].cause
		if mutant("host.LostCallerEnds") {
			x.cause = cmp.Or(x.waiting[0].cause, x.cause)
		}
	}
	return x.step, x.cause
}

// Newest reports whether a caller is the one that counts.
func (x *Callers) Newest(r *Caller) bool {
	return len(x.waiting) > 0 && x.waiting[len(x.waiting)-1] == r
}
