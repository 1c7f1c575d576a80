package audit

import (
	"slices"
	"time"
)

func (a *auditor) resume(e *entry) {
	if a.run == nil || a.run.epoch == e.epoch {
		a.fail("start", e.ID, "a resume, but no run is interrupted")
	}
	if a.closed == a.run.epoch {
		a.stats.Cases["resume behind an orderly end"]++
	} else {
		a.run.resumes++
	}
	a.run.epoch, a.run.since = e.epoch, e.Time
	a.stats.Cases["resume"]++
}

// close: an owner leaves in order, while its run goes on.
func (a *auditor) close(e *entry) {
	if a.run == nil || a.run.epoch != e.epoch || a.run.id != e.Raw.Run {
		a.fail("start", e.ID, "a close, but no run of its owner goes on")
	}
	a.closed = e.epoch
}

// left: an owner that left in order has said so.
func (a *auditor) left(s *Seen) {
	for _, e := range a.log {
		if e.Kind == "close" && e.epoch == s.Token {
			return
		}
	}
	a.fail("start", "", "owner %d left its run in order, and its log doesn't say so", s.Token)
}

// asks checks that the model may be called now.
func (a *auditor) asks(e *entry) {
	a.live("request", e)
	r, l := a.run, a.rec.Limits
	a.squeeze = nil
	switch {
	case r.abort != nil:
		a.fail("abort", e.ID, "a model call after the abort %s", r.abort.ID)
	case a.open() > 0:
		a.fail("request", e.ID, "while %d calls are open", a.open())
	case a.req != nil && a.req.epoch == e.epoch:
		a.fail("request", e.ID, "while the model answers %s", a.req.ID)
	case a.turn != modelsTurn:
		a.fail("request", e.ID, "the newest message is the model's own")
	case a.waits(isSteer):
		a.fail("request", e.ID, "a steer waits and wasn't delivered before it")
	case a.fails > 3:
		a.fail("retry", e.ID, "a try after %d failures in a row", a.fails)
	case a.overflow:
		a.fail("retry", e.ID, "a try after an overflow without a compaction")
	case a.lastFail != nil && (a.lastFail.Raw.Class == "fatal" || a.lastFail.Raw.Class == "overflow"):
		a.fail("retry", e.ID, "a try after a failure of class %s", a.lastFail.Raw.Class)
	case a.lastFail != nil && e.Time.Before(a.lastFail.Raw.NotBefore):
		a.fail("retry", e.ID, "a try %s before its time", a.lastFail.Raw.NotBefore.Sub(e.Time))
	case l.Turns > 0 && r.turns >= l.Turns:
		a.fail("limit", e.ID, "a call after %d turns of %d", r.turns, l.Turns)
	case l.Tokens > 0 && r.tokens >= l.Tokens:
		a.fail("limit", e.ID, "a call after %d tokens of %d", r.tokens, l.Tokens)
	case l.Wall > 0 && !e.Time.Before(r.since.Add(l.Wall)):
		a.fail("limit", e.ID, "a call %s after the run began", e.Time.Sub(r.since))
	case r.resumes >= 4:
		a.fail("limit", e.ID, "a call after %d resumes without progress", r.resumes)
	case r.cuts >= 3:
		a.fail("limit", e.ID, "a call after %d cut answers in a row", r.cuts)
	case a.prefix != "" && (a.prefix != e.Raw.Prefix) != (e.Raw.Break == "upgrade"):
		a.fail("request", e.ID, "break is %q and the prefix went from %s to %s", e.Raw.Break, a.prefix, e.Raw.Prefix)
	}
	if upgrade := e.Raw.Break == "upgrade"; !upgrade && a.broken != (e.Raw.Break == "compaction") {
		a.fail("request", e.ID, "break is %q, compacted since the last one: %v", e.Raw.Break, a.broken)
	}
	if a.req != nil {
		a.stats.Cases["asked again"]++
	}
	a.req, a.prefix = e, e.Raw.Prefix
	a.snapshot[e.ID] = shot{a.wants[:len(a.wants):len(a.wants)], a.block, a.era, a.failures == 0 && a.since == 0}
	a.weigh(e)
	a.broken, a.context.sent = false, true
}

// answered checks that the entry answers the request in flight.
func (a *auditor) answered(e *entry) {
	a.live("request", e)
	if a.req == nil || e.Raw.Request != a.req.ID || a.req.epoch != e.epoch {
		a.fail("request", e.ID, "%s answers %s, which isn't in flight", e.Kind, e.Raw.Request)
	}
	a.req = nil
	a.run.tokens += e.Raw.Usage.Input + e.Raw.Usage.Output
}

// tried takes the end of a try: of an answer, or of a summary.
func (a *auditor) tried(e *entry) {
	if r := a.req; r == nil || r.Raw.Compaction == nil {
		a.answered(e)
		return
	}
	if a.req.ID != e.Raw.Request || a.req.epoch != e.epoch || e.Raw.For != "compaction" {
		a.fail("compaction", e.ID, "%s answers %s, which isn't in flight", e.Kind, e.Raw.Request)
	}
	a.req = nil
	if a.run != nil {
		a.run.tokens += e.Raw.Usage.Input + e.Raw.Usage.Output
	}
}

func (a *auditor) answer(e *entry) {
	a.answered(e)
	r, b := a.run, e.Raw
	r.turns++
	r.resumes = 0
	a.fails, a.lastFail = 0, nil
	a.since, a.overflow = 0, false
	a.stepAnswer(e)
	a.calls = nil
	a.wants = append(a.wants, want{role: "assistant", parts: b.Parts})
	for _, p := range b.Parts {
		if p.Type != "call" {
			continue
		}
		c := &call{id: p.Call.ID, name: p.Call.Name, args: p.Call.Arguments, answer: e, run: r}
		if a.allCalls[c.id] != nil || c.id == "" {
			a.fail("call", e.ID, "call id %q is used before", c.id)
		}
		a.allCalls[c.id] = c
		a.calls = append(a.calls, c)
	}
	withheld := b.Stop == "content_filter"
	a.cut = (b.Stop == "length" || withheld) && len(a.calls) > 0
	if a.cut && !withheld {
		r.cuts++
	} else {
		r.cuts = 0
	}
	a.stop = b.Stop
	a.expectSkills()
	if a.turn = toolsTurn; len(a.calls) == 0 {
		a.turn, r.answer = modelStopped, e
	}
}

func (a *auditor) failed(e *entry) {
	a.tried(e)
	a.overflow = a.overflow || e.Raw.Class == "overflow"
	a.fails++
	a.lastFail = e
	class := e.Raw.Class
	a.stats.Cases["fail "+class]++
	if class != "retry" && class != "incomplete" {
		return
	}
	wait, asked := e.Raw.NotBefore.Sub(e.Time), a.waitAsked[e.Raw.Request]
	backoff := time.Second << a.fails
	switch {
	case asked > time.Minute:
		a.fail("retry", e.ID, "the provider asked to wait %s, which is too long to try again", asked)
	case a.fails > 3:
		if !e.Raw.NotBefore.IsZero() {
			a.fail("retry", e.ID, "the last try failed and the entry names a time for another")
		}
	case asked > 0 && wait != asked:
		a.fail("retry", e.ID, "the next try waits %s, the provider asked for %s", wait, asked)
	case asked == 0 && (wait < backoff || wait > backoff*5/4):
		a.fail("retry", e.ID, "the next try waits %s, want %s and up to a quarter more", wait, backoff)
	}
}

func (a *auditor) aborted(e *entry) {
	// A run whose aborting owner is gone may be aborted once more.
	if a.run == nil || a.run.abort != nil && a.run.abort.epoch == e.epoch {
		a.fail("abort", e.ID, "an abort, but no run that isn't aborting")
	}
	if a.answeredStep() || e.Raw.Cause != "" && (a.run.step == nil || !endCause(e.Raw.Cause)) {
		a.fail("step", e.ID, "an abort of a step that has its answer, or with cause %q", e.Raw.Cause)
	}
	a.run.abort = e
	a.req = nil
	a.queue = slices.DeleteFunc(slices.Clone(a.queue), func(q *entry) bool { return q.Raw.Class == "command" })
	for _, c := range a.calls {
		c.stopAt = e
	}
	switch {
	case a.run.epoch != e.epoch:
		a.stats.Cases["abort of an interrupted run"]++
	case a.open() > 0:
		a.stats.Cases["abort during tools"]++
	default:
		a.stats.Cases["abort during the answer"]++
	}
}

// settled checks that the reason has its cause and that "more" tells the
// truth.
func (a *auditor) settled(e *entry) {
	b := e.Raw
	if a.run == nil || b.Run != a.run.id {
		a.fail("settle", e.ID, "settles %s, which isn't running", b.Run)
	}
	if a.open() > 0 {
		a.fail("settle", e.ID, "while %d calls are open", a.open())
	}
	closed := b.Reason == "interrupted" || b.Reason == "aborted" && a.closing() || (b.Reason == "done" || b.Reason == "length" || b.Reason == "content_filter") && a.answeredStep() && a.closing()
	if a.run.step != nil && a.nextStep() && a.run.epoch != e.epoch {
		a.stats.Cases["step closes an interrupted one"]++
	}
	if a.run.epoch != e.epoch && !closed {
		a.fail("settle", e.ID, "%s of an interrupted run that nobody resumed", b.Reason)
	}
	if why := a.cause(e); why != "" {
		a.fail("settle", e.ID, "%s, but %s", b.Reason, why)
	}
	a.checkAnswer(e)
	a.stats.Settles[b.Reason]++
	a.stepSettled(e)
	if a.hold != "" {
		a.stats.Cases["hold kept by a step"]++
	}
	abort := a.run.abort
	a.run, a.req = nil, nil
	switch b.Reason {
	case "yield", "error", "incomplete", "limit", "crash_loop", "context_irreducible":
		a.hold, a.holdSeq = b.Reason, e.seq
	case "aborted":
		if abort.Raw.Cause == "" {
			a.hold, a.holdSeq = b.Reason, abort.seq
		}
	}
	a.checkMore(e)
}

// cause says what is wrong with the reason of a settle, or "".
func (a *auditor) cause(e *entry) string {
	r, l := a.run, a.rec.Limits
	plain := a.turn == modelStopped
	moves := func(q *entry) bool { return !rests(q) && a.free() && (!r.step.answers() || isSteer(q) && isHuman(q)) }
	must := func(ok bool, why string) string {
		if ok {
			return ""
		}
		return why
	}
	if r.abort != nil && e.Raw.Reason != "aborted" {
		return "the run was aborted"
	}
	switch e.Raw.Reason {
	case "done":
		return must(plain && a.stop == "stop" && !(a.waits(moves) && r.epoch == e.epoch) && (!a.working() || r.step != nil), "the model didn't stop with nothing left to do")
	case "no_yield":
		return must(plain && r.step == nil && a.stop == "stop" && !a.waits(moves) && a.working() && r.nudges == 2, "it wasn't nudged twice")
	case "yield":
		return must(a.turn == batchEnded && !a.personWaits(), "the batch doesn't end the run, or a person's words wait")
	case "length":
		return must(plain && a.stop == "length" || r.cuts >= 3, "no answer was cut")
	case "content_filter":
		return must(a.stop == "content_filter", "nothing was filtered")
	case "aborted":
		return must(r.abort != nil, "nobody aborted it")
	case "interrupted":
		return must(r.epoch != e.epoch && (a.spoken() || a.nextStep()) && !a.answeredStep(), "no person spoke since, or the step has its answer")
	case "error":
		return must(a.lastFail != nil && (a.lastFail.Raw.Class == "fatal" || a.fails > 3), "tries are left")
	case "incomplete":
		return must(a.lastFail != nil && a.lastFail.Raw.Class == "incomplete" && a.fails > 3, "tries are left")
	case "context_irreducible":
		return must(a.overflow || a.rec.Window > 0, "nothing was too big")
	case "limit":
		return must(l.Turns > 0 && r.turns >= l.Turns || l.Tokens > 0 && r.tokens >= l.Tokens ||
			l.Wall > 0 && !e.Time.Before(r.since.Add(l.Wall)), "no limit is reached")
	case "crash_loop":
		return must(r.resumes >= 4, "it wasn't resumed four times without progress")
	}
	return "this reason is unknown"
}

func (a *auditor) checkAnswer(e *entry) {
	want := ""
	if a.run.answer != nil {
		want = a.run.answer.ID
	}
	if e.Raw.Answer != want {
		a.fail("settle", e.ID, "its answer is %q, want %q", e.Raw.Answer, want)
	}
	adopted := e.Raw.Reason == "done" && a.run.answer.epoch != e.epoch
	if e.Raw.Adopted != adopted {
		a.fail("settle", e.ID, "adopted is %v", e.Raw.Adopted)
	}
	if adopted {
		a.stats.Cases["adopted answer"]++
	}
}

// checkMore holds "more" against the queue and against the batch of entries
// that the settle was written with.
func (a *auditor) checkMore(e *entry) {
	if e.Raw.More != a.mayStart() {
		a.fail("settle", e.ID, "more is %v", e.Raw.More)
	}
	for _, b := range a.rec.Appends {
		if b.Token == e.epoch && b.First <= e.seq && e.seq <= b.Last && e.Raw.More && b.Last == e.seq {
			a.fail("settle", e.ID, "more, and the next run isn't in the same commit")
		}
	}
	if e.Raw.More {
		a.stats.Cases["more"]++
	}
}

// spoken reports whether a person's words arrived after the interruption.
func (a *auditor) spoken() bool {
	return a.waits(func(q *entry) bool { return isHuman(q) && q.epoch > a.run.epoch })
}

// closing reports whether an interrupted run may be closed without a resume.
func (a *auditor) closing() bool {
	return a.spoken() || a.nextStep() || a.run.abort != nil && a.run.abort.epoch > a.run.epoch
}
