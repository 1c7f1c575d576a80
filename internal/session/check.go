package session

import (
	"github.com/gamma-harness/gamma/internal/transcript"
)

// check refuses an entry that contradicts the ones before it. Decide never
// makes such an entry: it comes from a changed or forged log, and a fold over
// it would pair calls and results wrongly in every later request.
func (s *State) check(e transcript.Entry) {
	if reason := s.contradiction(e); reason != "" {
		panic(broken(reason))
	}
}

// contradiction says why the entry can't stand here, or returns "".
func (s *State) contradiction(e transcript.Entry) string {
	switch b := e.Body.(type) {
	case *transcript.Deliver:
		return s.deliverFault(e.ID, b)
	case *transcript.Compact:
		return s.compactFault(b)
	case *transcript.CompactFailed:
		if b.Request.IsZero() {
			return s.inFlight(e.ID)
		}
		return s.otherRequest(b.Request)
	case *transcript.Request:
		if s.Run == nil && b.For != forCompaction {
			return "there is no run"
		}
	case *transcript.Fail:
		if s.Run == nil && b.For != forCompaction {
			return "there is no run"
		}
	case *transcript.Resume, *transcript.Answer,
		*transcript.Ask, *transcript.Approval, *transcript.Intent, *transcript.Result, *transcript.Abort, *transcript.Settled:
		if s.Run == nil {
			return "there is no run"
		}
	}
	switch b := e.Body.(type) {
	case *transcript.Resume:
		return s.otherRun(b.Run)
	case *transcript.Request:
		if s.open() > 0 {
			return "calls before it have no result"
		}
		if (b.For == forCompaction) != (b.Compaction != nil) {
			return "a request of a compaction says what it compacts, and no other does"
		}
		if b.Compaction != nil && (b.Compaction.Pin < 1 || s.cutOf(b.Compaction) < s.Mem.Block) {
			return "its compaction can't be carried out"
		}
		return s.inFlight(e.ID)
	case *transcript.Answer:
		return s.otherRequest(b.Request)
	case *transcript.Fail:
		return s.otherRequest(b.Request)
	case *transcript.Intent:
		if c := s.call(b.Call); c.Intent != nil || c.Result != nil {
			return "call " + b.Call + " has an intent or a result already"
		}
	case *transcript.Ask:
		if c := s.call(b.Call); c.Ask != nil || c.Intent != nil || c.Result != nil {
			return "call " + b.Call + " was asked for, started or ended already"
		}
	case *transcript.Approval:
		return s.approvalFault(b)
	case *transcript.Settled:
		if s.open() > 0 {
			return "calls before it have no result"
		}
		return s.otherRun(b.Run)
	}
	return ""
}

func (s *State) approvalFault(b *transcript.Approval) string {
	c := s.call(b.Call)
	switch {
	case c.Ask == nil || c.AskID != b.Ask:
		return "it answers ask " + quoteID(b.Ask) + ", and call " + b.Call + " has " + quoteID(c.AskID)
	case c.Ask.Digest != b.Digest:
		return "it approves other arguments than call " + b.Call + " has"
	case (c.Approval != nil || c.Intent != nil || c.Result != nil) && !mutant("AnsweredTwice"):
		return "call " + b.Call + " was answered, started or ended already"
	}
	return ""
}

func (s *State) deliverFault(id transcript.ID, b *transcript.Deliver) string {
	if st := s.stepOf(b.Arrivals); st != nil && (len(b.Arrivals) > 1 || s.Run != nil) && !mutant("StepInCompany") {
		return "the prompt of attempt " + quote(st.Attempt) + " begins a run, and alone"
	}
	switch {
	case s.Run == nil && !b.Run.IsZero():
		return "it belongs to run " + b.Run.String() + ", and there is no run"
	case s.Run == nil:
		return ""
	case s.open() > 0:
		return "calls before it have no result"
	case b.Run != s.Run.ID:
		return s.otherRun(b.Run)
	}
	return s.inFlight(id)
}

func (s *State) otherRun(id transcript.ID) string {
	if id == s.Run.ID {
		return ""
	}
	return "it belongs to run " + quoteID(id) + ", and run " + s.Run.ID.String() + " is there"
}

func (s *State) otherRequest(id transcript.ID) string {
	if id == s.Req {
		return ""
	}
	return "it answers request " + quoteID(id) + ", and " + quoteID(s.Req) + " is in flight"
}

// inFlight refuses what can't stand behind a request of the same owner that
// has no answer yet.
func (s *State) inFlight(id transcript.ID) string {
	if s.Req.IsZero() || s.Req.Epoch != id.Epoch || mutant("SteerDuringRequest") || mutant("OldRequestInFlight") {
		return ""
	}
	return "request " + s.Req.String() + " has no answer yet"
}

func quoteID(id transcript.ID) string {
	if id.IsZero() {
		return "none"
	}
	return id.String()
}
