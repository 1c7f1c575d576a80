package session

import (
	"github.com/gamma-harness/gamma/internal/transcript"
)

// A repair can join what stands on both sides of lost nodes (transcript.Gap).
// The fold crosses such a gap with what is certain: calls whose results are
// lost are closed as unknown, so that every request stays paired; a run whose
// end is lost has ended; a run whose beginning is lost is taken up at its
// first node; and a note tells the model. What answers a call that is lost
// itself has no effect but for the task list.
//
// The crossing ends at the first node that needs nothing before it but a run:
// facts, a delivery, a request, an answer, a failure or a settle. Until then
// it can't be known what ran, and nothing may go on from there: a repair
// leaves no leaf inside a crossing.

// crossing is a gap that the fold is in.
type crossing struct {
	on       bool
	run      transcript.ID   // that the node behind the gap belongs to, if it is known
	arrivals []transcript.ID // to be shown in it
	silent   bool            // nothing that the model has seen is missing
}

// InGap reports whether the leaf lies where it can't be known what ran.
func (s *State) InGap() bool { return s.gap.on }

// gapsOf returns the gaps that repairs of the log name, by the node behind
// each, and the number of the repair.
func gapsOf(entries []transcript.Entry) map[transcript.ID]gap {
	var out map[transcript.ID]gap
	for i := range entries {
		o, ok := entries[i].Body.(*transcript.Open)
		if !ok || o.Repair == nil {
			continue
		}
		for _, g := range o.Repair.Gaps {
			if out == nil {
				out = map[transcript.ID]gap{}
			}
			out[g.Node] = gap{g, entries[i].ID.Seq}
		}
	}
	return out
}

type gap struct {
	transcript.Gap
	by int // number of the repair's open entry
}

// parentOf is the node before e on its branch.
func parentOf(gaps map[transcript.ID]gap, e transcript.Entry) transcript.ID {
	if g, ok := gaps[e.ID]; ok {
		return g.After
	}
	return e.Parent
}

// bridge makes the state fit the node e behind a gap. skip: e has no effect.
func (s *State) bridge(e transcript.Entry) (skip bool) {
	if g, ok := s.gaps[e.ID]; ok {
		s.gap = crossing{on: true, run: g.Run, arrivals: g.Arrivals, silent: s.ofOpenCall(e.Body)}
		s.gapBy = max(s.gapBy, g.by)
	}
	if !s.gap.on {
		return false
	}
	switch b := e.Body.(type) {
	case *transcript.Facts:
		s.land(e, transcript.ID{}, false)
	case *transcript.Deliver:
		s.land(e, b.Run, !b.Run.IsZero())
	case *transcript.Request:
		s.land(e, s.gap.run, true)
	case *transcript.Answer:
		s.land(e, s.gap.run, true)
		s.Req = b.Request
	case *transcript.Fail:
		s.land(e, s.gap.run, true)
		s.Req = b.Request
	case *transcript.Settled:
		s.land(e, b.Run, true)
		if b.Reason == transcript.Aborted && s.Run.Abort == nil {
			s.Run.Abort = &Stopping{ID: e.ID, At: e.Time}
		}
	case *transcript.Resume:
		s.takeUp(e, b.Run)
	case *transcript.Abort:
		s.takeUp(e, s.gap.run)
	case *transcript.Ask, *transcript.Approval, *transcript.Intent, *transcript.Result:
		return s.stray(b)
	}
	return false
}

// stray reports whether b is about a call, or an ask, that is lost. Of a result
// the task list counts all the same: it is whole.
func (s *State) stray(b transcript.Body) bool {
	if a, ok := b.(*transcript.Approval); ok && s.ofOpenCall(b) {
		return s.call(a.Call).Ask == nil
	}
	if s.ofOpenCall(b) {
		return false
	}
	if r, ok := b.(*transcript.Result); ok && r.Tasks != nil {
		s.Tasks = *r.Tasks
	}
	return true
}

// ofOpenCall reports whether b is about a call that is open.
func (s *State) ofOpenCall(b transcript.Body) bool {
	id := ""
	switch b := b.(type) {
	case *transcript.Ask:
		id = b.Call
	case *transcript.Approval:
		id = b.Call
	case *transcript.Intent:
		id = b.Call
	case *transcript.Result:
		id = b.Call
	}
	for _, c := range s.Calls {
		if c.ID == id && c.Open() && s.Run != nil {
			return true
		}
	}
	return false
}

// land ends the crossing before e, which belongs to a run, or begins one.
func (s *State) land(e transcript.Entry, run transcript.ID, inside bool) {
	g := s.gap
	s.gap = crossing{}
	for i := range s.Calls {
		if s.Run != nil && s.Calls[i].Open() {
			s.applyResult(e.ID, &transcript.Result{Call: s.Calls[i].ID, Output: transcript.Output{Outcome: transcript.OutcomeUnknown, Text: transcript.LostResult}})
		}
	}
	if inside {
		s.takeUp(e, run)
		s.Turn = ModelsTurn
	} else {
		s.leaveRun()
	}
	s.Req = transcript.ID{}
	if !g.silent {
		s.show(e.ID, transcript.GapNote(s.Header.Mark))
	}
	for _, a := range s.take(g.arrivals) {
		if s.lost[a.ID] {
			continue
		}
		if a.Step != nil {
			s.promptedInGap(e.ID, a.ID, a.Step)
		}
		s.show(e.ID, transcript.ArrivalMessages(&a.Arrive, s.Header.Mark)...)
	}
}

// takeUp makes the run with this id the present one. A zero id is that of the
// run that is there; else its first delivery is lost, and e's parent stands
// for it.
func (s *State) takeUp(e transcript.Entry, id transcript.ID) {
	switch {
	case id.IsZero() && s.Run != nil:
		id = s.Run.ID
	case id.IsZero():
		id = e.Parent
	}
	if s.Run != nil && s.Run.ID != id {
		s.leaveRun()
	}
	if s.Run == nil {
		s.Run = &Run{ID: id, Since: e.Time}
		s.Hold, s.Fails, s.LastFail = Hold{}, 0, nil
	}
	s.Run.Epoch = max(s.Run.Epoch, e.ID.Epoch)
}

// promptedInGap: the delivery of a step's prompt is lost. The run behind the gap
// is the step's, or the step's run is lost as a whole.
func (s *State) promptedInGap(node, prompt transcript.ID, step *transcript.Step) {
	s.steps.prompted(*step, prompt, node)
	if s.Run != nil {
		s.Run.Step = step
		return
	}
	s.stepLost(&Run{Step: step, Reason: transcript.Interrupted, Detail: "its run is lost"})
}

// leaveRun ends a run whose settle is lost.
func (s *State) leaveRun() {
	if s.Run == nil {
		return
	}
	s.Run.Reason, s.Run.Detail = transcript.Interrupted, "its end is lost"
	s.stepLost(s.Run)
	s.Last, s.Run, s.Req, s.InTurn = s.Run, nil, transcript.ID{}, false
}
