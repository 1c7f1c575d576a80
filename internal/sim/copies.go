package sim

import (
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// copies makes a copy of the session that nobody owns, as package disk does,
// sometimes one that goes on at an earlier place, and lets an owner open it.
// Nothing of a workflow's step goes on there. The copy is dropped then.
func (w *world) copies() {
	entries, err := w.disk.read(w.disk.newest())
	if err != nil {
		return // a mutant of the disk
	}
	w.step("a copy is made")
	w.goesBack(entries)
	header := transcript.Session{}
	for i, e := range entries {
		if b, ok := e.Body.(*transcript.Session); ok {
			header = *b
			header.Session, header.Forked = "s2", &transcript.Fork{Session: "s1", Entry: entries[len(entries)-1].ID}
			entries[i].Body = &header
		}
	}
	entries = w.elsewhere(entries)
	s, err := session.Fold(w.opened(entries, transcript.OpenStart))
	if err != nil {
		w.violated("copy: %w", err)
	}
	step := s.Run != nil && s.Run.Step != nil
	c := session.Decide(s, session.Wake{}, w.environment())
	if step {
		w.totals.Cases["a step is copied"]++
		w.closedIn(c.Entries)
	}
	if r := c.Next.Run; r != nil && r.Step != nil {
		w.violated("copy: step %s goes on", r.Step.Attempt)
	}
	if open := c.Next.OpenSteps(); len(open) > 0 {
		w.violated("copy: it has something to do for step %s", open[0].Attempt)
	}
}

// goesBack looks what would be if somebody went back to earlier places: no prompt
// of a step waits beside its run that goes on.
func (w *world) goesBack(entries []transcript.Entry) {
	for _, e := range entries {
		if _, begins := e.Body.(*transcript.Deliver); !begins {
			continue
		}
		moved := w.opened(entries[:len(entries):len(entries)], transcript.OpenDeposit)
		r, err := session.PlanRewind(moved, e.ID, "rewind", w.now)
		if err != nil {
			continue // it is no place to go back to
		}
		s, err := session.Fold(append(moved, r.Leaf))
		if err != nil {
			w.violated("rewind to %s: %w", e.ID, err)
		}
		for _, q := range s.Queue {
			if s.Run != nil && s.Run.Step != nil && q.Step != nil && q.Step.Attempt == s.Run.Step.Attempt {
				w.violated("rewind to %s: prompt %s waits beside the run of its attempt", e.ID, q.ID)
			}
		}
	}
}

// closedIn checks that the first run that settles is the one that was open.
func (w *world) closedIn(entries []transcript.Entry) {
	for _, e := range entries {
		switch b := e.Body.(type) {
		case *transcript.Settled:
			if b.Attempt == "" {
				w.violated("copy: what was closed names no attempt")
			}
			return
		case *transcript.Result:
		default:
			w.violated("copy: a %s before the step is closed", e.Kind())
		}
	}
	w.violated("copy: the step isn't closed")
}

// opened appends an owner's first entry.
func (w *world) opened(entries []transcript.Entry, why transcript.OpenWhy) []transcript.Entry {
	last := entries[len(entries)-1].ID
	return append(entries, transcript.Entry{ID: transcript.ID{Epoch: last.Epoch + 1, Seq: last.Seq + 1}, Time: w.now, V: transcript.Version,
		Body: &transcript.Open{Segment: last.Epoch + 1, Why: why}})
}

// elsewhere moves a copy to an earlier place now and then, if it may stand there.
func (w *world) elsewhere(entries []transcript.Entry) []transcript.Entry {
	to := entries[w.rng.IntN(len(entries))]
	if !w.roll(0.4) || !to.IsNode() {
		return entries
	}
	moved := w.opened(entries[:len(entries):len(entries)], transcript.OpenDeposit)
	r, err := session.PlanRewind(moved, to.ID, "fork", w.now)
	if err != nil {
		return entries // calls are open there
	}
	w.totals.Cases["a copy goes on elsewhere"]++
	return append(moved, r.Leaf)
}
