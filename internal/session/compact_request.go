package session

import (
	_ "embed" // the prompt is a text file, so that a change is a readable diff
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

//go:embed prompt/compact.md
var compactText string

// CompactRequest builds the request that asks for the summary of what the
// compaction c drops. The conversation stands in it as text, bounded by c.Room,
// without the session's mark and without what its owners restore.
func CompactRequest(s *State, c *transcript.Compaction) *llm.Request {
	cut := s.cutOf(c)
	body := "<conversation>\n" + transcript.Escape(s.retold(cut, c.Room)) + "\n</conversation>\n\nWrite the summary."
	if a := s.command(); a != nil && a.ID == c.Command && a.Text != "" {
		body += " The user asks you to mind this:\n" + transcript.Escape(within(a.Text, 4_000))
	}
	req := &llm.Request{System: compactText, Messages: []llm.Message{{Role: llm.User, Parts: textParts(body)}}}
	req.Origin = llm.Origin{Session: s.Header.Session, Label: s.Header.Label, For: forCompaction, Position: s.Tries[forCompaction]}
	return req
}

// CompactDigest is the digest of a compaction's request, as its entry has it.
func CompactDigest(req *llm.Request) (prefix string, c Chain) {
	prefix = digestOf([]byte(req.System))
	c = Chain{Hex: prefix}
	for _, m := range req.Messages {
		c = c.extend(Item{Msg: m})
	}
	return prefix, c
}

// compactionRequest makes the request entry of a compaction.
func (s *State) compactionRequest(env Env, c *transcript.Compaction) *transcript.Request {
	r := &transcript.Request{For: forCompaction, Compaction: c, Prefix: digestOf([]byte(compactText))}
	if c.Silent {
		r.SHA256 = r.Prefix
		return r
	}
	_, sum := CompactDigest(CompactRequest(s, c))
	r.SHA256, r.Items, r.Bytes = sum.Hex, sum.Items, sum.Bytes
	return r
}

// cutOf finds how many messages a compaction drops.
func (s *State) cutOf(c *transcript.Compaction) int {
	if c.FirstKept.IsZero() {
		return len(s.Ctx)
	}
	for i := s.Mem.Block; i < len(s.Ctx); i++ {
		if s.Ctx[i].Owner == c.FirstKept {
			return i
		}
	}
	panic(broken("a compaction keeps the context from entry " + c.FirstKept.String() + " on, which owns nothing in it"))
}

// saying is a piece of the conversation as text, and how much of it is worth
// keeping first.
type saying struct {
	who, text string
	most      int // bytes
}

// retold tells the first cut messages as text within room bytes: each piece is
// cut to what its kind is worth, then to less, and if there are too many the
// middle is left out.
func (s *State) retold(cut, room int) string {
	pieces := s.sayings(cut)
	for share := 1; ; share *= 2 {
		total := 0
		for _, p := range pieces {
			total += len(p.who) + 3 + min(len(p.text), max(p.most/share, leastSaying))
		}
		if total <= room || share >= 32 {
			return join(pieces, share, room)
		}
	}
}

// leastSaying is how many bytes of a piece are kept before whole pieces go.
const leastSaying = 120

// join writes the pieces; those in the middle that have no room are counted.
func join(pieces []saying, share, room int) string {
	lines := make([]string, len(pieces))
	total := 0
	for i, p := range pieces {
		lines[i] = p.who + ": " + within(p.text, max(p.most/share, leastSaying)) + "\n"
		total += len(lines[i])
	}
	if total <= room {
		return strings.Join(lines, "")
	}
	head, tail := 0, len(lines)
	for left := room / 4; head < tail && len(lines[head]) <= left; head++ {
		left -= len(lines[head])
	}
	for left := room - room/4 - 64; tail > head && len(lines[tail-1]) <= left; tail-- {
		left -= len(lines[tail-1])
	}
	gap := fmt.Sprintf("[%d messages are left out here]\n", tail-head)
	return strings.Join(lines[:head], "") + gap + strings.Join(lines[tail:], "")
}

// sayings are the pieces of what goes. Owners restore their own; an earlier
// block counts by its summary and the user's words in it.
func (s *State) sayings(cut int) []saying {
	var out []saying
	if s.Mem.Summary != "" {
		out = append(out, saying{"earlier summary", s.Mem.Summary, 64_000})
	}
	for _, p := range s.Mem.Pins {
		out = append(out, saying{"user", p, 8_000})
	}
	for _, it := range s.Ctx[s.Mem.Block:cut] {
		if it.Fixed {
			continue
		}
		for _, p := range it.Msg.Parts {
			if say := s.sayingOf(it.Msg.Role, p); say.text != "" {
				out = append(out, say)
			}
		}
	}
	return out
}

func (s *State) sayingOf(role llm.Role, p llm.Part) saying {
	switch p.Type {
	case llm.CallPart:
		return saying{"assistant calls " + p.Call.Name, s.unmarked(p.Call.Arguments), 1_000}
	case llm.ResultPart:
		if p.Result.Name == "skill" {
			return saying{"result of skill", s.unmarked(p.Result.Text), leastSaying}
		}
		return saying{"result of " + p.Result.Name, s.unmarked(p.Result.Text), 2_000}
	case llm.ThinkingPart:
		return saying{}
	}
	if role == llm.Developer {
		return saying{"harness", s.unmarked(p.Text), 2_000}
	}
	return saying{string(role), s.unmarked(p.Text), 8_000}
}

// unmarked takes the session's mark out of a text: the summary's writer has no
// need of it.
func (s *State) unmarked(text string) string {
	if s.Header.Mark == "" {
		return text
	}
	return strings.ReplaceAll(text, s.Header.Mark, "")
}

// within cuts a text in its middle to about n bytes, between characters.
func within(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := ends(text, n)
	return fmt.Sprintf("%s [… %d bytes …] %s", head, len(text)-len(head)-len(tail), tail)
}

// ends returns head and tail of a text, together at most n bytes: two thirds
// of them at its beginning.
func ends(text string, n int) (head, tail string) {
	a, b := n*2/3, len(text)-(n-n*2/3)
	for a > 0 && !utf8.RuneStart(text[a]) {
		a--
	}
	for b < len(text) && !utf8.RuneStart(text[b]) {
		b++
	}
	return text[:a], text[b:]
}
