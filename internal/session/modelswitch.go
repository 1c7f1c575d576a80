package session

import (
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// wakes notes that another model answers from now on.
func (c *commit) wakes(ev Wake) {
	s := c.Next
	if ev.Model == "" || ev.Model == s.Model || s.Why == transcript.OpenDeposit || s.Why == transcript.OpenCompact || s.Header.Session == "" {
		return
	}
	_, dropped := s.taken(ev.Maker)
	c.add(&transcript.ModelChange{From: s.Model, Model: ev.Model, Maker: ev.Maker, Dropped: dropped})
}

// applyModel drops from the context what the new model doesn't take. The next
// request says that it breaks with the one before it.
func (s *State) applyModel(b *transcript.ModelChange) {
	s.Model, s.switched = b.Model, !s.Sent.empty()
	s.Ctx, _ = s.taken(b.Maker)
	s.Size, s.Known, s.KnownAt = sizeOfAll(s.Ctx), 0, 0 // another model counts other tokens
}

// taken is the context as a model takes it: the words of the others' answers
// stay, what only their makers understand goes. It counts what goes.
func (s *State) taken(maker string) (ctx []Item, dropped int) {
	ctx = make([]Item, len(s.Ctx))
	for i, it := range s.Ctx {
		ctx[i] = it
		foreign := 0
		for _, p := range it.Msg.Parts {
			if len(p.Raw) > 0 && p.Maker != maker {
				foreign++
			}
		}
		if foreign == 0 {
			continue
		}
		dropped += foreign
		parts := make([]llm.Part, 0, len(it.Msg.Parts))
		for _, p := range it.Msg.Parts {
			switch {
			case len(p.Raw) == 0 || p.Maker == maker:
			case p.Type == llm.ThinkingPart:
				continue
			default:
				p.Raw, p.Maker = nil, ""
			}
			parts = append(parts, p)
		}
		ctx[i].Msg.Parts = parts
		ctx[i].Size = sizeOf(ctx[i].Msg)
	}
	return ctx, dropped
}
