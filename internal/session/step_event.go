package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Prompts: a workflow asks for a step. Whoever asks again for a prompt that
// waits, or whose run goes on, or for the first prompt of an attempt that has
// one on this branch, is answered as repeated and joins what is there. The
// reply's id is that of an arrival, the prompt's that was sent or is joined
// (zero if a repair couldn't read it).
//
// Refused are: bad_step (a kind or completion that isn't known, no attempt, a
// reminder of a step that completes with an answer), absent (a reminder or
// resume of an attempt that this branch doesn't have), answered (the attempt
// has its answer, and must not show a second one), yielded (a reminder while
// the attempt waits for a person), denied (the output can't be submitted here).
type Prompts struct {
	transcript.Step
	Text string
}

func (Prompts) event() {}

// WorkflowStep is the kind of a step's prompt.
const WorkflowStep = transcript.WorkflowStep

// prompts appends a step's prompt.
func (c *commit) prompts(ev Prompts) {
	if c.deposit() {
		return
	}
	s := c.Next
	if why := badStep(&ev.Step); why != "" {
		c.Reply.Err = &Refusal{"bad_step", why}
		return
	}
	a := s.Attempt(ev.Attempt)
	if q := s.stepQueued(ev.Attempt); q != nil && !mutant("QueuedStepAgain") {
		c.Reply = Reply{ID: q.ID, Again: true}
		return
	}
	joins := (a.State == StepPrompted || a.State == StepAnswered) && !mutant("StepJoinsNothing")
	if joins || ev.Kind == transcript.StepPrompt && a.State != StepAbsent && !mutant("StepPromptedAgain") {
		c.Reply = Reply{ID: a.prompt, Again: true}
		return
	}
	r := s.unwanted(&ev.Step, a)
	if r == nil {
		r = s.unsubmittable(&ev.Step, c.env)
	}
	if r != nil {
		c.Reply.Err = r
		return
	}
	step := ev.Step
	c.Reply.ID = c.add(&transcript.Arrive{AID: s.stepAID(&step), Class: transcript.ClassStep, Trusted: true, Inject: WorkflowStep,
		Text: strings.ToValidUTF8(ev.Text, "\uFFFD"), Step: &step})
}

// badStep says what is wrong with a step that is asked for, or "".
func badStep(st *transcript.Step) string {
	switch {
	case st.Attempt == "":
		return "a step names its attempt"
	case st.Completion != transcript.CompleteSubmit && st.Completion != transcript.CompleteAssistant:
		return "completion " + quote(st.Completion) + " isn't known; there are submit and assistant"
	case st.Kind != transcript.StepPrompt && st.Kind != transcript.StepReminder && st.Kind != transcript.StepResume:
		return "prompt kind " + quote(st.Kind) + " isn't known; there are step, reminder and resume"
	case st.Kind == transcript.StepReminder && st.Assistant():
		return "a step that completes with an answer has no reminders"
	}
	return ""
}

// unwanted refuses a further prompt of an attempt that must have none now.
func (s *State) unwanted(st *transcript.Step, a Attempt) *Refusal {
	switch {
	case a.State == StepAbsent && st.Kind != transcript.StepPrompt:
		return &Refusal{"absent", "this branch has no prompt of attempt " + quote(st.Attempt) + "; send the first one"}
	case a.Answered && st.Assistant() && !mutant("AnsweredPromptedAgain"):
		return &Refusal{RefusedAnswered, "attempt " + quote(st.Attempt) + " has its answer (entry " + a.Answer.String() + "); take that"}
	case a.Waits && st.Kind == transcript.StepReminder:
		return &Refusal{"yielded", "attempt " + quote(st.Attempt) + " waits for a person's words"}
	}
	return nil
}

// unsubmittable refuses a prompt for an output that nobody could submit, by the
// rules in force. Where a person can be asked, the call itself asks.
func (s *State) unsubmittable(st *transcript.Step, env Env) *Refusal {
	if st.Completion != transcript.CompleteSubmit || mutant("DeniedStepPrompted") {
		return nil
	}
	j := env.Permit(ToolWorkflow, json.RawMessage(`{"action":"submit","output":null}`))
	why := "it is refused by " + j.Rule
	switch {
	case j.Do == Deny:
	case j.Do == Ask && !env.Answerable && !(j.Once != "" && s.Granted[j.Once]):
		why = nobody(&Call{}, j)
	default:
		return nil
	}
	return &Refusal{RefusedDenied, "the step hands in its output with the tool " + ToolWorkflow + ", and can't, so the model isn't asked: " + why +
		". Allow that tool, and start the run again"}
}

// stepAID is the id of a step's prompt: ATTEMPT/KIND.N@GENERATION. N counts on
// past each id that was used on any branch, since a branch that was left keeps
// its ids for ever; so ids are told apart twice. The generation is for readers:
// it says on which branch the prompt is.
func (s *State) stepAID(st *transcript.Step) string {
	for n := 1; ; n++ {
		aid := fmt.Sprintf("%s/%s.%d@%d", st.Attempt, st.Kind, n, s.Generation)
		if _, used := s.Seen[aid]; !used {
			return aid
		}
	}
}

// stepWaits returns the step that may begin, the oldest one that waits. A
// yield doesn't hold steps. A stopped session holds those that were there
// before it stopped; they pass with one that came since.
func (s *State) stepWaits() (Arrival, bool) {
	var oldest *Arrival
	free := false
	for i := range s.Queue {
		a := &s.Queue[i]
		if a.Class != transcript.ClassStep {
			continue
		}
		if oldest == nil {
			oldest = a
		}
		free = free || s.Hold.Reason == "" || s.Hold.Reason == transcript.Yield && !mutant("YieldHoldsSteps") || a.ID.Seq > s.Hold.Seq || mutant("StepPassesStop")
	}
	if !free {
		return Arrival{}, false
	}
	return *oldest, true
}

// alone is the delivery of a step: nothing goes along.
func (s *State) alone(a Arrival) []transcript.ID {
	if mutant("StepInCompany") {
		return append(s.pick(func(q Arrival) bool { return steer(q) || follow(q) }), a.ID)
	}
	return []transcript.ID{a.ID}
}

// spoken reports whether words of a person wait that start a run: after a hold
// those that came since.
func (s *State) spoken() bool {
	return s.waits(func(a Arrival) bool { return a.Human && (s.Hold.Reason == "" || a.ID.Seq > s.Hold.Seq) })
}

// answeredStep reports whether the run is a step's whose model has stopped, with
// an answer or one that was cut, so that all it needs is its settle.
func (s *State) answeredStep() bool {
	return s.Run != nil && s.Run.Step != nil && s.Run.Abort == nil && s.Turn == ModelStopped && (s.stopped == llm.StopEnd || !mutant("CutStepInterrupted"))
}

// nextStep reports whether the run is a step's and another attempt's prompt
// came since. A session has one workflow run at a time, so the attempt of an
// interrupted run is over by then.
func (s *State) nextStep() bool {
	return s.Run.Step != nil && s.waits(func(a Arrival) bool {
		return a.Step != nil && a.Step.Attempt != s.Run.Step.Attempt && a.ID.Epoch > s.Run.Epoch
	})
}

// personSteers: a person's words wait that go on with a step that has its
// answer.
func (s *State) personSteers() bool {
	return s.waits(func(a Arrival) bool { return steer(a) && (a.Human || mutant("SteerJoinsAnsweredStep")) })
}

// What the model is told whose step completes with its answer.
const (
	noSubmit  = "This step completes with a normal assistant response. Do not submit workflow output."
	noMessage = "This step completes with a normal assistant response. Write it as plain text; don't use this tool here."
)

// inStep refuses what a step that completes with an answer can't have, however
// it is called: it would end the step in another way, or show more than one
// reply.
func (s *State) inStep(c *Call) *transcript.Result {
	if !s.Run.Step.Assistant() {
		return nil
	}
	switch c.Name {
	case ToolWorkflow:
		if mutant("SubmitInAnswerStep") {
			return nil
		}
		if DecodeArgs(c.Arguments)["action"] != "submit" {
			return refuse(c, noMessage)
		}
		return refuse(c, noSubmit)
	case toolMessageUser, toolAskUser:
		if mutant("MessageInAnswerStep") {
			return nil
		}
		return refuse(c, noMessage)
	}
	return nil
}

// submits names the attempt whose output a call hands in, "" if it hands in
// none. A call that names no attempt means that of the run.
func (s *State) submits(c *Call) string {
	if c.Name != ToolWorkflow || mutant("SubmittedTwice") {
		return ""
	}
	args := DecodeArgs(c.Arguments)
	if args["action"] != "submit" {
		return ""
	}
	attempt, _ := args["attempt"].(string)
	if attempt == "" && s.Run.Step != nil {
		attempt = s.Run.Step.Attempt
	}
	return attempt
}

// submittedBefore refuses a further output of an attempt whose output was accepted:
// the first one counts.
func (s *State) submittedBefore(c *Call) *transcript.Result {
	attempt := s.submits(c)
	if attempt == "" {
		return nil
	}
	if a, ok := s.steps.find(attempt); !ok || a.Submitted == nil {
		return nil
	}
	return refuse(c, "the output of this step was accepted already, and can't be replaced. End your turn.")
}

// runOf reports whether the run belongs to the attempt; any does to "".
func (s *State) runOf(attempt string) bool {
	return attempt == "" || s.Run != nil && s.Run.Step != nil && s.Run.Step.Attempt == attempt
}

// otherAttempt answers whoever asks for the run of an attempt while another one is
// there.
func (s *State) otherAttempt(attempt string) *Refusal {
	return &Refusal{"other_attempt", "the run doesn't belong to attempt " + quote(attempt)}
}

// badAbort says what is wrong with an abort, or "".
func badAbort(ev Aborts) string {
	switch ev.Cause {
	case "":
		return ""
	case transcript.CauseTimeout, transcript.CauseCancel, transcript.CausePark, transcript.CauseEscape:
		if ev.Attempt == "" {
			return "a cause belongs to an attempt"
		}
		return ""
	}
	return "cause " + quote(ev.Cause) + " isn't known; there are timeout, cancel, park and escape"
}

// withdraws takes back what an attempt without a run has in the session. done:
// the abort is answered.
func (c *commit) withdraws(ev Aborts) (done bool) {
	s := c.Next
	if ev.Attempt == "" || ev.Cause == "" || s.runOf(ev.Attempt) {
		return false
	}
	w := &transcript.Withdraw{Attempt: ev.Attempt, By: ev.By, Cause: ev.Cause}
	for _, q := range s.Queue {
		if q.Step != nil && q.Step.Attempt == ev.Attempt {
			w.Arrivals = append(w.Arrivals, q.ID)
		}
	}
	over := ev.Cause == transcript.CauseTimeout || ev.Cause == transcript.CauseCancel
	if len(w.Arrivals) == 0 && !(over && s.Attempt(ev.Attempt).Waits) {
		return false
	}
	c.add(w)
	return true
}

// closes ends what is left of attempts that are over.
func (c *commit) closes(over []Aborts) {
	for _, ev := range over {
		if c.aborts(ev); c.Reply.Err != nil && c.Reply.Err.Code == RefusedAnswered {
			c.Reply = Reply{}
			c.resumes(Resumes{By: ev.By, Attempt: ev.Attempt})
		}
		c.Reply = Reply{} // an attempt of which nothing is left needs no end
	}
}
