package session

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// TestS45_EachMessageIsSummarisedOrKeptOnce: over any events, each entry that
// ever owned a message of the branch is either covered by the summaries or in
// the context, once and in order; and what the owners say stands there once.
func TestS45_EachMessageIsSummarisedOrKeptOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := randomConversation(t, rt)
		s, err := Fold(nil)
		if err != nil {
			rt.Fatal(err)
		}
		var owners []transcript.ID
		on := OnBranch(c.entries)
		for i, e := range c.entries {
			if e.IsNode() && !on[i] {
				s.applyElsewhere(e)
				continue
			}
			before := len(s.Ctx)
			Apply(s, e)
			_, block := e.Body.(*transcript.Compact)
			if len(s.Ctx) > before && !block {
				owners = append(owners, e.ID)
			}
			if !block {
				continue
			}
			accounted(rt, s, owners)
			restoredOnce(rt, s, e.Body.(*transcript.Compact))
		}
	})
}

// TestS44_EachCompactionShrinks: over any events, the size that decides is that
// of the context, and a block with what stays is smaller than what was there.
func TestS44_EachCompactionShrinks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := randomConversation(t, rt)
		s, err := Fold(nil)
		if err != nil {
			rt.Fatal(err)
		}
		on := OnBranch(c.entries)
		for i, e := range c.entries {
			if e.IsNode() && !on[i] {
				s.applyElsewhere(e)
				continue
			}
			before := measured(s)
			Apply(s, e)
			after := measured(s)
			if _, block := e.Body.(*transcript.Compact); block && after >= before {
				rt.Fatalf("%s: the context had %d bytes and has %d", e.ID, before, after)
			}
			if s.Size != after {
				rt.Fatalf("%s: the context has %d bytes and counts as %d", e.ID, after, s.Size)
			}
		}
	})
}

// measured counts the bytes of the context anew.
func measured(s *State) int {
	n := 0
	for _, it := range s.Ctx {
		n += sizeOf(it.Msg)
	}
	return n
}

// accounted checks that the summaries cover the first owners and the context
// holds the others.
func accounted(rt *rapid.T, s *State, owners []transcript.ID) {
	kept := owners
	for _, r := range s.Mem.Covers {
		from, to := slices.Index(owners, r.From), slices.Index(owners, r.To)
		if from != 0 || to < from {
			rt.Fatalf("covers %v of %v", r, owners)
		}
		kept = owners[to+1:]
	}
	var have []transcript.ID
	for _, it := range s.Ctx[s.Mem.Block:] {
		if len(have) == 0 || have[len(have)-1] != it.Owner {
			have = append(have, it.Owner)
		}
	}
	if !slices.Equal(have, kept) {
		rt.Fatalf("the summaries cover %v of %v, and the context holds %v", s.Mem.Covers, owners, have)
	}
}

// restoredOnce checks the receipts of a compaction against the context.
func restoredOnce(rt *rapid.T, s *State, c *transcript.Compact) {
	if len(s.Ctx) == 0 || s.Ctx[0].Msg.Parts[0].Text != transcript.FactsMessages(&transcript.Facts{Part: transcript.FactsSession, Text: s.Mem.Facts[transcript.FactsSession].Text}, "MARK")[0].Parts[0].Text {
		rt.Fatalf("the context doesn't begin with the session facts")
	}
	for _, f := range s.Skills {
		shown := 0
		for _, it := range s.Ctx {
			for _, p := range it.Msg.Parts {
				if p.Result != nil && p.Result.CallID == s.Mem.Loaded[f.Name] {
					shown++
				}
			}
		}
		for _, a := range c.Restore {
			if a.Kind == transcript.AnchorSkill && a.Name == f.Name && !a.Kept {
				shown++
			}
		}
		if shown != 1 {
			rt.Fatalf("the body of %s stands %d times in the context", f.Name, shown)
		}
	}
	tasks := 0
	for _, a := range c.Restore {
		if a.Kind == transcript.AnchorTasks {
			tasks++
		}
	}
	if want := openTasks(s.Tasks); (tasks == 1) != want {
		rt.Fatalf("the task list is restored %d times, open: %v", tasks, want)
	}
}
