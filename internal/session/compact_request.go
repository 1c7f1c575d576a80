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
	body := "<conversation>\n" + s.retold(cut, c.Room) + "</conversation>\n\nWrite the summary."
	if a := s.command(); a != nil && a.ID == c.Command && a.Text != "" {
		body += " The user asks you to mind this:\n" + transcript.Escape(within(a.Text, 4_000))
	}
	req := &llm.Request{System: compactText, Messages: []llm.Message{{Role: llm.User, Parts: textParts(body)}}}
	req.Origin = s.origin(forCompaction)
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

// saying is a piece of the conversation, and how much of it is worth keeping
// first. It is told as an element. Its text is escaped, so that no content can
// end its element and begin one that passes for somebody else's words.
type saying struct {
	tag, attr string // attr: NAME="VALUE", or ""
	text      string
	most      int // bytes
}

// told writes the element with at most most bytes of the text, as they are
// before they are escaped.
func (p saying) told(most int) string {
	return "<" + strings.TrimSpace(p.tag+" "+p.attr) + ">\n" + transcript.Escape(within(p.text, most)) + "\n</" + p.tag + ">\n"
}

// from is a message of somebody.
func from(who, text string, most int) saying {
	return saying{"message", `from="` + who + `"`, text, most}
}

// of is a call of a tool, or its result. The model may have made up the name.
func of(tag, tool, text string, most int) saying {
	return saying{tag, `of="` + transcript.EscapeAttr(within(tool, 64)) + `"`, text, most}
}

// retold tells the first cut messages as text within room bytes: each piece is
// cut to what its kind is worth, then to less, and if there are too many the
// middle is left out.
func (s *State) retold(cut, room int) string {
	pieces := s.sayings(cut)
	for share := 1; ; share *= 2 {
		least := 0 // escaping only adds to it
		for _, p := range pieces {
			least += min(len(p.text), p.share(share))
		}
		if least > room && share < 32 {
			continue
		}
		lines := make([]string, len(pieces))
		total := 0
		for i, p := range pieces {
			lines[i] = p.told(p.share(share))
			total += len(lines[i])
		}
		if total <= room {
			return strings.Join(lines, "")
		}
		if share >= 32 {
			return gapped(lines, room)
		}
	}
}

// leastSaying is how many bytes of a piece are kept before whole pieces go.
const leastSaying = 120

func (p saying) share(n int) int { return max(p.most/n, leastSaying) }

// gapped leaves out the pieces in the middle that have no room, and says how
// many.
func gapped(lines []string, room int) string {
	head, tail := 0, len(lines)
	for left := room / 4; head < tail && len(lines[head]) <= left; head++ {
		left -= len(lines[head])
	}
	for left := room - room/4 - 64; tail > head && len(lines[tail-1]) <= left; tail-- {
		left -= len(lines[tail-1])
	}
	gap := fmt.Sprintf("<left_out messages=\"%d\"/>\n", tail-head)
	return strings.Join(lines[:head], "") + gap + strings.Join(lines[tail:], "")
}

// sayings are the pieces of what goes. Owners restore their own; an earlier
// block counts by its summary and the user's words in it.
func (s *State) sayings(cut int) []saying {
	var out []saying
	if s.Mem.Summary != "" {
		out = append(out, saying{"earlier_summary", "", s.Mem.Summary, 64_000})
	}
	for _, p := range s.Mem.Pins {
		who := "user"
		if p.Step != nil {
			who = "harness"
		}
		out = append(out, from(who, s.unmarked(p.Text), 8_000))
	}
	for _, it := range s.Ctx[s.Mem.Block:cut] {
		if it.Fixed {
			continue
		}
		for _, p := range it.Msg.Parts {
			if say := s.sayingOf(it, p); say.text != "" {
				out = append(out, say)
			}
		}
	}
	return out
}

func (s *State) sayingOf(it Item, p llm.Part) saying {
	switch p.Type {
	case llm.CallPart:
		return of("call", p.Call.Name, s.unmarked(p.Call.Arguments), 1_000)
	case llm.ResultPart:
		if p.Result.Name == toolSkill {
			return of("result", "skill", s.unmarked(p.Result.Text), leastSaying)
		}
		return of("result", p.Result.Name, s.unmarked(p.Result.Text), 2_000)
	case llm.ThinkingPart:
		return saying{}
	}
	text := s.unmarked(p.Text)
	switch {
	case it.Msg.Role == llm.Developer:
		return from("harness", text, 2_000)
	case it.Msg.Role == llm.User && it.From.IsZero() && strings.HasPrefix(text, "<data "):
		return from("data", text, 8_000) // in the user's role, and nobody's words
	}
	return from(string(it.Msg.Role), text, 8_000)
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
