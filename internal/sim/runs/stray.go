package runs

import (
	"maps"
	"slices"

	hosts "github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// named is the session's id as package host knows it.
func (s *sessionDir) named(run string) string {
	if s.child {
		return hosts.ChildID(run)
	}
	return s.id
}

// waitsFor reports whether a run, as it is stored, waits for an attempt.
func (w *world) waitsFor(st transcript.Step) bool {
	r := w.db.rows[st.Run]
	return r != nil && !r.Status.Ended() && r.Open != nil && r.Open.ID == st.Attempt
}

// strays says which open steps are over when an owner has opened the session:
// by what is stored, and by what package host makes of it.
func (o *owned) strays(state *session.State) (over []string, out []session.Aborts) {
	for _, st := range state.OpenSteps() {
		if !o.w.waitsFor(st) {
			over = append(over, st.Attempt)
		}
		if ev, ok := hosts.Stray(o.s.named(st.Run), o.w.db.load(st.Run), st); ok {
			out = append(out, ev)
		}
	}
	return over, out
}

// closed checks that steps that are over have ended in the session.
func (o *owned) closed(over []string) {
	r := o.actor.State.Run
	for _, st := range o.actor.State.OpenSteps() {
		if r != nil && r.Abort != nil && r.Step != nil && r.Step.Attempt == st.Attempt {
			continue // its tools are being stopped
		}
		if a := o.actor.State.Attempt(st.Attempt); a.Answer != (transcript.ID{}) && !a.Answered {
			continue // it has its answer, and a person's words behind that go on with its run
		}
		if slices.Contains(over, st.Attempt) {
			o.w.fail("%s goes on with attempt %s, for which its run doesn't wait", o.s.id, st.Attempt)
		}
	}
	if len(over) > 0 {
		o.w.count("stray step")
	}
}

// leftOver ends in the live sessions of the host what is left of a run's steps
// after its claim was lost here, as package host does.
func (k *worker) leftOver(id string) {
	run := k.w.db.load(id)
	for _, s := range slices.Sorted(maps.Keys(k.h.live)) {
		o := k.h.live[s]
		if o == nil || o.busy || o.gone {
			continue
		}
		open := o.actor.State.OpenSteps()
		var over []string
		for _, st := range open {
			if st.Run == id && !k.w.waitsFor(st) {
				over = append(over, st.Attempt)
			}
		}
		events := hosts.Leftovers(o.s.named(id), run, open)
		for _, ev := range events {
			k.ends(o, ev)
		}
		if len(over) > 0 && !o.gone && !o.busy {
			k.w.count("left over")
			o.closed(over)
		}
	}
}

// ends has a session end an attempt. One that has its answer settles with it.
func (k *worker) ends(o *owned, ev session.Aborts) {
	l := o.post(ev)
	for !l.done {
		k.yield("left.ends")
	}
	if l.err != nil || l.reply.Err == nil || l.reply.Err.Code != "answered" {
		return
	}
	for l = o.post(session.Resumes{By: ev.By, Attempt: ev.Attempt}); !l.done; {
		k.yield("left.settles")
	}
}
