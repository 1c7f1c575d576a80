package session

import "github.com/gamma-harness/gamma/internal/transcript"

// applyRecord folds a session record: it counts on all branches.
func (s *State) applyRecord(e transcript.Entry) {
	switch b := e.Body.(type) {
	case *transcript.Open:
		s.applyOpen(e.ID, b)
	case *transcript.Close:
		s.Closed = e.ID.Epoch
	case *transcript.Session:
		s.Header, s.Model = *b, b.Model
		s.activate(b.Preloaded)
	case *transcript.Label:
		s.Label = b.Text
	case *transcript.Withdraw:
		s.applyWithdraw(b)
	case *transcript.Leaf:
		s.Generation++
		s.moved = s.requested
		s.dropNeedless()
	case *transcript.Arrive:
		s.applyArrive(e, b)
	}
}

func (s *State) applyOpen(id transcript.ID, b *transcript.Open) {
	s.Epoch, s.Why = b.Segment, b.Why
	s.forget()
	s.leaveSteps(id)
	s.applyRepair(b)
}

// applyRepair: a repair takes messages out of the queue that may have been
// delivered in what is lost, and what the model sees may have changed.
func (s *State) applyRepair(o *transcript.Open) {
	r := o.Repair
	if r == nil {
		return
	}
	s.drop(r.Taken)
	if len(r.Lost) > 0 || len(r.Gaps) > 0 || r.Header.Token == o.Segment {
		s.moved = s.requested
	}
}

func (s *State) applyArrive(e transcript.Entry, b *transcript.Arrive) {
	s.Seen[b.AID] = Arrived{e.ID, arrivalDigest(b)}
	if b.Human {
		s.Spoke = e.Time
	}
	if mutant("ShownAtArrival") {
		s.show(e.ID, transcript.ArrivalMessages(b, s.Header.Mark)...)
	}
	s.enqueue(Arrival{e.ID, *b})
}
