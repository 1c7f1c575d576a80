package runs

import (
	"fmt"
	"slices"
	"time"

	"github.com/gamma-harness/gamma/internal/agent"
	hosts "github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// sessionDir is a session's directory.
type sessionDir struct {
	id       string
	child    bool // of a run: only submit steps are carried out in it
	segments []*segment
	token    int64  // of the newest owner
	owner    *owned // nil: dormant
}

// owned is a session that is live on a host: its owner's memory.
type owned struct {
	w       *world
	s       *sessionDir
	host    *host
	token   int64
	segment *segment
	yield   pause

	actor   *agent.Actor
	busy    bool // an event is being carried out
	gone    bool // it has ended
	changes int  // runs that have begun or settled
	effects []*running
	mail    []*letter
	idle    int // of a child session: how long nobody wanted it
}

// letter is an event for the session, with the answer to it.
type letter struct {
	ev    session.Event
	reply session.Reply
	err   error
	done  bool
}

// running is something that the actor has started.
type running struct {
	session.Effect
	ready     int64 // when it ends, or takes its effect
	cancelled bool
	done      bool // a tool had its effect
	out       session.Output
}

// maybe is a place where the owner can be killed, but not in every history.
func (o *owned) maybe(point string) {
	if o.w.staged || o.w.chance(0.15) {
		o.yield(point)
	}
}

// open makes a session live on a host, under a new token.
func (w *world) open(s *sessionDir, h *host) *owned {
	o := &owned{w: w, s: s, host: h}
	s.owner = o
	h.pros = append(h.pros, spawn(s.id+"@"+h.name, func(y pause) {
		o.yield = y
		defer o.end()
		o.act(w)
	}))
	return o
}

// end is what remains of an owner: nothing.
func (o *owned) end() {
	o.gone = true
	if o.host.live[o.s.id] == o {
		delete(o.host.live, o.s.id)
	}
	if o.s.owner == o {
		o.s.owner = nil
	}
	for _, l := range o.mail {
		l.err, l.done = fmt.Errorf("session %s has ended", o.s.id), true
	}
}

// act is the life of an owner. The order of its beginning: the lease, the token
// in the database, the segment on disk with the seal of the one before it, the
// actor, and only then is it known to the workers. With the token behind the
// seal, an owner that lost its lease could still have something recorded that
// it wrote behind the seal.
func (o *owned) act(w *world) {
	o.yield("open.locked")
	o.s.token++
	o.token = o.s.token
	o.segment = &segment{token: o.token, host: o.host}
	o.s.segments = append(o.s.segments, o.segment)
	w.logf("%s is opened on %s, token %d", o.s.id, o.host.name, o.token)
	o.maybe("open.segment-created")
	late := w.off == "session.SealedFirst"
	if !late && !o.owns() {
		return
	}
	state, err := o.take(w)
	if err != nil {
		w.fail("%s: %v", o.s.id, err)
		return
	}
	o.maybe("open.written")
	if late && !o.owns() {
		return
	}
	o.actor = &agent.Actor{State: state, Store: o, Effects: o, Publish: o.publish, Env: o.env}
	over, strays := o.strays(state)
	if !o.handle(&letter{ev: session.Wake{Over: strays}}) {
		return
	}
	o.closed(over)
	if o.token == o.s.token {
		o.host.live[o.s.id] = o
	}
	for {
		o.yield("actor.idle")
		if o.token != o.s.token || o.s.child && o.unwanted() {
			return
		}
		if !o.work() {
			return
		}
	}
}

// owns stores the token; false: another owner was faster.
func (o *owned) owns() bool {
	if o.s.child {
		return true
	}
	defer o.maybe("open.owned")
	return o.w.db.own(o.s.id, o.token)
}

// unwanted reports whether nobody has wanted a child session for a while.
func (o *owned) unwanted() bool {
	o.idle++
	for _, f := range o.host.attempts {
		if f.o == o && !f.done {
			o.idle = 0
		}
	}
	return o.idle > 5 && len(o.mail) == 0
}

// work lets the actor do one thing; false: it has stopped.
func (o *owned) work() bool {
	if n := len(o.mail); n > 0 {
		batch := o.mail[:1+o.w.n(int64(n))]
		o.mail = o.mail[len(batch):]
		return o.handle(batch...)
	}
	if e := o.next(); e != nil {
		return o.progress(e)
	}
	return o.deliver()
}

// handle hands letters to the actor; false: it has stopped.
func (o *owned) handle(batch ...*letter) bool {
	var events []session.Event
	for _, l := range batch {
		events = append(events, l.ev)
	}
	o.busy = true
	replies, err := o.actor.Handle(events...)
	o.busy = false
	for i, l := range batch {
		l.done, l.err = true, err
		if err == nil {
			l.reply = replies[i]
		}
	}
	o.maybe("actor.handled")
	return err == nil
}

// post hands the session an event without waiting for the answer.
func (o *owned) post(ev session.Event) *letter {
	l := &letter{ev: ev}
	if o.gone {
		l.err, l.done = fmt.Errorf("session %s has ended", o.s.id), true
		return l
	}
	o.mail = append(o.mail, l)
	return l
}

func (o *owned) publish(us []session.Update) {
	for _, u := range us {
		if u.Type == session.AgentStart || u.Type == session.AgentSettled {
			o.changes++
		}
	}
}

// time is the host's own time.
func (h *host) time(w *world) time.Time { return time.UnixMilli(h.clock(w)).UTC() }

func (o *owned) env() session.Env {
	env := o.w.env
	env.Now = o.host.time(o.w)
	return env
}

// Start implements agent.Effects.
func (o *owned) Start(e session.Effect, _ *session.State, _ session.Env) {
	r := &running{Effect: e, ready: o.w.now + o.w.modelTime()}
	switch e.Kind {
	case session.Wait:
		r.ready = e.At.UnixMilli() - o.host.skew
	case session.RunTool:
		r.ready = o.w.now + 1 + o.w.n(3000)
	}
	o.effects = append(o.effects, r)
}

// Cancel implements agent.Effects.
func (o *owned) Cancel(key string) {
	for _, r := range o.effects {
		if r.Key == key {
			r.cancelled = true
		}
	}
}

// next is an effect that gets on now, nil if none does.
func (o *owned) next() *running {
	o.effects = slices.DeleteFunc(o.effects, func(r *running) bool { return r.cancelled && r.Kind != session.RunTool })
	for _, r := range o.effects {
		if r.ready <= o.w.now || r.cancelled {
			return r
		}
	}
	return nil
}

// progress lets an effect get on. A tool takes effect first and reports later.
func (o *owned) progress(r *running) bool {
	if r.Kind == session.RunTool && !r.done && !r.cancelled {
		r.done = true
		r.out = o.tool(r.Tool)
		r.ready = o.w.now + o.w.n(2000)
		return true
	}
	o.effects = slices.DeleteFunc(o.effects, func(x *running) bool { return x == r })
	o.actor.Done(r.Key)
	var ev session.Event = session.Tick{}
	switch r.Kind {
	case session.CallModel:
		ev = o.answer(r.Request)
	case session.RunTool:
		if !r.done {
			r.out = session.Output{Outcome: transcript.OutcomeError, Text: "cancelled"}
		}
		ev = session.ToolDone{Call: r.Tool.ID, Epoch: int(o.token), Output: r.out}
	case session.Compact:
		ev = session.Compacted{Request: r.Request, Failed: transcript.CompactAborted, Detail: "not simulated"}
	}
	return o.handle(&letter{ev: ev})
}

// deliver takes a row of the outbox into the session; false: it has stopped.
func (o *owned) deliver() bool {
	w := o.w
	for _, n := range w.db.outbox {
		if n.session != o.s.id || n.delivered {
			continue
		}
		l := &letter{ev: w.tells(n)}
		if w.off == "session.DeliveredTwice" {
			t := l.ev.(session.Tells)
			t.ID = fmt.Sprintf("%s again %d", t.ID, w.now)
			l.ev = t
		}
		if !o.handle(l) {
			return false
		}
		if l.reply.Err != nil && l.reply.Err.Code != "superseded" {
			w.fail("%s can't be told: %v", n.ID, l.reply.Err)
		}
		o.yield("deliver.written")
		if w.db.sessions[o.s.id] == o.token || w.off == "store.DeliveryUnfenced" {
			n.delivered = true
			w.logf("%s is delivered by token %d, %v", n.ID, o.token, l.reply)
		}
		o.maybe("deliver.marked")
		return true
	}
	return true
}

// tells is what the session is told of an outbox row.
func (w *world) tells(n *note) session.Tells {
	t, err := hosts.Told(store.Note{Notice: n.Notice, Run: n.run, Session: n.session, Workflow: w.graphs[n.run].Name, Created: n.at})
	if err != nil {
		w.fail("%s: %v", n.ID, err)
	}
	return t
}
