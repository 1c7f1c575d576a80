package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Prompts: a workflow asks for a step. The first prompt of an attempt that the
// branch has already, and one that waits, are answered as repeated.
type Prompts struct {
	transcript.Step
	Text string
}

func (Prompts) event() {}

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
	Run             transcript.ID // begun by the newest prompt
	First, Last     transcript.ID // of the conversation: the first prompt's delivery, the newest entry
	Answer          transcript.ID // the newest answer without calls
	Text            string        // exact visible text of it
	Called          bool          // the newest answer had calls
	Submitted       json.RawMessage
	Reason          transcript.Reason // settled
	Detail          string
	Cause           string // of aborted: one of the causes, CauseEscape if a person stopped it
	Reminders       int    // prompts of these kinds
	Resumes         int
	Escapes         int // how often a person stopped it
}

// stepLog is what a branch has of all attempts. Only the newest one changes,
// and it is replaced as a whole.
type stepLog struct {
	newest *Attempt
	older  map[string]Attempt
}

// Attempt returns what the branch has of an attempt.
func (s *State) Attempt(id string) Attempt {
	a, ok := s.steps.find(id)
	if s.waits(func(q Arrival) bool { return q.Step != nil && q.Step.Attempt == id }) {
		a.State = StepQueued
	} else if !ok {
		a.State = StepAbsent
	}
	return a
}

func (l *stepLog) find(id string) (Attempt, bool) {
	if l.newest != nil && l.newest.Attempt == id {
		return *l.newest, true
	}
	a, ok := l.older[id]
	return a, ok
}

// change replaces the newest attempt by a changed copy.
func (l *stepLog) change(f func(*Attempt)) {
	a := *l.newest
	f(&a)
	l.newest = &a
}

// prompted begins a scope of an attempt.
func (l *stepLog) prompted(step transcript.Step, delivery transcript.ID) {
	a, _ := l.find(step.Attempt)
	if l.newest != nil && l.newest.Attempt != step.Attempt {
		l.older = maps.Clone(l.older)
		if l.older == nil {
			l.older = map[string]Attempt{}
		}
		l.older[l.newest.Attempt] = *l.newest
	}
	if a.First.IsZero() {
		a.First = delivery
	}
	a.Step, a.State, a.Run, a.Last = step, StepPrompted, delivery, delivery
	a.Answer, a.Text, a.Called, a.Reason, a.Detail, a.Cause = transcript.ID{}, "", false, "", "", ""
	switch step.Kind {
	case transcript.StepReminder:
		a.Reminders++
	case transcript.StepResume:
		a.Resumes++
	}
	l.newest = &a
}

// stepDelivered: words came into the step's run, or began it anew after a
// yield, so its answer is open again.
func (s *State) stepDelivered(id transcript.ID) {
	if s.steps.newest != nil && s.steps.newest.Attempt == s.Run.Step.Attempt {
		s.steps.change(func(a *Attempt) { a.State, a.Run, a.Last, a.Reason = StepPrompted, s.Run.ID, id, "" })
	}
}

func (s *State) stepAnswered(id transcript.ID, b *transcript.Answer) {
	s.steps.change(func(a *Attempt) {
		a.Last, a.Called = id, hasCalls(b.Parts)
		if !a.Called {
			a.Answer, a.Text = id, transcript.TextOf(b.Parts)
			if b.Stop == llm.StopEnd {
				a.State = StepAnswered
			}
		}
	})
}

func (s *State) stepSettled(id transcript.ID, b *transcript.Settled, cause string) {
	s.steps.change(func(a *Attempt) {
		a.State, a.Last, a.Reason, a.Detail = StepSettled, id, b.Reason, b.Detail
		if b.Reason == transcript.Aborted {
			a.Cause = cause
		}
		if a.Cause == transcript.CauseEscape {
			a.Escapes++
		}
	})
}

// prompts appends a step's prompt.
func (c *commit) prompts(ev Prompts) {
	if c.deposit() {
		return
	}
	s := c.Next
	a := s.Attempt(ev.Attempt)
	n := 1
	switch ev.Kind {
	case transcript.StepReminder:
		n = a.Reminders + 1
	case transcript.StepResume:
		n = a.Resumes + 1
	}
	first := ev.Kind == transcript.StepPrompt && a.State != StepAbsent
	if first || a.State == StepQueued {
		c.Reply.Again = true
		return
	}
	aid := fmt.Sprintf("%s/%s.%d@%d", ev.Attempt, ev.Kind, n, s.Generation)
	step := ev.Step
	c.Reply.ID = c.add(&transcript.Arrive{AID: aid, Class: transcript.ClassStep, Trusted: true, Inject: WorkflowStep,
		Text: strings.ToValidUTF8(ev.Text, "\uFFFD"), Step: &step})
}

// WorkflowStep is the kind of a step's prompt. It is written by a workflow
// only, so the table of injections doesn't have it.
const WorkflowStep = "workflow_step"

// stepWaits reports whether a step may begin: a hold doesn't keep it, but one
// by an abort, an error or a limit keeps what was there before.
func (s *State) stepWaits() (Arrival, bool) {
	for _, a := range s.Queue {
		held := s.Hold.Reason != "" && s.Hold.Reason != transcript.Yield && a.ID.Seq <= s.Hold.Seq
		if a.Class == transcript.ClassStep && !held {
			return a, true
		}
	}
	return Arrival{}, false
}

// What the model is told whose step completes with its answer.
const (
	noSubmit  = "This step completes with a normal assistant response. Do not submit workflow output."
	noMessage = "This step completes with a normal assistant response. Write it as plain text; don't use this tool here."
)

// inStep refuses what a step that completes with an answer can't have.
func (s *State) inStep(c *Call) *transcript.Result {
	if !s.Run.Step.Assistant() {
		return nil
	}
	switch c.Name {
	case "workflow":
		return refuse(c, noSubmit)
	case "message_user", "ask_user":
		return refuse(c, noMessage)
	}
	return nil
}

// runOf reports whether the run belongs to the attempt; any does to "".
func (s *State) runOf(attempt string) bool {
	return attempt == "" || s.Run != nil && s.Run.Step != nil && s.Run.Step.Attempt == attempt
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
