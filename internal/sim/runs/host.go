package runs

import (
	"github.com/gamma-harness/gamma/internal/flow"
	hosts "github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/workflow"
)

// host is a process with workers and live sessions.
type host struct {
	name     string
	skew     int64 // its clock is off by this
	live     map[string]*owned
	attempts map[string]*openAttempt // by attempt
	pros     []*process
}

// clock is the host's own time.
func (h *host) clock(w *world) int64 { return w.now + h.skew }

// worker claims runs and carries them out.
type worker struct {
	w     *world
	h     *host
	yield pause
	run   *flow.Run
	token int64
	until int64 // of the lease, by the host's clock
}

// work is a worker's life.
func (h *host) work(w *world, yield pause) {
	k := &worker{w: w, h: h, yield: yield}
	for {
		yield("worker.idle")
		by := map[string]bool{"*": true}
		for id := range h.live {
			by[id] = true
		}
		run, token, ev := w.db.claim(by, h.clock(w))
		if run == "" {
			continue
		}
		k.token, k.until = token, h.clock(w)+lease
		if r := w.db.rows[run]; r.Status == flow.Parked && r.Reason == flow.ForSession && !by[r.Session] {
			w.fail("%s waits for %s and was claimed by %s, which doesn't have it", run, r.Session, h.name)
		}
		w.logf("%s claims %s, token %d", h.name, run, token)
		yield("claim.taken")
		k.carry(run, ev)
		if w.db.rows[run].token != token {
			k.leftOver(run)
		}
		w.db.release(run, token, h.clock(w))
	}
}

// carry carries a claimed run out as far as it goes here, as runner.Drive does.
func (k *worker) carry(id string, ev flow.Claim) {
	k.run = k.w.db.load(id)
	k.yield("run.loaded")
	if !k.signals() || !k.decide(ev, "") {
		return
	}
	if n := k.w.takes[id]; n > 4 && flow.Owed(k.graph(), k.run) != nil {
		k.w.fail("%s was taken up from %d lost hosts, one after the other", id, n)
	}
	for {
		e := flow.Owed(k.graph(), k.run)
		if e == nil {
			return
		}
		if !k.keep() {
			return
		}
		ev, ok := k.effect(e)
		if !ok {
			return
		}
		if ev != nil && !k.decide(ev, "") {
			return
		}
		if !k.signals() {
			return
		}
	}
}

func (k *worker) graph() *flow.Graph { return k.w.graphs[k.run.ID] }

// keep renews the claim when it is due; false: it is lost.
func (k *worker) keep() bool {
	now := k.h.clock(k.w)
	if k.until-now > lease*2/3 {
		return true
	}
	if !k.w.db.renew(k.run.ID, k.token, now) {
		return false
	}
	k.until = now + lease
	return true
}

func (k *worker) env() flow.Env {
	return flow.Env{Now: k.h.clock(k.w), Holder: true, Session: k.h.live[k.run.Session] != nil}
}

// decide decides and commits; false: the claim is lost, or seems to be.
func (k *worker) decide(ev flow.Event, consumed string) bool {
	c := flow.Decide(k.graph(), k.run, ev, k.env())
	if c.Refused != nil {
		if consumed != "" {
			k.w.db.drop(k.run.ID, consumed)
		}
		return true
	}
	claim, _ := ev.(flow.Claim)
	if len(c.Facts) == 0 {
		if claim.Lost && flow.Owed(k.graph(), k.run) != nil {
			k.w.takes[k.run.ID]++
		}
		return true
	}
	for _, f := range c.Facts {
		if f.Kind == flow.KindTurnSettled && !k.env().Session {
			k.w.fail("%s: a prompt in another session than its own counts as news of %s", k.run.ID, f.Notice)
		}
	}
	k.yield("commit.before")
	k.w.taking = claim.Lost
	if !k.w.db.write(k.graph(), k.run, &c, k.token, k.h.clock(k.w), consumed) {
		k.w.taking = false
		k.w.count("fenced")
		return false
	}
	if k.w.chance(0.02) {
		k.w.count("lost ack")
		k.repeat(ev)
		return false
	}
	k.yield("commit.after")
	k.run, k.until = c.Next, k.h.clock(k.w)+lease
	return true
}

// repeat reads the run again and decides a result once more, as a host does
// that doesn't know whether it was stored.
func (k *worker) repeat(ev flow.Event) {
	switch ev.(type) {
	case flow.Result, flow.StepDone:
	default:
		return
	}
	k.yield("commit.unknown")
	k.run = k.w.db.load(k.run.ID)
	if k.run.Open == nil {
		return
	}
	if c := flow.Decide(k.graph(), k.run, ev, k.env()); c.Refused == nil && len(c.Facts) > 0 {
		k.w.db.write(k.graph(), k.run, &c, k.token, k.h.clock(k.w), "")
	}
}

// signals carries out what others left.
func (k *worker) signals() bool {
	for _, s := range k.w.db.signalsOf(k.run.ID) {
		if !k.decide(s.ev, s.id) {
			return false
		}
	}
	return true
}

// effect carries out what is owed; false: give the run up.
func (k *worker) effect(e *flow.Effect) (flow.Event, bool) {
	k.yield("effect.before")
	if k.w.poisoned(e) {
		k.w.doomed = k.h
		for {
			k.yield("effect.ends the host")
		}
	}
	out := func(json string) flow.Event {
		return flow.Result{Attempt: e.Attempt, Outcome: flow.OK, Output: workflow.JSON(json)}
	}
	switch e.Kind {
	case flow.DoStart:
		return flow.Started{Input: workflow.JSON(`{}`), Title: "t"}, true
	case flow.DoRequest:
		ev := flow.Ask{Attempt: e.Attempt, Request: workflow.JSON(`{"title":"` + e.Attempt + `"}`)}
		if flow.Presents(k.graph(), k.run) {
			ev.Words = "It waits."
		}
		return ev, true
	case flow.DoPresent:
		return flow.Presentation{Text: "It has completed.", Result: workflow.JSON(`{}`)}, true
	case flow.DoDelay:
		return flow.Wait{Attempt: e.Attempt, Millis: 1 + k.w.n(90_000)}, true
	case flow.DoPrepare:
		return flow.Prepared{Attempt: e.Attempt, PromptHash: e.Attempt}, true
	case flow.DoAction:
		return k.act(e)
	case flow.DoStep:
		return k.step(e)
	}
	switch e.Node.NodeType {
	case workflow.TypeNotify:
		return out(`"news of ` + e.Attempt + `"`), true
	case workflow.TypeExit:
		return out(`{"exit":"out","output":{}}`), true
	}
	return out(`{}`), true
}

// act has an effect on the world, once.
func (k *worker) act(e *flow.Effect) (flow.Event, bool) {
	if !k.w.db.renew(k.run.ID, k.token, k.h.clock(k.w)) {
		return nil, false
	}
	k.until = k.h.clock(k.w) + lease
	k.yield("action.begins") // nothing joins the renewal and the effect
	k.w.effect(e.Attempt, e.Node)
	k.yield("action.done")
	if e.Node.Retry != nil && k.w.chance(0.4) {
		return flow.Result{Attempt: e.Attempt, Outcome: flow.FailedAttempt, Code: "exit"}, true
	}
	return flow.Result{Attempt: e.Attempt, Outcome: flow.OK, Output: workflow.JSON(`{}`)}, true
}

// place finds the session of a step. A child session is opened when it is
// wanted; nil and true: another host has it.
func (k *worker) place(e *flow.Effect) (o *owned, taken bool) {
	if e.Node.Assistant() || k.run.Open.There || k.w.off == "YieldAnywhere" && k.h.live[k.run.Session] != nil {
		return k.h.live[k.run.Session], false
	}
	s := k.w.child(k.run.ID)
	if o := k.h.live[s.id]; o != nil {
		return o, false
	}
	if s.owner == nil {
		k.w.open(s, k.h)
	}
	return nil, true
}

// step has an agent step carried out in its session, as package runner does.
func (k *worker) step(e *flow.Effect) (flow.Event, bool) {
	o, taken := k.place(e)
	for n := 0; taken && n < 20; n++ {
		k.yield("step.opening")
		if !k.keep() {
			return nil, false
		}
		o, taken = k.place(e)
	}
	switch {
	case taken:
		return nil, false // tried again at the next claim
	case o == nil && k.w.off == "AssistantAnywhere":
		k.w.fail("assistant attempt %s was answered where nobody sees it", e.Attempt)
	case o == nil && k.w.off == "YieldAnywhere":
		k.w.fail("attempt %s waits for the user in %s, and goes on elsewhere", e.Attempt, k.run.Session)
	}
	if o == nil {
		return flow.Unseen{Attempt: e.Attempt}, true
	}
	s := runner.Step{Run: k.run.ID, Workflow: k.graph().Name, Node: e.Node.ID, Attempt: e.Attempt, Session: k.run.Session, Prompt: "Do it.",
		Completion: "submit", MaxChars: k.run.Open.MaxChars, Resumes: k.run.Open.Resumes, There: k.run.Open.There}
	if e.Node.Assistant() {
		s.Completion = "assistant"
	}
	k.w.carried(e.Attempt, o.s)
	if k.w.off == "host.DeadlineFirst" && k.run.Open.Deadline > 0 && k.h.clock(k.w) >= k.run.Open.Deadline {
		return flow.Fire{}, true
	}
	token := o.token
	if o.s.child {
		token = 0
	}
	for o.busy {
		k.yield("step.looks")
	}
	if o.gone {
		return nil, false
	}
	open := k.h.attempts[e.Attempt] != nil
	if st := hosts.Glance(s, o.actor.State, open, token); st.State == flow.StepSettled {
		return flow.StepDone{Attempt: e.Attempt, Outcome: st}, true
	}
	f, caller := k.h.join(k.w, o, token, s)
	k.w.carried(e.Attempt, f.o.s)
	defer k.h.leave(e.Attempt, f, caller)
	return k.await(e, f, caller)
}

// await waits for an open attempt's end, and meanwhile for the deadline and for people.
func (k *worker) await(e *flow.Effect, f *openAttempt, caller *hosts.Caller) (flow.Event, bool) {
	var wish *sig
	for !f.done {
		k.yield("step.waiting")
		if !k.keep() {
			return nil, false
		}
		if ask := f.ask; ask != nil && f.callers.Newest(caller) {
			ev := flow.Event(flow.Spoke{Attempt: e.Attempt})
			if ask.waits {
				ev = flow.Yielded{Attempt: e.Attempt}
			}
			ask.ok = k.decide(ev, "")
			ask.done = true
			if !ask.ok {
				return nil, false
			}
		}
		if d := k.run.Open.Deadline; d > 0 && k.h.clock(k.w) >= d {
			f.end(caller, "timeout")
		}
		var ok bool
		if wish, ok = k.wishes(f, caller, wish); !ok {
			return nil, false
		}
		if k.run.Status != flow.Running || k.run.Open == nil || k.run.Open.ID != e.Attempt {
			return nil, true // what is owed is something else now
		}
	}
	if f.err != nil {
		return nil, false
	}
	done := flow.StepDone{Attempt: e.Attempt, Outcome: f.out}
	if wish == nil {
		return done, true
	}
	if f.out.Stop == "aborted" && f.out.Output == nil {
		return nil, k.decide(wish.ev, wish.id)
	}
	return nil, k.decide(done, "") && k.decide(wish.ev, wish.id)
}

// wishes takes what others left for the run. A step is told of a cancel or an
// escape, and its outcome decides.
func (k *worker) wishes(f *openAttempt, caller *hosts.Caller, wish *sig) (*sig, bool) {
	for _, s := range k.w.db.signalsOf(k.run.ID) {
		if wish != nil && wish.id == s.id {
			continue
		}
		cause := ""
		switch s.ev.(type) {
		case flow.Cancel:
			cause = "cancel"
		case flow.Escape:
			cause = "escape"
		}
		if cause == "" || wish != nil {
			if !k.decide(s.ev, s.id) {
				return wish, false
			}
			continue
		}
		wish = &s
		if cause == "escape" {
			f.end(nil, cause)
		}
		f.end(caller, cause)
	}
	return wish, true
}
