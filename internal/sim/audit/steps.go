package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// stepMark is what a step's prompt says of itself.
type stepMark struct {
	Attempt    string `json:"attempt"`
	Kind       string `json:"kind"`
	Completion string `json:"completion"`
}

func (s *stepMark) answers() bool { return s != nil && s.Completion == "assistant" }

// submission is a fact of a workflow call's result.
type submission struct {
	Attempt string          `json:"attempt"`
	Output  json.RawMessage `json:"output"`
}

// attempt is what the log has of an attempt so far.
type attempt struct {
	mark      stepMark
	replies   int    // visible ones: text and no calls
	people    int    // messages that were delivered inside it
	answer    *entry // the newest without calls
	open      bool   // something was delivered behind that answer
	settled   *entry
	submitted *entry
}

// steps is what the log has of workflow steps.
type steps struct {
	attempts map[string]*attempt
	yields   *stepMark // of a submit step that waits for a person
}

func isStep(e *entry) bool { return e.Raw.Class == "step" }

func (a *auditor) attemptOf(m *stepMark) *attempt {
	t := a.attempts[m.Attempt]
	if t == nil {
		t = &attempt{mark: *m}
		a.attempts[m.Attempt] = t
	}
	return t
}

// personWaits reports whether a person's words wait that no hold keeps.
func (a *auditor) personWaits() bool {
	return a.waits(func(q *entry) bool { return isHuman(q) && (a.hold == "" || q.seq > a.holdSeq) })
}

// free: the session isn't held, or a person has spoken since.
func (a *auditor) free() bool { return a.hold == "" || a.personWaits() }

// stepDue returns the step that must begin now if no run is there, or nil.
func (a *auditor) stepDue() *entry {
	if a.personWaits() {
		return nil
	}
	var first *entry
	passes := false
	for _, q := range a.queue {
		if !isStep(q) {
			continue
		}
		if first == nil {
			first = q
		}
		passes = passes || a.hold == "" || a.hold == "yield" || q.seq > a.holdSeq
	}
	if !passes {
		return nil
	}
	return first
}

// stepArrives checks what a workflow asks for.
func (a *auditor) stepArrives(e *entry) {
	m := e.Raw.Step
	if !isStep(e) {
		if m != nil {
			a.fail("step", e.ID, "a %s names a step", e.Raw.Class)
		}
		return
	}
	if m == nil || m.Attempt == "" || !e.Raw.Trusted || e.Raw.Human || e.Raw.Inject != "workflow_step" {
		a.fail("step", e.ID, "a step's prompt that isn't one")
	}
	if !m.answers() && a.rec.Denied == "workflow" {
		a.fail("step", e.ID, "a prompt for an output that a rule doesn't let the model submit")
	}
	if !strings.HasPrefix(e.Raw.AID, m.Attempt+"/"+m.Kind+".") || !strings.HasSuffix(e.Raw.AID, "@0") {
		a.fail("step", e.ID, "the id %q is not that of its attempt", e.Raw.AID)
	}
	if a.waits(func(q *entry) bool { return isStep(q) && q.Raw.Step.Attempt == m.Attempt }) {
		a.fail("step", e.ID, "a prompt of attempt %s waits already", m.Attempt)
	}
	t := a.attempts[m.Attempt]
	switch {
	case t == nil && m.Kind != "step":
		a.fail("step", e.ID, "a %s of an attempt that has no prompt", m.Kind)
	case t != nil && m.Kind == "step":
		a.fail("step", e.ID, "a second first prompt")
	case t != nil && t.settled == nil:
		a.fail("step", e.ID, "a further prompt while the attempt goes on")
	case t != nil && !m.answers() && t.submitted != nil:
		a.fail("step", e.ID, "a further prompt of an attempt that has its output")
	case t != nil && m.answers() && t.answered():
		a.fail("step", e.ID, "a further prompt of an attempt that has its answer")
	}
}

// answered reports whether the attempt has an answer that stands behind all
// that was delivered.
func (t *attempt) answered() bool {
	return t.answer != nil && !t.open && t.answer.Raw.Stop == "stop"
}

// answeredStep reports whether the run is a step's that only needs its settle.
func (a *auditor) answeredStep() bool {
	return a.run != nil && a.run.step != nil && a.turn == modelStopped && a.run.abort == nil
}

// nextStep: a prompt of another attempt came since a step's run was
// interrupted.
func (a *auditor) nextStep() bool {
	return a.run.step != nil && a.waits(func(q *entry) bool {
		return isStep(q) && q.Raw.Step.Attempt != a.run.step.Attempt && q.epoch > a.run.epoch
	})
}

// stepDelivered notes a delivery in a step's run, or at its start.
func (a *auditor) stepDelivered(e *entry) {
	if a.run.step == nil {
		return
	}
	t := a.attemptOf(a.run.step)
	t.open, t.settled = true, nil
	for _, id := range e.Raw.Arrivals {
		if isHuman(a.byID[id]) {
			t.people++
			a.stats.Cases["a person speaks in a step"]++
		}
	}
}

func (a *auditor) stepAnswer(e *entry) {
	m := a.run.step
	if m == nil || slices.ContainsFunc(e.Raw.Parts, func(p part) bool { return p.Type == "call" }) {
		return
	}
	t := a.attemptOf(m)
	t.answer, t.open = e, false
	if textOf(e) == "" {
		return
	}
	if t.replies++; m.answers() && t.replies > 1+t.people {
		a.fail("step", e.ID, "reply %d of attempt %s, in which people spoke %d times", t.replies, m.Attempt, t.people)
	}
}

// textOf is the visible text of an answer.
func textOf(e *entry) string {
	var b strings.Builder
	for _, p := range e.Raw.Parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// The texts of the refusals.
const (
	toldNoSubmit  = "error: This step completes with a normal assistant response. Do not submit workflow output."
	toldNoMessage = "error: This step completes with a normal assistant response. "
)

// ends reports whether the call would end a step in another way than by its
// answer.
func ends(c *call) bool {
	return c.name == "workflow" || c.name == "message_user" || c.name == "ask_user"
}

// stepResult: in a step that completes with an answer such a call is refused,
// and nowhere else.
func (a *auditor) stepResult(e *entry, c *call) {
	told := e.Raw.Text == toldNoSubmit || strings.HasPrefix(e.Raw.Text, toldNoMessage)
	must := a.run.step.answers() && ends(c) && !a.cut && a.run.epoch == e.epoch
	switch {
	case must && !(told && e.Raw.NotRun):
		a.fail("step", e.ID, "%s was not refused in a step that completes with an answer: %q", c.name, e.Raw.Text)
	case told && !must:
		a.fail("step", e.ID, "%s was refused as in such a step", c.name)
	case must:
		a.stats.Cases["refused in a step"]++
	}
	s := e.Raw.Submitted
	switch {
	case s == nil:
	case c.name != "workflow" || e.Raw.Outcome != "ok":
		a.fail("step", e.ID, "%s submits", c.name)
	case a.attempts[s.Attempt] != nil:
		if a.attempts[s.Attempt].submitted != nil {
			a.fail("step", e.ID, "it submits the output of %s, which was accepted already", s.Attempt)
		}
		a.attempts[s.Attempt].submitted = e
		a.stats.Cases["submitted"]++
	}
}

// submits reports whether the call hands in the output of an attempt whose output
// was accepted already. Calls of the simulated model name their attempt.
func (a *auditor) submits(c *call) bool {
	for id, t := range a.attempts {
		if t.submitted != nil && c.name == "workflow" && strings.Contains(c.args, fmt.Sprintf(`"submit","attempt":%q`, id)) {
			return true
		}
	}
	return false
}

// stepSettled checks the attempt that a settle names, and what it leaves.
func (a *auditor) stepSettled(e *entry) {
	m := a.run.step
	want := ""
	if m != nil {
		want = m.Attempt
	}
	if e.Raw.Attempt != want {
		a.fail("step", e.ID, "it names the attempt %q, want %q", e.Raw.Attempt, want)
	}
	if m == nil {
		return
	}
	a.attemptOf(m).settled = e
	a.stats.Cases["step settled: "+e.Raw.Reason]++
	if e.Raw.Adopted {
		a.stats.Cases["step adopted"]++
	}
	if e.Raw.Reason == "yield" && !m.answers() {
		a.yields = m
	}
}

func (a *auditor) withdraw(e *entry) {
	b := e.Raw
	if b.Attempt == "" || !endCause(b.Cause) {
		a.fail("step", e.ID, "withdraws attempt %q with cause %q", b.Attempt, b.Cause)
	}
	over := b.Cause == "timeout" || b.Cause == "cancel"
	if len(b.Arrivals) == 0 && !(over && a.yields != nil && a.yields.Attempt == b.Attempt) {
		a.fail("step", e.ID, "it withdraws nothing")
	}
	for _, id := range b.Arrivals {
		q := a.byID[id]
		if !slices.Contains(a.queue, q) || !isStep(q) || q.Raw.Step.Attempt != b.Attempt {
			a.fail("step", e.ID, "it withdraws %s, which isn't a prompt of %s that waits", id, b.Attempt)
		}
	}
	a.queue = slices.DeleteFunc(slices.Clone(a.queue), func(q *entry) bool { return slices.Contains(b.Arrivals, q.ID) })
	if over && a.yields != nil && a.yields.Attempt == b.Attempt {
		a.yields = nil
	}
	a.stats.Cases["prompt withdrawn"]++
}

func endCause(c string) bool {
	return slices.Contains([]string{"timeout", "cancel", "park", "escape"}, c)
}

// stepTaken: what the workflow took as the outcome of an attempt is what the
// log has of it.
func (a *auditor) stepTaken(s *Seen) {
	t := a.attempts[s.AID]
	switch {
	case t == nil:
		a.fail("step", "", "an outcome of attempt %s, which the log doesn't have", s.AID)
	case t.mark.answers():
		e := a.stored(s, s.Entry, "taken as the answer of "+s.AID)
		if t.answer != e || textOf(e) != s.Text {
			a.fail("step", e.ID, "the workflow took %q as the answer of %s", s.Text, s.AID)
		}
		a.stats.Cases["answer taken"]++
	default:
		if t.submitted == nil || fmt.Sprint(string(t.submitted.Raw.Submitted.Output)) != s.Text {
			a.fail("step", "", "the workflow took %q as the output of %s", s.Text, s.AID)
		}
		a.stored(s, t.submitted.ID, "taken as the output of "+s.AID)
		a.stats.Cases["output taken"]++
	}
}
