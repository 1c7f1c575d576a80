package audit

import (
	"slices"
	"strings"
)

// deliver checks that the delivery holds exactly what it must, in its order.
func (a *auditor) deliver(e *entry) {
	b := e.Raw
	if len(b.Arrivals) == 0 {
		a.fail("delivery", e.ID, "it is empty")
	}
	fresh := a.run == nil || a.turn == batchEnded || a.turn == modelStopped
	var step *entry
	if a.run == nil {
		step = a.stepDue()
	}
	fits, early := a.situation(e)
	if b.Early != early {
		a.fail("delivery", e.ID, "early is %v", b.Early)
	}
	due := a.due(fits)
	if step != nil {
		due = []string{step.ID}
	}
	if !slices.Equal(b.Arrivals, due) {
		a.fail("delivery", e.ID, "it holds %v, want %v", b.Arrivals, due)
	}
	if early {
		a.wants = append(a.wants, want{role: "developer"})
		a.stats.Cases["early words"]++
	}
	a.requested(e, a.run.id == e.ID)
	a.yielded = ""
	a.stepDelivered(e)
	for _, id := range b.Arrivals {
		a.give(a.byID[id])
	}
	a.beginTurn(fresh, b.Arrivals)
	a.run.epoch = e.epoch
	a.turn = modelsTurn
}

// situation says which classes a delivery takes here, and checks that one may
// stand here. At a run's start it begins the run.
func (a *auditor) situation(e *entry) (fits func(*entry) bool, early bool) {
	stopped := func(e *entry) bool { return isFollow(e) || isPrompt(e) }
	if a.run == nil {
		a.begin(e)
		return func(e *entry) bool { return isSteer(e) || stopped(e) }, false
	}
	a.live("delivery", e)
	r := a.run
	switch {
	case e.Raw.Run != r.id:
		a.fail("delivery", e.ID, "it names run %q, not %s", e.Raw.Run, r.id)
	case a.open() > 0:
		a.fail("delivery", e.ID, "while %d calls are open", a.open())
	case a.req != nil && a.req.epoch == e.epoch:
		a.fail("delivery", e.ID, "while the model answers %s", a.req.ID)
	case r.abort != nil:
		a.fail("abort", e.ID, "a delivery in an aborted run")
	case a.turn == batchEnded:
		if !a.personWaits() {
			a.fail("settle", e.ID, "the run goes on over its yield without a person's words")
		}
		return func(e *entry) bool { return isSteer(e) || isPrompt(e) || isFollow(e) && isHuman(e) }, true
	case a.turn == modelStopped && a.stop != "stop":
		a.fail("settle", e.ID, "a delivery after an answer that stopped with %s", a.stop)
	case a.turn == modelStopped && !a.free():
		a.fail("step", e.ID, "what is held is delivered")
	case a.turn == modelStopped && r.step.answers() && !a.waits(func(q *entry) bool { return isSteer(q) && isHuman(q) }):
		a.fail("step", e.ID, "it goes on after its answer, and no person steers")
	case a.turn == modelStopped && !a.waits(isSteer):
		a.stats.Cases["joined at a stop"]++
		return stopped, false
	}
	return isSteer, false
}

// begin checks the start of a run.
func (a *auditor) begin(e *entry) {
	if !a.mayStart() {
		a.fail("start", e.ID, "a run begins with nothing that may start one (hold %q)", a.hold)
	}
	if e.Raw.Run != "" {
		a.fail("start", e.ID, "it names run %s, which isn't there", e.Raw.Run)
	}
	now := a.factsAt(e.Time)
	if a.date != now.Date || a.agents != now.Agents {
		a.fail("start", e.ID, "the model was told %q and %q, and %q and %q are in force", a.date, a.agents, now.Date, now.Agents)
	}
	a.run = &run{id: e.ID, since: e.Time}
	a.asked, a.mayBe = nil, false
	a.fails, a.lastFail = 0, nil
	if st := a.stepDue(); st != nil {
		a.run.step = st.Raw.Step
		if a.hold != "" {
			a.stats.Cases["step begins beside a hold"]++
		}
		return
	}
	if a.hold != "" {
		a.stats.Cases["hold lifted: "+a.hold]++
	}
	if a.yields != nil {
		a.stats.Cases["reply to a step's yield"]++
	}
	a.hold, a.run.step, a.yields = "", a.yields, nil
}

// due lists what a delivery takes: injections, then people's words, in the
// order of arrival; one prompt; next-turn items beside a person's words only.
func (a *auditor) due(fits func(*entry) bool) []string {
	prompted, person := false, false
	taken := map[string]bool{}
	for _, q := range a.queue {
		if !fits(q) || isPrompt(q) && prompted {
			continue
		}
		prompted = prompted || isPrompt(q)
		person = person || isHuman(q)
		taken[q.ID] = true
	}
	var first, last []string
	for _, q := range a.queue {
		switch {
		case !taken[q.ID] && !(person && isNext(q)):
		case isHuman(q):
			last = append(last, q.ID)
		default:
			first = append(first, q.ID)
		}
	}
	return append(first, last...)
}

// give moves an arrival from the queue into the context.
func (a *auditor) give(e *entry) {
	a.queue = slices.DeleteFunc(slices.Clone(a.queue), func(q *entry) bool { return q == e })
	b := e.Raw
	a.stats.Classes[b.Class]++
	if isHuman(e) && e.seq > a.holdSeq {
		a.hold = ""
	}
	if isNudge(e) {
		a.run.nudges++
		a.stats.Cases["nudge"]++
	}
	switch {
	case isStep(e):
		a.wants = append(a.wants, want{role: "developer", holds: escape(b.Text), arrival: e})
	case b.Inject == "":
		a.wants = append(a.wants, want{role: "user", exact: b.Text, arrival: e})
	case b.Trusted:
		a.wants = append(a.wants, want{role: "developer", holds: escape(b.Text)})
	default:
		a.wants = append(a.wants, want{role: "developer"}, want{role: "user", holds: escape(b.Text)})
	}
}

// escape is how a body is made harmless inside a tag.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
