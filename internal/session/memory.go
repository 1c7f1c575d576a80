package session

import (
	"slices"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Memory is what a compaction needs to know beyond the context: who owns what
// must outlive it, and what came of the compactions so far. It is folded along
// the path as the rest of the branch.
type Memory struct {
	Block   int                // leading messages of Ctx that are a compaction's block
	Covers  []transcript.Range // the messages that the summaries stand for
	Summary string             // newest
	Pins    []transcript.Pin   // words pinned in the block
	Read    []string           // files, as the newest compaction lists them
	Changed []string           //

	Fails    int                    // failed compactions in a row
	Failed   string                 // why the newest of them failed
	Since    int                    // compactions since the newest answer, failed or not
	Overflow bool                   // the newest try at an answer didn't fit
	Broken   bool                   // compacted since the newest request
	Plan     *transcript.Compaction // of the newest compaction request

	Facts   map[transcript.FactsPart]Owned // newest text of each part
	Loaded  map[string]string              // by skill, the call whose result shows its body; none: the prefix does
	Listed  Owned                          // the entry and the call that wrote the task list
	Request []Said                         // the words that the newest run answers
}

// Owned is a text with the entry that owns it.
type Owned struct {
	Entry transcript.ID
	Call  string // if it is a call's result
	Text  string
}

// Said are words of the request that a run answers.
type Said struct {
	Delivery, Arrival transcript.ID
	Text              string
	Step              *transcript.Step // it is the prompt of a workflow's step
}

func newMemory() Memory {
	return Memory{Facts: map[transcript.FactsPart]Owned{}, Loaded: map[string]string{}}
}

func (m Memory) clone() Memory {
	m.Facts, m.Loaded = cloneMap(m.Facts), cloneMap(m.Loaded)
	return m
}

// remember notes the facts that an applied entry owns.
func (s *State) remember(e transcript.Entry) {
	m := &s.Mem
	switch b := e.Body.(type) {
	case *transcript.Facts:
		m.Facts[b.Part] = Owned{Entry: e.ID, Text: b.Text}
	case *transcript.Request:
		if b.For != forCompaction {
			m.Broken = false
		}
	case *transcript.Answer:
		m.Since, m.Overflow = 0, false
	case *transcript.Fail:
		m.Overflow = m.Overflow || b.Class == llm.Overflow
	case *transcript.Result:
		if b.Tasks != nil {
			m.Listed = Owned{Entry: e.ID, Call: b.Call}
		}
		for _, f := range b.Skills {
			m.Loaded[f.Name] = b.Call
		}
	}
}

// said notes what a delivery brings to the request that the run answers: the
// words that began it, and the newest ones. A prompt begins it anew; a run
// that begins without a person's words leaves one that is open as it is.
func (s *State) said(delivery transcript.ID, begins bool, arrivals []Arrival) {
	var words []Said
	for _, a := range arrivals {
		begins = begins || prompt(a)
		if a.Human || a.Class == transcript.ClassStep {
			words = append(words, Said{delivery, a.ID, a.Text, a.Step})
		}
	}
	m := &s.Mem
	switch {
	case begins:
		if len(words) > 0 || !s.leftOpen() {
			m.Request = words
		}
		m.Fails, m.Failed, m.Since, m.Overflow = 0, "", 0, false
	case len(words) > 0:
		first := slices.DeleteFunc(slices.Clone(m.Request), func(r Said) bool { return r.Delivery != m.Request[0].Delivery })
		m.Request = append(first, words...)
	}
}

// unfinished reports whether the newest request still waits for its end, so
// that its words must stay.
func (s *State) unfinished() bool {
	return s.Run != nil || s.leftOpen()
}

// leftOpen reports whether the newest run that settled left its request open.
func (s *State) leftOpen() bool {
	if s.Last == nil || s.Last.Reason == transcript.Done || s.Last.Reason == transcript.NoYield {
		return false
	}
	return s.Last.Yield == nil || s.Last.Yield.Reason != "complete"
}

// restored lists the skills whose bodies a compaction that drops the first cut
// messages must restore: workflow skills in force and what they require, as
// far as their bodies stand neither in what stays nor in the prefix.
func (s *State) restored(cut int) []transcript.SkillFact {
	var out []transcript.SkillFact
	for _, f := range s.bound() {
		if !s.showsBody(f.Name, cut) {
			out = append(out, f)
		}
	}
	return out
}

// bound lists the workflow skills in force and the skills that they require.
func (s *State) bound() []transcript.SkillFact {
	needed := map[string]bool{}
	for _, f := range s.Skills {
		if f.Type == "workflow" {
			needed[f.Name] = true
			for _, r := range f.Requires {
				needed[r] = true
			}
		}
	}
	var out []transcript.SkillFact
	for _, f := range s.Skills {
		if needed[f.Name] || needed[f.For] {
			out = append(out, f)
		}
	}
	return out
}

// showsBody reports whether a skill's body stands in the prefix or in the
// context from message cut on.
func (s *State) showsBody(name string, cut int) bool {
	call, loaded := s.Mem.Loaded[name]
	return !loaded || s.shows(call, cut)
}

// shows reports whether the result of a call stands in the context from
// message cut on.
func (s *State) shows(call string, cut int) bool {
	for _, it := range s.Ctx[cut:] {
		for _, p := range it.Msg.Parts {
			if p.Result != nil && p.Result.CallID == call {
				return true
			}
		}
	}
	return false
}

// owns reports whether an entry owns a message from message cut on.
func (s *State) owns(entry transcript.ID, cut int) bool {
	return slices.ContainsFunc(s.Ctx[cut:], func(it Item) bool { return it.Owner == entry })
}

// endedElsewhere counts a compaction of another branch.
func (s *State) endedElsewhere(command transcript.ID, asked bool) {
	if asked {
		s.Tries[forCompaction]++
	}
	if !command.IsZero() {
		s.drop([]transcript.ID{command})
	}
}
