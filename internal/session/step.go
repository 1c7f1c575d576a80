package session

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// A workflow's step is carried out by a run of its own. What follows from its
// prompt is kept by attempt, along the branch: a prompt opens a scope that its
// run's settle closes, and a later prompt of the same attempt (a reminder, a
// resume) opens another one. The newest scope counts.

// StepState says how far an attempt has come on the current branch.
type StepState string

// The states.
const (
	StepAbsent   StepState = "absent"
	StepQueued   StepState = "queued"   // its prompt waits
	StepPrompted StepState = "prompted" // the model has it
	StepAnswered StepState = "answered" // and has answered, but the run hasn't settled
	StepSettled  StepState = "settled"
)

// Attempt is what the current branch has of an attempt of a workflow node. Its
// newest prompt, and the run that this began, count.
type Attempt struct {
	transcript.Step // of the newest prompt
	State           StepState
	Run             transcript.ID // of the newest scope
	prompt          transcript.ID // the arrival of the newest prompt
	First, Last     transcript.ID // of the conversation: the first prompt's delivery, the newest entry
	Answer          transcript.ID // the newest answer without calls
	Text            string        // exact visible text of it
	Called          bool          // the newest answer had calls
	// Answered: Answer is a finished one and stands behind all that was
	// delivered, so the attempt needs no model call any more.
	Answered  bool
	Submitted json.RawMessage // what the workflow accepted, on this branch
	Reason    transcript.Reason
	Detail    string
	Cause     string // why it was ended: one of the causes; CauseEscape also if a person stopped the run
	Reminders int    // prompts of these kinds
	Resumes   int
	Escapes   int // how often a person stopped it
	// Waits: its run yielded, and a person's next words go on with it.
	Waits bool
}

// stepLog is what a branch has of all attempts. Only the newest one changes
// often; each is replaced as a whole.
type stepLog struct {
	newest *Attempt
	older  map[string]Attempt
}

// Attempt returns what the branch has of an attempt.
func (s *State) Attempt(id string) Attempt {
	a, ok := s.steps.find(id)
	if s.stepQueued(id) != nil {
		a.State = StepQueued
	} else if !ok {
		a.State = StepAbsent
	}
	a.Attempt = id
	a.Waits = s.yields != nil && s.yields.Attempt == id
	return a
}

// OpenSteps lists the steps of workflows, one an attempt, for which the session
// still has something to do: its run, prompts that wait, and a yield that waits
// for a person.
func (s *State) OpenSteps() []transcript.Step {
	var out []transcript.Step
	add := func(st *transcript.Step) {
		if st != nil && !slices.ContainsFunc(out, func(o transcript.Step) bool { return o.Attempt == st.Attempt }) {
			out = append(out, *st)
		}
	}
	if s.Run != nil && !s.copiedStep() {
		add(s.Run.Step)
	}
	for i := range s.Queue {
		add(s.Queue[i].Step)
	}
	add(s.yields)
	return out
}

// stepQueued returns the prompt of an attempt that waits, or nil.
func (s *State) stepQueued(attempt string) *Arrival {
	for i := range s.Queue {
		if st := s.Queue[i].Step; st != nil && st.Attempt == attempt {
			return &s.Queue[i]
		}
	}
	return nil
}

func (l *stepLog) find(id string) (Attempt, bool) {
	if l.newest != nil && l.newest.Attempt == id {
		return *l.newest, true
	}
	a, ok := l.older[id]
	return a, ok
}

// change replaces an attempt by a changed copy, and makes it the newest.
func (l *stepLog) change(step transcript.Step, f func(*Attempt)) {
	a, ok := l.find(step.Attempt)
	if !ok {
		a.Step = step
	}
	if l.newest != nil && l.newest.Attempt != step.Attempt {
		older := maps.Clone(l.older)
		if older == nil {
			older = map[string]Attempt{}
		}
		older[l.newest.Attempt] = *l.newest
		delete(older, step.Attempt)
		l.older = older
	}
	f(&a)
	l.newest = &a
}

// prompted begins a scope of an attempt, with the run of this delivery.
func (l *stepLog) prompted(step transcript.Step, prompt, delivery transcript.ID) {
	l.change(step, func(a *Attempt) {
		if a.First.IsZero() {
			a.First = delivery
		}
		switch step.Kind {
		case transcript.StepReminder:
			a.Reminders++
		case transcript.StepResume:
			a.Resumes++
		}
		*a = Attempt{Step: step, State: StepPrompted, Run: delivery, prompt: prompt, First: a.First, Last: delivery,
			Submitted: a.Submitted, Reminders: a.Reminders, Resumes: a.Resumes, Escapes: a.Escapes}
	})
}

// stepGoesOn: words came into the step's run, or began it anew after a yield,
// so its answer is open again.
func (s *State) stepGoesOn(delivery transcript.ID) {
	s.steps.change(*s.Run.Step, func(a *Attempt) {
		a.State, a.Run, a.Last, a.Answered = StepPrompted, s.Run.ID, delivery, false
		a.Reason, a.Detail, a.Cause = "", "", ""
	})
}

func (s *State) stepAnswered(id transcript.ID, b *transcript.Answer) {
	s.steps.change(*s.Run.Step, func(a *Attempt) {
		a.Last, a.Called = id, hasCalls(b.Parts)
		beside := a.Called && mutant("StepTextBesideCalls")
		if a.Called && !beside {
			return
		}
		a.Answer, a.Text = id, transcript.TextOf(b.Parts)
		if b.Stop == llm.StopEnd || beside {
			a.State, a.Answered = StepAnswered, true
		}
	})
}

// stepSettled closes the scope that run r had. Of a step whose prompt is lost
// the settle tells the attempt.
func (s *State) stepSettled(id transcript.ID, r *Run, b *transcript.Settled) {
	step := r.Step
	switch {
	case step == nil && b.Attempt == "":
		return
	case step == nil:
		was, _ := s.steps.find(b.Attempt)
		step = &was.Step
		step.Attempt = b.Attempt
		if q := s.stepQueued(b.Attempt); q != nil { // what is lost delivered it
			s.drop([]transcript.ID{q.ID})
		}
	}
	s.steps.change(*step, func(a *Attempt) {
		a.State, a.Last, a.Run, a.Reason, a.Detail = StepSettled, id, r.ID, b.Reason, b.Detail
		if b.Reason == transcript.Done && a.Answer != b.Answer { // the log is repaired
			a.Answer, a.Text, a.Answered = b.Answer, "", true
			if b.Answer == r.Answer {
				a.Text = r.Plain
			}
		}
		if b.Reason == transcript.Aborted && r.Abort != nil {
			a.Cause = r.Abort.Cause
			if a.Cause == "" {
				a.Cause = transcript.CauseEscape
			}
			if a.Cause == transcript.CauseEscape {
				a.Escapes++
			}
		}
	})
	if b.Reason == transcript.Yield && !step.Assistant() {
		s.yields = step
	}
}

// stepLost closes the scope of a run whose settle is lost. An answer that was
// there before counts.
func (s *State) stepLost(r *Run) {
	if r.Step == nil {
		return
	}
	s.steps.change(*r.Step, func(a *Attempt) {
		a.State, a.Reason, a.Detail = StepSettled, r.Reason, r.Detail
		if a.Answered {
			a.Reason = transcript.Done
		}
	})
}

// submitted notes what a workflow took as the output of an attempt that the
// branch knows, whatever run the model did it in. The first one counts.
func (s *State) submitted(tool string, b *transcript.Result) {
	if b.Submitted == nil || tool != ToolWorkflow || b.Outcome != transcript.OutcomeOK {
		return
	}
	if a, ok := s.steps.find(b.Submitted.Attempt); ok && !a.Assistant() && (a.Submitted == nil || mutant("SubmittedTwice")) && !mutant("SubmissionForgotten") {
		s.steps.change(a.Step, func(a *Attempt) { a.Submitted = b.Submitted.Output })
	}
}

// applyWithdraw: the workflow ended an attempt whose prompt waits, or whose
// yield waits for a person.
func (s *State) applyWithdraw(b *transcript.Withdraw) {
	s.drop(b.Arrivals)
	if s.yields != nil && s.yields.Attempt == b.Attempt && (b.Cause == transcript.CauseTimeout || b.Cause == transcript.CauseCancel) {
		step := *s.yields
		s.yields = nil
		s.steps.change(step, func(a *Attempt) { a.Cause = b.Cause })
	}
}

// copiedStep reports whether the run is a step's of the session that this one is
// a copy of. It can only be closed here: its workflow waits for the original.
func (s *State) copiedStep() bool {
	f := s.Header.Forked
	return f != nil && s.Run != nil && s.Run.Step != nil && s.Run.ID.Seq <= f.Entry.Seq && !mutant("CopyGoesOn")
}

// leaveSteps: a copy of a session has nothing to do with the workflows of the
// original. What waits for them, and what a person's words would go on with,
// stays there. A run that goes on is closed (copiedStep).
func (s *State) leaveSteps(open transcript.ID) {
	f := s.Header.Forked
	if f == nil || open.Seq <= f.Entry.Seq {
		return
	}
	var ids []transcript.ID
	for _, q := range s.Queue {
		if q.Class == transcript.ClassStep && q.ID.Seq <= f.Entry.Seq {
			ids = append(ids, q.ID)
		}
	}
	s.drop(ids)
	if s.Leaf.Seq <= f.Entry.Seq {
		s.yields = nil
	}
}

// dropNeedless: on the branch that the session is moved to, an attempt may go on
// or have its output. A prompt of it that waits would bring a second one.
func (s *State) dropNeedless() {
	var ids []transcript.ID
	for _, q := range s.Queue {
		if q.Step == nil || mutant("NeedlessPromptKept") {
			continue
		}
		a, ok := s.steps.find(q.Step.Attempt)
		if ok && (a.State != StepSettled || a.Assistant() && a.Answered || a.Submitted != nil) {
			ids = append(ids, q.ID)
		}
	}
	s.drop(ids)
}

// stepOf is the step whose prompt is among waiting arrivals.
func (s *State) stepOf(ids []transcript.ID) *transcript.Step {
	for _, id := range ids {
		if a := s.waiting(id); a.Step != nil {
			return a.Step
		}
	}
	return nil
}
