package session

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// big writes out BIGn.
func big(line string) string {
	return regexp.MustCompile(`BIG\d+`).ReplaceAllStringFunc(line, func(s string) string {
		n, _ := strconv.Atoi(s[3:])
		return strings.Repeat("0123456789abcdef", n/16)
	})
}

// small shows them again.
func small(text string) string {
	return regexp.MustCompile(`(?:0123456789abcdef){6,}`).ReplaceAllStringFunc(text, func(s string) string {
		return "BIG" + strconv.Itoa(len(s))
	})
}

func (c *conversation) summary(verb, text string) Event {
	ev := Compacted{Request: c.s.Req, Bodies: map[string]string{}}
	for _, d := range Due(c.s, c.env) {
		if d.Kind == Compact {
			for _, b := range d.Compact.Blobs {
				if body, ok := c.bodies[b]; ok {
					ev.Bodies[b] = body
				}
			}
		}
	}
	if p := c.s.Mem.Plan; p != nil && p.Silent {
		return ev
	}
	r := &llm.Response{Stop: llm.StopEnd, Usage: llm.Usage{Input: 50, Output: 5}, Parts: textParts(strings.ReplaceAll(text, `\n`, "\n"))}
	switch verb {
	case "cutsummary":
		r.Stop = llm.StopLength
	case "callsummary":
		r.Stop, r.Parts = llm.StopTools, []llm.Part{{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: "{}"}}}
	}
	ev.Response = r
	return ev
}

// describeCompaction is describe for entries of compactions, and requests.
func describeCompaction(k string, e transcript.Entry) string {
	switch b := e.Body.(type) {
	case *transcript.Request:
		if p := b.Compaction; p != nil {
			s := fmt.Sprintf("%s compaction %s keeps from %q", k, p.Why, p.FirstKept)
			if p.Silent {
				s += " silent"
			}
			return s
		}
		return strings.TrimSpace(k + " " + b.Break)
	case *transcript.Compact:
		s := fmt.Sprintf("%s %s keeps from %q, covers %v, %d -> %d tokens, restores", k, b.Why, b.FirstKept, b.Covers, b.Before, b.After)
		for _, a := range b.Restore {
			s += " " + strings.TrimSpace(string(a.Kind)+" "+a.Name)
			if a.Kept {
				s += " (kept)"
			}
		}
		for _, p := range b.Pinned {
			s += fmt.Sprintf(", pins %s %s", p.Arrival, p.File)
		}
		for _, p := range b.Shortened {
			s += fmt.Sprintf(", shortens %s %s", p.Arrival, p.File)
		}
		return s
	case *transcript.ModelChange:
		return fmt.Sprintf("%s %s -> %s, drops %d", k, b.From, b.Model, b.Dropped)
	case *transcript.CompactFailed:
		return fmt.Sprintf("%s %s (%s)", k, b.Reason, b.Detail)
	}
	return k
}

func (c *conversation) shown(req *llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			text := p.Text
			if p.Call != nil {
				text = p.Call.ID + " " + p.Call.Name + " " + p.Call.Arguments
			}
			if p.Result != nil {
				text = p.Result.CallID + " " + p.Result.Text
			}
			fmt.Fprintf(&b, "  %s: %s\n", m.Role, strings.ReplaceAll(small(text), "\n", "\n    "))
		}
	}
	return b.String()
}

func (c *conversation) limits(rest string) string {
	for _, w := range strings.Fields(rest) {
		k, v, _ := strings.Cut(w, "=")
		n, _ := strconv.Atoi(v)
		switch k {
		case "turns":
			c.env.Limits.Turns = n
		case "tokens":
			c.env.Limits.Tokens = n
		case "window":
			c.env.Window = n
		case "usage":
			c.usage = llm.Usage{Input: n}
		case "assumed":
			c.env.Assumed = n
		case "wall":
			c.env.Limits.Wall, _ = time.ParseDuration(v)
		}
	}
	return ""
}

// rewind moves the branch as the command line does.
func (c *conversation) rewind(entry string) string {
	to, err := transcript.ParseID(entry)
	if err != nil {
		c.t.Fatal(err)
	}
	c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: transcript.OpenDeposit})
	r, err := PlanRewind(c.entries, to, "rewind", c.env.Now)
	if err != nil {
		c.entries = c.entries[:len(c.entries)-1]
		return "  refused: " + err.Error() + "\n"
	}
	c.entries = append(c.entries, r.Leaf)
	c.store(&transcript.Open{Segment: c.s.Epoch + 2, Why: transcript.OpenStart})
	c.refold()
	return fmt.Sprintf("  leaf %q, %d left\n", r.To, r.Left) + c.decide(Wake{})
}
