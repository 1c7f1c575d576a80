package sim

import (
	"fmt"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// flow is the workflow that has the session: one attempt at a time.
type flow struct {
	n     int
	step  transcript.Step
	open  bool // the attempt isn't over for the workflow
	ended bool // the workflow ended it; its run may have to stop yet
}

// flowTurn lets the workflow's host do what it must, and sometimes something
// needless.
func (w *world) flowTurn() {
	if w.actor == nil {
		return
	}
	w.totals.Events["workflow"]++
	f := &w.flow
	if !f.open {
		f.n++
		f.open, f.ended = true, false
		f.step = transcript.Step{Run: "r", Workflow: "w", Node: "n", Attempt: fmt.Sprintf("r/n#%d", f.n), Kind: transcript.StepPrompt,
			Completion: []string{transcript.CompleteAssistant, transcript.CompleteSubmit}[w.rng.IntN(2)]}
	}
	w.guard(func() {
		s := w.actor.State
		a := s.Attempt(f.step.Attempt)
		mine := s.Run != nil && s.Run.Step != nil && s.Run.Step.Attempt == f.step.Attempt
		switch {
		case f.ended && (!mine || s.Interrupted()): // the next one closes what is left
			f.open = false
		case mine && s.Interrupted() && !w.calm && w.roll(0.15): // somebody cancelled it while nobody had the session
			f.open = false
		case f.ended:
		case mine && s.Interrupted() && !w.roll(0.1):
			w.step("workflow resumes %s", f.step.Attempt)
			w.told(w.handle(session.Resumes{By: "workflow", Attempt: f.step.Attempt}), "")
		case a.State == session.StepAbsent:
			w.prompts(transcript.StepPrompt, false)
		case a.State != session.StepSettled:
			w.flowWaits(a)
		case f.step.Completion == transcript.CompleteAssistant:
			w.flowAnswer(a)
		default:
			w.flowSubmit(a)
		}
	})
}

// adopts: what was just opened may be a step that has its answer, whole or cut,
// and no settle. Somebody gets in between.
func (w *world) adopts() {
	if s := w.actor.State; s.Interrupted() && s.Run.Step != nil && s.Turn == session.ModelStopped && w.roll(0.7) {
		w.totals.Events["an answered step is found"]++
		if w.roll(0.5) {
			w.abort()
		} else {
			w.post(w.write("prompt"))
		}
	}
}

// told checks that an event was taken, or refused with the code.
func (w *world) told(rs []session.Reply, code string) {
	for _, r := range rs {
		got := ""
		if r.Err != nil {
			got = r.Err.Code
		}
		if got != code {
			w.violated("step: the workflow is answered %q, want %q", got, code)
		}
	}
}

// prompts sends a prompt. again: it must be found to be there.
func (w *world) prompts(kind string, again bool) {
	f := &w.flow
	f.step.Kind = kind
	w.step("workflow prompts %s (%s, %s)", f.step.Attempt, kind, f.step.Completion)
	if w.odds.denied == "workflow" && f.step.Completion == transcript.CompleteSubmit {
		w.told(w.handle(session.Prompts{Step: f.step, Text: w.words("do")}), session.RefusedDenied)
		w.totals.Cases["a step that can't be submitted"]++
		f.open = false
		return
	}
	for _, r := range w.handle(session.Prompts{Step: f.step, Text: w.words("do")}) {
		if r.Err != nil {
			w.violated("step: a prompt of %s was refused: %w", f.step.Attempt, r.Err)
		}
		if again && !r.Again {
			w.violated("step: %s was prompted although it goes on", f.step.Attempt)
		}
		w.see(audit.Seen{Kind: audit.StepAsked, AID: f.step.Attempt, Entry: r.ID.String(), Again: r.Again})
	}
}

// flowWaits: the attempt goes on.
func (w *world) flowWaits(a session.Attempt) {
	held := a.State == session.StepQueued && w.actor.State.Run == nil
	switch {
	case w.calm && held:
		w.endStep(transcript.CauseCancel)
	case w.calm:
	case w.roll(0.2):
		w.prompts([]string{transcript.StepPrompt, transcript.StepResume}[w.rng.IntN(2)], true)
	case w.roll(0.15):
		w.endStep([]string{transcript.CauseTimeout, transcript.CauseCancel, transcript.CausePark, transcript.CauseEscape}[w.rng.IntN(4)])
	case w.roll(0.05):
		rs := w.handle(session.Aborts{By: "workflow", Attempt: "r/n#0", Cause: transcript.CauseCancel})
		if len(rs) > 0 && rs[0].Err == nil {
			w.violated("step: another attempt was aborted")
		}
	}
}

// endStep lets the workflow end the attempt.
func (w *world) endStep(cause string) {
	f := &w.flow
	w.step("workflow ends %s: %s", f.step.Attempt, cause)
	for _, r := range w.handle(session.Aborts{By: "workflow", Attempt: f.step.Attempt, Cause: cause}) {
		if r.Err == nil {
			w.totals.Events["workflow ends a step"]++
			f.ended = cause == transcript.CauseTimeout || cause == transcript.CauseCancel
		}
	}
}

// goesOn reports whether an attempt that settled so goes on with a resume.
func goesOn(a session.Attempt) bool {
	return a.Reason == transcript.Interrupted || a.Reason == transcript.Aborted && (a.Cause == transcript.CauseEscape || a.Cause == transcript.CausePark)
}

func (w *world) flowAnswer(a session.Attempt) {
	f := &w.flow
	switch {
	case w.roll(0.1):
		w.prompts(transcript.StepPrompt, true)
	case a.Answered:
		if w.roll(0.2) {
			step := f.step
			step.Kind = transcript.StepResume
			w.told(w.handle(session.Prompts{Step: step, Text: w.words("do")}), "answered")
			if w.actor == nil {
				return
			}
		}
		w.see(audit.Seen{Kind: audit.StepTaken, AID: f.step.Attempt, Entry: a.Answer.String(), Text: a.Text})
		f.open = false
	case goesOn(a):
		w.prompts(transcript.StepResume, false)
	default:
		f.open = false
	}
}

func (w *world) flowSubmit(a session.Attempt) {
	f := &w.flow
	switch {
	case a.Submitted != nil:
		w.see(audit.Seen{Kind: audit.StepTaken, AID: f.step.Attempt, Text: string(a.Submitted)})
		f.open = false
	case a.Waits && (w.calm || w.roll(0.1)):
		w.endStep(transcript.CauseCancel)
	case a.Waits:
		if w.roll(0.2) {
			step := f.step
			step.Kind = transcript.StepReminder
			w.told(w.handle(session.Prompts{Step: step, Text: w.words("do")}), "yielded")
		}
	case goesOn(a):
		w.prompts(transcript.StepResume, false)
	case (a.Reason == transcript.Done || a.Reason == transcript.Yield) && a.Reminders < 2:
		w.prompts(transcript.StepReminder, false)
	default:
		f.open = false
	}
}

// submits is a call of the tool workflow.
func (w *world) submits() string {
	attempt := w.flow.step.Attempt
	if w.roll(0.1) {
		attempt = "r/n#0"
	}
	return fmt.Sprintf(`{"action":"submit","attempt":%q,"output":%d}`, attempt, w.rng.IntN(9))
}

// accepts is the workflow's answer to a submission.
func (w *world) accepts(e *effect, out *transcript.Output) {
	f := &w.flow
	args := session.DecodeArgs(string(e.Tool.Args))
	if attempt, _ := args["attempt"].(string); f.open && !f.ended && attempt == f.step.Attempt && f.step.Completion == transcript.CompleteSubmit {
		out.Submitted = &transcript.Submission{Attempt: attempt, Output: []byte(fmt.Sprint(args["output"]))}
	}
}
