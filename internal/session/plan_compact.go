package session

import (
	"cmp"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// When a context is compacted, in tokens (S40).
const (
	maxReserve    = 16_384  // of the window that the next answer may take
	maxKeep       = 20_000  // of the newest messages that stay
	defaultWindow = 128_000 // where nothing is known

	maxCompactFails = 2 // in a row: the run goes on uncompacted, or ends if it doesn't fit
	maxCompactTries = 3 // between two answers
)

// forCompaction is what a request of a compaction is for.
const forCompaction = "compaction"

// window is what the context must fit into: the model's window if it is known,
// else what is assumed. A request that was too big shows that it is smaller.
func (s *State) window(env Env) int {
	w := cmp.Or(env.Window, env.Assumed, defaultWindow)
	if s.Mem.Overflow {
		w = min(w, s.Tokens(env))
	}
	return w
}

func reserve(window int) int { return min(maxReserve, window/4) }

// full reports whether the next request would leave the answer too little
// room.
func (s *State) full(env Env) bool {
	w := cmp.Or(env.Window, env.Assumed)
	return w > 0 && s.Tokens(env) > w-reserve(w) && !mutant("ThresholdIgnored")
}

// tooBig reports whether the next request can't fit.
func (s *State) tooBig(env Env) bool {
	return s.Mem.Overflow && !mutant("OverflowRetried") || env.Window > 0 && s.Tokens(env) > env.Window
}

// planCompacting: a compaction is in flight. Arrivals wait for it; only what
// stops the run ends it, and a newer wish that takes its place.
func planCompacting(s *State, env Env) []transcript.Body {
	if wish := s.Mem.Plan.Command; !wish.IsZero() && s.replaced(wish) {
		return one(s.compactFailure(transcript.CompactReplaced, replacedText, nil))
	}
	if s.Run == nil || s.Interrupted() {
		return nil
	}
	if why := s.stopReason(env); why != "" {
		return one(s.settle(why, ""))
	}
	return nil
}

// planCompaction: the model should be asked, and the context is too big, about
// to be, or a person wants it smaller. It returns nothing if the model can be
// asked.
func (s *State) planCompaction(env Env) []transcript.Body {
	if s.tooBig(env) {
		if c := s.compaction(env, transcript.CompactOverflow); c != nil && s.mayCompact() {
			return one(s.compactionRequest(env, c))
		}
		return one(s.settle(transcript.Irreducible, s.whyIrreducible(env)))
	}
	if c := s.command(); c != nil {
		return one(s.planCommand(env, c))
	}
	if s.full(env) && s.mayCompact() {
		if c := s.compaction(env, transcript.CompactThreshold); c != nil {
			return one(s.compactionRequest(env, c))
		}
	}
	return nil
}

// mayCompact reports whether another try makes sense.
func (s *State) mayCompact() bool {
	return mutant("CompactsWithoutEnd") || s.Mem.Fails < maxCompactFails && s.Mem.Since < maxCompactTries
}

func (s *State) whyIrreducible(env Env) string {
	why := tooBig(s.Tokens(env), s.window(env))
	if s.LastFail != nil && s.LastFail.Class == llm.Overflow {
		why = s.LastFail.Message
	}
	if s.Mem.Failed != "" {
		return why + "; the last try to compact it failed with " + s.Mem.Failed
	}
	if s.Mem.Since > 0 {
		return why + "; compacting it didn't help"
	}
	return why + "; nothing of it can be compacted"
}

// command returns the oldest wish for a compaction that waits, or nil.
func (s *State) command() *Arrival {
	for i := range s.Queue {
		if s.Queue[i].Class == transcript.ClassCommand {
			return &s.Queue[i]
		}
	}
	return nil
}

// replaced reports whether a newer wish has instructions: the summary of this
// one would leave nothing to which they could apply.
func (s *State) replaced(wish transcript.ID) bool {
	for _, q := range s.Queue {
		if q.Class == transcript.ClassCommand && q.ID.Seq > wish.Seq && q.Text != "" {
			return true
		}
	}
	return false
}

const replacedText = "a newer wish for a compaction, with instructions, takes its place"

// planWish serves a wish that waits, outside of a run that goes on.
func planWish(s *State, env Env) []transcript.Body {
	if c := s.command(); c != nil && !s.wishWaits(c, env) {
		return one(s.planCommand(env, c))
	}
	return nil
}

// triesFor reports whether the newest request is one of the compaction for this
// wish, zero for none. Only its failures count against it: those of a run, or
// of another compaction, say nothing about it.
func (s *State) triesFor(wish transcript.ID) bool {
	return mutant("FailsCarriedOver") || s.Mem.Plan != nil && s.Mem.Plan.Command == wish
}

// wishWaits reports whether a wish has to wait for its next try.
func (s *State) wishWaits(a *Arrival, env Env) bool {
	return s.triesFor(a.ID) && s.backingOff(env.Now)
}

// planCommand answers a person's wish: with a request, or with why there is
// none.
func (s *State) planCommand(env Env, a *Arrival) transcript.Body {
	failed := &transcript.CompactFailed{Why: transcript.CompactManual, Command: a.ID}
	if s.replaced(a.ID) {
		failed.Reason, failed.Detail = transcript.CompactReplaced, replacedText
		return failed
	}
	if s.open() > 0 {
		failed.Reason, failed.Detail = transcript.CompactOpenCalls, "calls of the interrupted run have no result yet: go on with the run first"
		return failed
	}
	if s.triesFor(a.ID) && spent(s) {
		failed.Reason, failed.Detail = transcript.CompactRefused, s.LastFail.Message
		return failed
	}
	c := s.compaction(env, transcript.CompactManual)
	if c == nil {
		failed.Reason, failed.Detail = transcript.CompactNothing, "nothing has been said that a summary could replace"
		return failed
	}
	c.Command = a.ID
	return s.compactionRequest(env, c)
}

// compaction says what a compaction would do now, or returns nil if it would
// do nothing worth a call.
func (s *State) compaction(env Env, why string) *transcript.Compaction {
	w := s.window(env)
	worth := 1
	if why == transcript.CompactThreshold {
		worth = w / 16 * bytesPerToken // else the next turn would be at it again
	}
	cut := s.cut(min(maxKeep, w/4))
	if why == transcript.CompactManual {
		cut = s.deepCut(min(maxKeep, w/4, s.Size/bytesPerToken/4))
	} else if s.droppable(cut) < worth {
		cut = s.deepCut(min(maxKeep, w/4))
	}
	gain := s.droppable(cut)
	if gain < worth {
		cut = s.Mem.Block
	}
	c := &transcript.Compaction{Why: why, Pin: max(512, w/8*bytesPerToken),
		Room: max(2_000, w*6/10*bytesPerToken>>(2*s.Mem.Fails))}
	c.Silent = cut == s.Mem.Block
	if why == transcript.CompactOverflow {
		c.Shorten = s.tooLong(env, cut, w-reserve(w), c.Pin)
	}
	if c.Silent && len(c.Shorten) == 0 {
		return nil
	}
	if cut < len(s.Ctx) {
		c.FirstKept = s.Ctx[cut].Owner
	}
	return c
}

// cut returns how many messages go if at least keep tokens of the newest ones
// stay. Nothing goes that the model hasn't answered, no call is parted from its
// results, and no entry is split.
func (s *State) cut(keep int) int {
	at := len(s.Ctx)
	for bytes := 0; at > s.Mem.Block && bytes < keep*bytesPerToken; {
		at--
		bytes += s.Ctx[at].Size
	}
	if !mutant("UnansweredSummarised") {
		at = min(at, s.answered())
	}
	for at > s.Mem.Block && !s.pairSafe(at) && !mutant("CutBetweenPairs") {
		at--
	}
	return max(at, s.Mem.Block)
}

// deepCut is cut where a large message stands across the line, and for a person
// who wants the context small: at most keep tokens stay, but for what the model
// hasn't answered.
func (s *State) deepCut(keep int) int {
	at := len(s.Ctx)
	for bytes := 0; at > s.Mem.Block && bytes+s.Ctx[at-1].Size <= keep*bytesPerToken; {
		at--
		bytes += s.Ctx[at].Size
	}
	limit := s.answered()
	for at < limit && !s.pairSafe(at) {
		at++
	}
	at = min(at, limit)
	for at > s.Mem.Block && !s.pairSafe(at) {
		at--
	}
	return max(at, s.Mem.Block)
}

// answered counts the leading messages that the model has answered.
func (s *State) answered() int {
	for i := len(s.Ctx) - 1; i >= s.Mem.Block; i-- {
		if m := s.Ctx[i].Msg; m.Role == llm.Assistant {
			if hasCalls(m.Parts) {
				return i
			}
			return i + 1
		}
	}
	return s.Mem.Block
}

// pairSafe reports whether the context may begin with message at.
func (s *State) pairSafe(at int) bool {
	return at == s.Mem.Block || at == len(s.Ctx) || s.Ctx[at].Msg.Role != llm.ToolRole && s.Ctx[at].Owner != s.Ctx[at-1].Owner
}

// droppable counts the bytes that a summary would stand for.
func (s *State) droppable(cut int) int {
	n := 0
	for _, it := range s.Ctx[s.Mem.Block:cut] {
		if !it.Fixed {
			n += it.Size
		}
	}
	return n
}

// tooLong lists the arrivals in what stays whose words alone are too big, if
// what stays would still be over the limit.
func (s *State) tooLong(env Env, cut, limit, pin int) []transcript.ID {
	bytes := len(env.Prefix.System) + env.Tools.size() + sizeOfAll(s.Ctx[cut:])
	var out []transcript.ID
	for _, it := range s.Ctx[cut:] {
		if bytes/bytesPerToken > limit && !it.From.IsZero() && !it.Short && it.Size > 2*pin {
			out = append(out, it.From)
			bytes -= it.Size - pin
		}
	}
	return out
}
