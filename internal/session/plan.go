package session

import (
	"strconv"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

const (
	grace      = 2 * time.Second // for tools to stop after an abort
	maxNudges  = 2
	maxResumes = 4 // without progress: the run ends with crash_loop
	maxCut     = 3 // answers in a row that were cut inside a call
)

// plan returns the next entries that the state itself asks for: the first
// rule that fits. It looks at nothing but state and env, so a commit that was
// cut anywhere is continued by it in the same way.
func plan(s *State, env Env) []transcript.Body {
	switch {
	case s.left():
		return nil
	case s.Header.Session == "" || s.Why == transcript.OpenDeposit && !mutant("DepositStarts"):
		return nil // a deposit starts nothing
	case s.compacting():
		return planCompacting(s, env)
	case s.Why == transcript.OpenCompact:
		return planWish(s, env)
	case s.Run == nil:
		return planStart(s, env)
	case s.Interrupted():
		return planInterrupted(s, env)
	case s.open() > 0:
		return planBatch(s, env)
	case s.Turn == ModelStopped && s.Run.Abort == nil:
		return planStopped(s, env)
	case s.Turn == BatchEnded && s.Run.Abort == nil:
		return planBatchEnded(s)
	case s.stopReason(env) != "":
		return one(s.settle(s.stopReason(env), ""))
	}
	return planTurn(s, env)
}

func one(b transcript.Body) []transcript.Body { return []transcript.Body{b} }

// stopReason says why the run must stop as soon as its calls are closed, or "".
func (s *State) stopReason(env Env) transcript.Reason {
	switch {
	case s.Run.Abort != nil && !mutant("AbortGoesOn"):
		return transcript.Aborted
	case s.Run.Resumes >= maxResumes && !mutant("CrashLoopNever"):
		return transcript.CrashLoop
	case s.late(env):
		return transcript.Limit
	}
	return ""
}

// late reports whether the run's wall time is up.
func (s *State) late(env Env) bool {
	return env.Limits.Wall > 0 && !mutant("WallLimitOff") && !env.Now.Before(s.Run.Since.Add(env.Limits.Wall))
}

// planStart: no run.
func planStart(s *State, env Env) []transcript.Body {
	if a, ok := s.stepWaits(); ok && (!s.spoken() || mutant("StepBeforePeople")) {
		if f := dueFacts(s, env.Facts); f != nil && !mutant("FactsMissing") {
			return one(f)
		}
		return one(&transcript.Deliver{Arrivals: s.alone(a)})
	}
	if !s.starts() {
		return planWish(s, env)
	}
	if f := dueFacts(s, env.Facts); f != nil && !mutant("FactsMissing") {
		return one(f)
	}
	return one(&transcript.Deliver{Arrivals: s.pick(func(a Arrival) bool {
		return steer(a) || follow(a) || prompt(a)
	})})
}

// planInterrupted: a run of an earlier owner waits for a resume. An abort or a
// person's message that came since closes it, and so does being a copy of a
// workflow's step; a run that had been aborted before its owner went settles as
// that.
func planInterrupted(s *State, env Env) []transcript.Body {
	if wish := planWish(s, env); wish != nil && !s.copiedStep() {
		return wish
	}
	spoken := s.waits(func(a Arrival) bool { return a.Human && a.ID.Epoch > s.Run.Epoch }) && !mutant("PersonLeavesInterrupted")
	spoken = spoken || s.nextStep() || s.copiedStep()
	abort := s.Run.Abort
	if !spoken && (abort == nil || abort.ID.Epoch <= s.Run.Epoch) {
		return nil
	}
	why := transcript.Interrupted
	switch {
	case s.answeredStep() && !mutant("AnsweredStepInterrupted"):
		why = s.stopReply() // people have seen it, and there must be no second one
	case abort != nil:
		why = transcript.Aborted
	}
	if c := s.firstOpen(); c != nil {
		if c.Intent != nil {
			return one(unknown(c))
		}
		return one(notRun(c, "the run was interrupted before this call started"))
	}
	if why == transcript.Interrupted && s.copiedStep() {
		b := s.settle(why, copyNote)
		b.Copied = true
		return one(b)
	}
	return one(s.settle(why, ""))
}

// copyNote says why a step doesn't go on in a copy.
const copyNote = "the step of a workflow that was copied with the session goes on in the original alone"

// stopReply says how a run settles whose model has stopped.
func (s *State) stopReply() transcript.Reason {
	switch s.stopped {
	case llm.StopLength:
		return transcript.Length
	case llm.StopContent:
		return transcript.ContentFilter
	}
	return transcript.Done
}

// planBatchEnded: every result of the batch says terminate.
func planBatchEnded(s *State) []transcript.Body {
	if s.spoken() && !mutant("EarlyWordsHeld") {
		return one(&transcript.Deliver{Run: s.Run.ID, Early: true, Arrivals: s.pick(func(a Arrival) bool {
			return steer(a) || prompt(a) || a.Human
		})})
	}
	return one(s.settle(transcript.Yield, ""))
}

// planStopped: the model answered without calls. In a step that runs beside a
// hold, what is held stays so until a person speaks.
func planStopped(s *State, env Env) []transcript.Body {
	r := s.Run
	free := s.Hold.Reason == "" || s.spoken() || mutant("HeldQueueJoinsStep")
	switch {
	case s.stopReply() != transcript.Done:
		return one(s.settle(s.stopReply(), ""))
	case free && s.waits(steer) && (!r.Step.Assistant() || s.personSteers()):
		return one(&transcript.Deliver{Run: r.ID, Arrivals: s.pick(steer)})
	case r.Step.Assistant() && !mutant("QueueJoinsAnsweredStep"):
		return one(s.settle(transcript.Done, ""))
	case free && s.waits(func(a Arrival) bool { return follow(a) || prompt(a) }) && !mutant("StopIgnoresQueue"):
		return one(&transcript.Deliver{Run: r.ID, Arrivals: s.pick(func(a Arrival) bool { return follow(a) || prompt(a) })})
	case r.Step != nil && !mutant("StepNudged"):
		return one(s.settle(transcript.Done, ""))
	case s.working() && (r.Nudges < maxNudges || mutant("NudgesWithoutEnd") && r.Nudges < 9):
		return one(r.nudge(nudgeText))
	case s.working():
		return one(s.settle(transcript.NoYield, ""))
	}
	if fault := s.misfit(env, r.Text, r.Nudges); fault != "" {
		return one(r.nudge(misfitText(fault, env.Answer)))
	}
	return one(s.settle(transcript.Done, ""))
}

// nudge is the core's own guidance to a model that stopped too early.
func (r *Run) nudge(text string) *transcript.Arrive {
	return &transcript.Arrive{AID: nudgePrefix + r.ID.String() + ":" + strconv.Itoa(r.Nudges+1),
		Class: transcript.ClassSteer, Trusted: true, Inject: SystemGuidance, Nudge: true, Text: text}
}

// nudgePrefix begins the ids of the core's own reminders.
const nudgePrefix = "nudge:"

const nudgeText = "A task is still in progress. Continue with it, or update the task list, or call message_user with blockOnUser true and a reason."

// planTurn: the model should be asked.
func planTurn(s *State, env Env) []transcript.Body {
	switch {
	case s.asked() && !(mutant("SteerDuringRequest") && s.waits(steer)):
		return nil // in flight: arrivals wait
	case s.waits(steer) && !mutant("SteerLate"):
		return one(&transcript.Deliver{Run: s.Run.ID, Arrivals: s.pick(steer)})
	}
	if which := s.overLimit(env.Limits); which != "" && !mutant("TurnLimitOff") {
		return one(s.settle(transcript.Limit, which))
	}
	switch {
	case s.Run.Cut >= maxCut && !mutant("CutWithoutEnd"):
		return one(s.settle(transcript.Length, "the output limit cut "+strconv.Itoa(maxCut)+" answers in a row inside a call"))
	case spent(s):
		return one(s.settle(failReason(s.LastFail), s.LastFail.Message))
	case s.backingOff(env.Now) && !mutant("NotBeforeIgnored"):
		return nil // the timer wakes us
	case mutant("NoRequestEntry"):
		return nil
	}
	if c := s.planCompaction(env); c != nil {
		return c
	}
	return one(request(s, env))
}

// settle makes the settled entry.
func (s *State) settle(why transcript.Reason, detail string) *transcript.Settled {
	if why == transcript.Limit && detail == "" {
		detail = "wall time"
	}
	b := &transcript.Settled{Run: s.Run.ID, Reason: why, Detail: detail, Answer: s.Run.Answer}
	b.Adopted = !mutant("AdoptedUnsaid") && !b.Answer.IsZero() && b.Answer.Epoch != s.Epoch && why == transcript.Done
	if s.Run.Step != nil && !mutant("AttemptUnsaid") {
		b.Attempt = s.Run.Step.Attempt
	}
	after := s.fork()
	after.applySettled(transcript.ID{Epoch: s.Epoch, Seq: s.Seq + 1}, b)
	b.More = after.starts() && !mutant("MoreNever")
	return b
}

// starts reports whether a state without a run has something to start one
// (I9): a person's words always, and alone if the session is held; a step,
// also beside a hold; a follow-up; a steer while a task is in progress.
func (s *State) starts() bool {
	if _, ok := s.stepWaits(); ok {
		return true
	}
	if s.Hold.Reason != "" && !mutant("HoldKeptForPeople") && !mutant("HoldLiftedBySystem") {
		return s.waits(func(a Arrival) bool { return a.Human && a.ID.Seq > s.Hold.Seq })
	}
	if mutant("HoldKeptForPeople") && s.Hold.Reason != "" {
		return false
	}
	if mutant("IdleSteerStarts") && s.Hold.Reason == "" && s.waits(steer) {
		return true
	}
	return s.waits(func(a Arrival) bool { return a.Human || follow(a) || (steer(a) && s.working()) })
}
