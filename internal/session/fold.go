package session

import (
	"fmt"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// BrokenError is a log whose entries contradict each other.
type BrokenError struct {
	Entry  transcript.ID
	Kind   transcript.Kind
	Reason string
}

// Error names the entry and what is wrong.
func (b *BrokenError) Error() string {
	return fmt.Sprintf("entry %s (%s): %s", b.Entry, b.Kind, b.Reason)
}

// Fold builds the state from all entries of a session, in log order. Entries
// that contradict each other give a *BrokenError.
//
// The leaf is the newest node, or what a leaf record behind it names. Nodes
// that are not on the path to it only count for what they say about the whole
// session.
func Fold(entries []transcript.Entry) (*State, error) {
	on, astray := onPath(entries, gapsOf(entries))
	s, err := fold(newState(entries), entries, on)
	if err != nil {
		return nil, err
	}
	if astray >= 0 {
		e := entries[astray]
		return nil, &BrokenError{e.ID, e.Kind(), "it moves the branch to an entry that is no node before it"}
	}
	return s, nil
}

// newState is the state before the first entry of a log.
func newState(entries []transcript.Entry) *State {
	s := &State{Seen: map[string]Arrived{}, Tries: map[string]int{}, Branch: newBranch()}
	s.foresee(entries)
	s.gaps = gapsOf(entries)
	return s
}

// fold applies the entries to s; on marks the nodes on the path.
func fold(s *State, entries []transcript.Entry, on []bool) (_ *State, err error) {
	var at transcript.Entry
	defer func() {
		if p := recover(); p != nil {
			err = &BrokenError{at.ID, at.Kind(), fmt.Sprint(p)}
		}
	}()
	for i, e := range entries {
		at = e
		if e.IsNode() && !on[i] {
			s.applyElsewhere(e)
			continue
		}
		Apply(s, e)
	}
	return s, nil
}

// foresee takes from the log what counts from its beginning on although a
// repair may have written it later: the header, and the messages that are lost.
func (s *State) foresee(entries []transcript.Entry) {
	for i := range entries {
		switch b := entries[i].Body.(type) {
		case *transcript.Session:
			s.Header = *b
		case *transcript.Open:
			if b.Repair == nil || len(b.Repair.Lost) == 0 {
				continue
			}
			if s.lost == nil {
				s.lost = map[transcript.ID]bool{}
			}
			for _, id := range b.Repair.Lost {
				s.lost[id] = true
			}
		}
	}
}

// broken is the reason why an entry can't be applied. Entries from Decide
// never cause it; Fold turns it, and whatever else a hostile log provokes, into
// an error.
type broken string

func newBranch() Branch {
	return Branch{Revisions: map[string]string{}, Told: map[transcript.FactsPart]string{}, Granted: map[string]bool{}, Mem: newMemory()}
}

// OnBranch marks the nodes on the branch that the session stands on.
func OnBranch(entries []transcript.Entry) []bool {
	on, _ := onPath(entries, gapsOf(entries))
	return on
}

// onPath marks the nodes between the root and the leaf. The leaf is the last
// node, or where a leaf record behind it points; astray is the place of that
// record if it points nowhere, else -1.
func onPath(entries []transcript.Entry, gaps map[transcript.ID]gap) (on []bool, astray int) {
	at := make(map[transcript.ID]int, len(entries))
	leaf := -1
	astray = -1
	for i, e := range entries {
		if l, ok := e.Body.(*transcript.Leaf); ok {
			leaf, astray = -1, -1
			if j, ok := at[l.To]; ok {
				leaf = j
			} else if !l.To.IsZero() {
				astray = i
			}
		} else if e.IsNode() {
			at[e.ID] = i
			leaf, astray = i, -1
		}
	}
	return pathTo(entries, at, leaf, gaps), astray
}

// pathTo marks the nodes between the root and the one at leaf (-1: none).
func pathTo(entries []transcript.Entry, at map[transcript.ID]int, leaf int, gaps map[transcript.ID]gap) []bool {
	on := make([]bool, len(entries))
	for leaf >= 0 && !on[leaf] {
		on[leaf] = true
		next, ok := at[parentOf(gaps, entries[leaf])]
		if !ok {
			break
		}
		leaf = next
	}
	return on
}

// applyElsewhere folds a node of another branch: what it says about the whole
// session. What it takes from the queue stays taken.
func (s *State) applyElsewhere(e transcript.Entry) {
	s.Seq = e.ID.Seq
	switch b := e.Body.(type) {
	case *transcript.Deliver:
		s.drop(b.Arrivals)
	case *transcript.Request:
		s.requested, s.trying = s.requested || b.For != forCompaction, b.For
	case *transcript.Answer:
		s.tried()
	case *transcript.Fail:
		s.failed(b)
	case *transcript.Compact:
		s.endedElsewhere(b.Command, b.Asked)
	case *transcript.CompactFailed:
		s.endedElsewhere(b.Command, b.Asked)
	}
}

// Apply folds one entry into s. The live path and Fold both use it.
func Apply(s *State, e transcript.Entry) {
	s.Seq = e.ID.Seq
	if e.IsNode() && s.bridge(e) {
		s.Leaf = e.ID
		return
	}
	s.check(e)
	if !e.IsNode() {
		s.applyRecord(e)
		return
	}
	s.Leaf = e.ID
	s.remember(e)
	s.applyNode(e)
}

// applyNode folds a node of the branch.
func (s *State) applyNode(e transcript.Entry) {
	switch b := e.Body.(type) {
	case *transcript.Facts:
		s.applyFacts(e.ID, b)
	case *transcript.Deliver:
		s.applyDeliver(e, b)
	case *transcript.Resume:
		s.applyResume(e)
	case *transcript.Request:
		s.applyRequest(e.ID, b)
	case *transcript.Answer:
		s.applyAnswer(e.ID, b)
	case *transcript.Fail:
		s.applyFail(b)
	case *transcript.Ask:
		s.applyAsk(e.ID, b)
	case *transcript.Approval:
		s.applyApproval(b)
	case *transcript.Intent:
		s.applyIntent(e.ID, b)
	case *transcript.Result:
		s.applyResult(e.ID, b)
	case *transcript.Abort:
		s.applyAbort(e, b)
	case *transcript.Settled:
		s.applySettled(e.ID, b)
	case *transcript.ModelChange:
		s.applyModel(b)
	case *transcript.Compact:
		s.applyCompact(e.ID, b)
	case *transcript.CompactFailed:
		s.applyCompactFailed(b)
	}
}

func (s *State) applyFacts(id transcript.ID, f *transcript.Facts) {
	s.Told[f.Part] = f.Digest
	if f.Date != "" {
		s.Date = f.Date
	}
	from := len(s.Ctx)
	s.show(id, transcript.FactsMessages(f, s.Header.Mark)...)
	for i := range s.Ctx[from:] {
		s.Ctx[from+i].Fixed = true
	}
}

func (s *State) applyDeliver(e transcript.Entry, d *transcript.Deliver) {
	begins := s.Run == nil
	if begins {
		s.Run = &Run{ID: e.ID, Since: e.Time}
		if s.Run.Step = s.stepOf(d.Arrivals); s.Run.Step == nil {
			s.Hold = Hold{}
			s.Run.Step, s.yields = s.yields, nil
		} else if mutant("StepLiftsHold") {
			s.Hold = Hold{}
		}
		if mutant("ReplyLeavesStep") && s.stepOf(d.Arrivals) == nil {
			s.Run.Step = nil
		}
		if !mutant("FailsCarriedOver") {
			s.Fails, s.LastFail = 0, nil
		}
	}
	fresh := s.Turn == ModelStopped || s.Turn == BatchEnded || s.Run.ID == e.ID
	s.Run.Epoch, s.Run.Yield = e.ID.Epoch, nil
	s.InTurn = true
	s.Turn = ModelsTurn
	if d.Early && !mutant("EarlyNoteMissing") {
		s.show(e.ID, transcript.EarlyNote(s.Header.Mark))
	}
	arrivals := s.take(d.Arrivals)
	if s.Run.Step != nil { // a prompt among them opens a scope below
		s.stepGoesOn(e.ID)
	}
	s.said(e.ID, begins, arrivals)
	s.begins(fresh, arrivals)
	for _, a := range arrivals {
		if a.Nudge {
			s.Run.Nudges++
		}
		if a.Human && a.ID.Seq > s.Hold.Seq && !mutant("WordsInStepLeaveHold") {
			s.Hold = Hold{} // also in a step's run that goes on beside it
		}
		if a.Step != nil {
			s.steps.prompted(*a.Step, a.ID, e.ID)
		}
		if mutant("ShownAtArrival") {
			continue
		}
		if s.lost[a.ID] {
			s.show(e.ID, transcript.LostNote(s.Header.Mark))
			continue
		}
		s.show(e.ID, transcript.ArrivalMessages(&a.Arrive, s.Header.Mark)...)
		s.from(e.ID, a)
	}
}

// from notes whose words the newest message is, if they may have to be kept.
func (s *State) from(delivery transcript.ID, a Arrival) {
	it := &s.Ctx[len(s.Ctx)-1]
	if a.Human || a.Step != nil {
		it.From = a.ID
	}
	if a.Step != nil {
		it.Prompt = &Said{delivery, a.ID, a.Text, a.Step}
	}
}

// applyResume: a resume counts towards crash_loop, unless the owner under whom
// the run went on last has closed the session in order.
func (s *State) applyResume(e transcript.Entry) {
	if s.Closed != s.Run.Epoch || mutant("ClosingCounted") {
		s.Run.Resumes++
	}
	s.Run.Epoch, s.Run.Since = e.ID.Epoch, e.Time
	if mutant("AdoptedAskedAgain") && s.Turn == ModelStopped {
		s.Turn = ModelsTurn
	}
}

func (s *State) applyRequest(id transcript.ID, b *transcript.Request) {
	s.trying = b.For
	if b.For == forCompaction && !s.triesFor(b.Compaction.Command) && !mutant("FailsCarriedOver") {
		s.Fails, s.LastFail = 0, nil // those of something else
	}
	s.Req, s.Mem.Plan = id, b.Compaction
	if b.For == forCompaction {
		return
	}
	s.InTurn = true
	s.requested, s.moved, s.switched = true, false, false
	s.Prefix, s.Sent = b.Prefix, Chain{Hex: b.SHA256, Items: b.Items, Bytes: b.Bytes}
}

func (s *State) applyAnswer(id transcript.ID, a *transcript.Answer) {
	s.Req, s.Fails, s.LastFail = transcript.ID{}, 0, nil
	s.tried()
	r := s.Run
	if r.Step != nil {
		s.stepAnswered(id, a)
	}
	r.Turns++
	r.Usage, r.LastFail = r.Usage.Add(a.Usage), nil
	if !mutant("ProgressUncounted") {
		r.Resumes = 0
	}
	s.stopped = a.Stop
	if text := transcript.TextOf(a.Parts); text != "" {
		r.Text = text
	}
	s.show(id, transcript.AnswerMessage(a))
	if a.Usage.Input > 0 {
		s.Known, s.KnownAt = a.Usage.Input+a.Usage.Output, len(s.Ctx)
	}
	s.Calls = nil
	for _, p := range a.Parts {
		if p.Type == llm.CallPart {
			s.Calls = append(s.Calls, Call{Call: *p.Call})
		}
	}
	switch {
	case len(s.Calls) > 0 && a.Stop == llm.StopLength:
		r.Cut++
	default:
		r.Cut = 0
	}
	if len(s.Calls) > 0 {
		s.Turn = ToolsTurn
		return
	}
	s.Turn, s.InTurn = ModelStopped, false
	r.Answer, r.Plain = id, transcript.TextOf(a.Parts)
}

func (s *State) applyFail(b *transcript.Fail) {
	s.Req = transcript.ID{}
	s.Fails, s.LastFail = s.Fails+1, b
	s.failed(b)
	if s.Run != nil {
		s.Run.Usage, s.Run.LastFail = s.Run.Usage.Add(b.Usage), b
	}
}

func (s *State) applyAbort(e transcript.Entry, b *transcript.Abort) {
	s.Run.Abort = &Stopping{e.ID, e.Time, b.Cause}
	if mutant("AbortDrainsQueue") {
		s.Queue = nil
	}
	s.Req = transcript.ID{}
	s.dropCommands()
}

func (s *State) applySettled(id transcript.ID, b *transcript.Settled) {
	r := s.Run
	s.stepSettled(id, r, b)
	r.Reason, r.Detail, r.Copied, r.Settled = b.Reason, b.Detail, b.Copied, id
	s.Last, s.Run, s.Req, s.InTurn = r, nil, transcript.ID{}, false
	if mutant("HoldForgotten:" + string(b.Reason)) {
		return
	}
	waits := s.Hold.Yield
	switch b.Reason {
	case transcript.Yield, transcript.ModelError, transcript.ModelIncomplete, transcript.Limit,
		transcript.CrashLoop, transcript.ContextOverflow, transcript.Irreducible:
		if b.Reason == transcript.Yield {
			waits = r
		}
		s.Hold = Hold{b.Reason, id.Seq, waits}
	case transcript.Aborted:
		if r.Abort == nil {
			panic(broken("settled as aborted without an abort"))
		}
		if r.Abort.Cause != "" && !mutant("WorkflowAbortHolds") {
			return // the workflow ended its step; nobody wanted the session to stop
		}
		s.Hold = Hold{b.Reason, r.Abort.ID.Seq, waits}
		if mutant("AbortHoldsLater") {
			s.Hold.Seq = id.Seq
		}
	}
}

// forget is empty but in mutants: an opening forgets nothing.
func (s *State) forget() {
	if mutant("RetriesForgotten") {
		s.Fails, s.LastFail = 0, nil
	}
	if mutant("FactsRepeated") {
		s.Date = ""
	}
	if mutant("TasksForgotten") {
		s.Tasks = transcript.TaskList{}
	}
	if mutant("SeenForgotten") {
		s.Seen = map[string]Arrived{}
	}
}

// show appends messages to the context.
func (s *State) show(owner transcript.ID, msgs ...llm.Message) {
	for _, m := range msgs {
		it := Item{Owner: owner, Msg: m, Size: sizeOf(m)}
		s.Ctx, s.Size = append(s.Ctx, it), s.Size+it.Size
	}
}

// sizeOf counts the bytes of a message's text.
func sizeOf(m llm.Message) int {
	n := 16
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Raw)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += len(p.Result.Text)
		}
	}
	return n
}

// sizeOfAll counts the bytes of text in a part of the context.
func sizeOfAll(items []Item) int {
	n := 0
	for _, it := range items {
		n += it.Size
	}
	return n
}

// call returns the call of the newest batch with this id.
func (s *State) call(id string) *Call {
	for i := range s.Calls {
		if s.Calls[i].ID == id {
			return &s.Calls[i]
		}
	}
	panic(broken("no call " + id + " in the newest batch"))
}
