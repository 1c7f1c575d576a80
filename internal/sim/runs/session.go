package runs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gamma-harness/gamma/internal/flow"
)

// entry is a line of a session's transcript.
type entry struct {
	kind    string // prompt, yield, spoke, answer, aborted, settled, note
	attempt string
	text    string // of an answer; of a note its id
	cause   string // of aborted
}

// session is a session's directory.
type session struct {
	id      string
	token   int64 // of the newest owner
	entries []entry
	owner   *owned // nil: dormant
}

// owned is a session that is live on a host: its actor's memory.
type owned struct {
	s     *session
	host  *host
	token int64
	turns map[string]*turn // by attempt, while it runs
}

// turn is a step that the actor is carrying out.
type turn struct {
	attempt string
	abort   string // why it shall end
	done    bool
	out     flow.StepOutcome
	lost    bool // the session is another owner's
	waits   bool // for the user to speak
	submit  bool
}

// append writes an entry into the owner's segment. If another owner has the
// session, nobody reads it there, and this owner doesn't notice at once.
func (o *owned) append(w *world, e entry) {
	if o.token != o.s.token && w.off != "session.SegmentUnfenced" {
		return
	}
	o.s.entries = append(o.s.entries, e)
	w.logf("%s: %s %s %q", o.s.id, e.kind, e.attempt, e.text)
}

// state is what the branch has of an attempt.
func (s *session) state(w *world, attempt string) flow.StepOutcome {
	out := flow.StepOutcome{State: flow.StepAbsent}
	for _, e := range s.entries {
		if e.attempt != attempt {
			continue
		}
		switch e.kind {
		case "prompt":
			if out.State == flow.StepAbsent {
				out.State = flow.StepPrompted
			}
		case "answer":
			if w.off != "session.AnswerForgotten" {
				out.State, out.Text, out.Stop = flow.StepAnswered, e.text, "ok"
			}
		case "aborted":
			// what ended for good stays ended: a worker whose claim is lost
			// may still ask for it
			if e.cause != "escape" && e.cause != "park" && w.off != "session.EndForgotten" {
				out.State, out.Stop, out.Cause = flow.StepSettled, "aborted", e.cause
				if e.cause == "error" {
					out.Stop, out.Cause = "error", ""
				}
			}
		case "settled":
			if out.State == flow.StepAnswered {
				out.State = flow.StepSettled
			}
		}
	}
	return out
}

// act is the actor of a live session: its turns, and what the outbox has.
func (o *owned) act(w *world, yield pause) {
	for {
		yield("actor.idle")
		if o.token != o.s.token {
			for _, t := range o.turns {
				t.lost, t.done = true, true
			}
			return // another owner: stop
		}
		o.deliver(w, yield)
		for _, t := range sortedTurns(o.turns) {
			if !t.done {
				o.turn(w, t, yield)
				delete(o.turns, t.attempt)
			}
		}
	}
}

// turn carries a step out: prompt, model, answer, settled.
func (o *owned) turn(w *world, t *turn, yield pause) {
	end := func(out flow.StepOutcome) {
		out.SessionToken = o.token
		t.out, t.done = out, true
	}
	st := o.s.state(w, t.attempt)
	if st.State == flow.StepSettled {
		end(st)
		return
	}
	if st.State == flow.StepAbsent {
		yield("turn.before-prompt")
		o.append(w, entry{kind: "prompt", attempt: t.attempt})
	}
	if t.submit && st.State != flow.StepAnswered && !o.asks(w, t, yield) {
		end(flow.StepOutcome{State: flow.StepSettled, Stop: "aborted", Cause: t.abort})
		return
	}
	if st.State != flow.StepAnswered {
		until := w.now + w.modelTime()
		for w.now < until {
			yield("turn.streaming")
			if t.abort != "" {
				o.append(w, entry{kind: "aborted", attempt: t.attempt, cause: t.abort})
				end(flow.StepOutcome{State: flow.StepSettled, Stop: "aborted", Cause: t.abort})
				return
			}
		}
		if !t.submit && w.chance(0.05) {
			o.append(w, entry{kind: "aborted", attempt: t.attempt, cause: "error"})
			end(flow.StepOutcome{State: flow.StepSettled, Stop: "error"})
			return
		}
		w.answers++
		st.Text = fmt.Sprintf("%s says %d", t.attempt, w.answers)
		o.append(w, entry{kind: "answer", attempt: t.attempt, text: st.Text})
		yield("turn.answered")
	}
	o.append(w, entry{kind: "settled", attempt: t.attempt})
	yield("turn.settled")
	out := flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: st.Text}
	if t.submit {
		out.Output = []byte(`{"ok":true}`)
	}
	end(out)
}

// asks has a submit step wait for the user now and then, and always if it did
// before; false: it was aborted meanwhile.
func (o *owned) asks(w *world, t *turn, yield pause) bool {
	waits, spoke := false, false
	for _, e := range o.s.entries {
		if e.attempt == t.attempt {
			waits = waits || e.kind == "yield"
			spoke = spoke || e.kind == "spoke"
		}
	}
	if spoke || !waits && !w.chance(0.4) {
		return true
	}
	if !waits {
		o.append(w, entry{kind: "yield", attempt: t.attempt})
		w.count("yield")
	}
	t.waits = true
	for until := w.now + 2*w.modelTime(); w.now < until; {
		yield("turn.waits-for-user")
		if t.abort != "" {
			t.waits = false
			o.append(w, entry{kind: "aborted", attempt: t.attempt, cause: t.abort})
			return false
		}
	}
	o.append(w, entry{kind: "spoke", attempt: t.attempt})
	t.waits = false
	return true
}

// deliver takes the outbox's rows into the session.
func (o *owned) deliver(w *world, yield pause) {
	for _, n := range w.db.outbox {
		if n.session != o.s.id || n.delivered {
			continue
		}
		known := false
		for _, e := range o.s.entries {
			known = known || e.kind == "note" && e.text == n.ID
		}
		if !known || w.off == "session.DeliveredTwice" {
			o.append(w, entry{kind: "note", text: n.ID})
		}
		yield("deliver.written")
		if w.db.sessions[o.s.id] == o.token {
			n.delivered = true
		}
		yield("deliver.marked")
		return
	}
}

// sortedTurns are the turns in the order of their attempts, so that a seed
// decides the history.
func sortedTurns(m map[string]*turn) []*turn {
	var out []*turn
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[key])
	}
	return out
}

// begun reports whether a session has anything of an attempt.
func (w *world) begun(id, attempt string) bool {
	for _, s := range w.sessions {
		if s.id == id && s.state(w, attempt).State != flow.StepAbsent {
			return true
		}
	}
	return false
}
