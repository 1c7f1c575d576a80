package session

import (
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// applyApproval: a yes to a kind of calls that is asked for once is good from
// now on.
func (s *State) applyApproval(b *transcript.Approval) {
	c := s.call(b.Call)
	c.Approval = b
	if b.Choice == transcript.ApprovalAllow && c.Ask.Once != "" {
		s.Granted = cloneMap(s.Granted)
		s.Granted[c.Ask.Once] = true
	}
}

func (s *State) applyAsk(id transcript.ID, b *transcript.Ask) {
	c := s.call(b.Call)
	c.AskID, c.Ask = id, b
}

func (s *State) applyIntent(id transcript.ID, b *transcript.Intent) {
	c := s.call(b.Call)
	c.Intent, c.IntentID = b, id
}

func (s *State) applyResult(id transcript.ID, b *transcript.Result) {
	c := s.call(b.Call)
	if c.Result != nil {
		panic(broken("second result for " + b.Call))
	}
	c.Result = b
	if mutant("ResultsInLogOrder") {
		s.show(id, transcript.ResultMessage(c.ID, c.Name, b))
	}
	if c.Intent != nil && b.Outcome != transcript.OutcomeUnknown {
		s.Run.Resumes = 0 // progress: a tool ran to its end
	}
	if b.Denied != "" {
		s.Run.Denials = append(s.Run.Denials, Denial{c.ID, c.Name, b.Denied})
	}
	if b.Misfit {
		s.Run.Misfits++
	}
	s.submitted(c.Name, b)
	s.applyProtocol(b)
	if s.open() == 0 {
		s.endBatch(id)
	}
}

// applyProtocol takes the facts that a result carries.
func (s *State) applyProtocol(b *transcript.Result) {
	if b.Tasks != nil {
		s.followTasks(s.Tasks.Items, b.Tasks.Items)
		s.Tasks = *b.Tasks
	}
	s.Run.Unfinished = s.Run.Unfinished || b.Unfinished
	s.Run.Misnamed = s.Run.Misnamed || b.Misnamed
	if m := b.Message; m != nil {
		s.deviate(m.Deviations)
		if m.Block {
			s.Run.Yield = m
		}
		if m.Block && m.Reason == "complete" {
			s.closeFinished()
		}
	}
	s.activate(b.Skills)
	s.learn(b.Seen)
}

// learn takes the revisions that a result told the model. An update that
// waits to tell one of them is needless.
func (s *State) learn(seen map[string]string) {
	if len(seen) == 0 {
		return
	}
	s.Revisions = cloneMap(s.Revisions)
	for path, rev := range seen {
		s.Revisions[path] = rev
	}
	s.dropTold()
}

// endBatch puts the results of the batch into the context in source order.
func (s *State) endBatch(id transcript.ID) {
	terminate := true
	for _, c := range s.Calls {
		if !mutant("ResultsInLogOrder") {
			s.show(id, transcript.ResultMessage(c.ID, c.Name, c.Result))
		}
		terminate = terminate && c.Result.Terminate
	}
	s.InTurn = false
	s.Turn = ModelsTurn
	if s.stopped == llm.StopContent {
		s.Turn = ModelStopped // nothing to answer: the provider withheld it
		return
	}
	if terminate && !mutant("YieldGoesOn") {
		s.Turn = BatchEnded
	}
}
