package session

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// What a conversation file shows of a commit and a state.

func (c *conversation) show() string {
	var b strings.Builder
	if err := c.last.Reply.Err; err != nil {
		fmt.Fprintf(&b, "  refused %s: %s\n", err.Code, err.Message)
	} else if c.last.Reply.Again {
		fmt.Fprintf(&b, "  again %s\n", c.last.Reply.ID)
	}
	for _, e := range c.last.Entries {
		fmt.Fprintf(&b, "  %s %s\n", e.ID, small(describe(e)))
	}
	for _, d := range Due(c.s, c.env) {
		if d.Kind == Wait {
			fmt.Fprintf(&b, "  due timer in %s\n", d.At.Sub(c.env.Now))
			continue
		}
		fmt.Fprintf(&b, "  due %s\n", d.Key)
	}
	return b.String()
}

func describe(e transcript.Entry) string {
	k := string(e.Kind())
	switch b := e.Body.(type) {
	case *transcript.Arrive:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %q", k, b.AID, b.Class, b.Inject, b.Text))
	case *transcript.Facts:
		return fmt.Sprintf("%s %s", k, b.Part)
	case *transcript.Deliver:
		early := ""
		if b.Early {
			early = " early"
		}
		return fmt.Sprintf("%s %v%s", k, b.Arrivals, early)
	case *transcript.Answer:
		s := fmt.Sprintf("%s %s", k, b.Stop)
		for _, p := range b.Parts {
			if p.Call != nil {
				s += " " + p.Call.ID + "=" + p.Call.Name
			}
		}
		return s
	case *transcript.Fail:
		s := fmt.Sprintf("%s %s", k, b.Class)
		if !b.NotBefore.IsZero() {
			s += " wait " + b.NotBefore.Sub(e.Time).String()
		}
		return s
	case *transcript.Ask:
		return fmt.Sprintf("%s %s %s (%s)", k, b.Call, b.Tool, b.Rule)
	case *transcript.Approval:
		return fmt.Sprintf("%s of %s for %s: %s by %s", k, b.Ask, b.Call, b.Choice, b.By)
	case *transcript.Intent:
		return strings.TrimSpace(strings.Join(append([]string{k, b.Call, b.Tool, b.Lock}, b.Skills...), " "))
	case *transcript.Result:
		first, _, _ := strings.Cut(b.Text, "\n")
		return fmt.Sprintf("%s %s %s %q", k, b.Call, b.Outcome, first)
	case *transcript.Request, *transcript.Compact, *transcript.CompactFailed, *transcript.ModelChange:
		return describeCompaction(k, e)
	case *transcript.Settled:
		s := fmt.Sprintf("%s %s", k, b.Reason)
		if b.Detail != "" {
			s += fmt.Sprintf(" (%s)", b.Detail)
		}
		if b.Adopted {
			s += " adopted"
		}
		if b.More {
			s += " more"
		}
		return s
	}
	return k
}

func (c *conversation) request() string { return c.shown(Request(c.s, c.env)) }

func (c *conversation) state() string {
	out := fmt.Sprintf("  %s", c.s.Status(c.env.Now))
	for _, q := range c.s.Queue {
		out += " · waits " + q.AID
	}
	for _, t := range c.s.Tasks.Items {
		out += fmt.Sprintf(" · task %s %s", t.ID, t.Status)
	}
	for _, k := range c.s.Skills {
		out += " · skill " + k.Name
	}
	return out + "\n"
}

func (c *conversation) updates() string {
	var b strings.Builder
	for _, u := range c.last.Updates {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(strings.Join([]string{u.Type, string(u.Role), u.Inject, u.Call}, " ")))
	}
	return strings.ReplaceAll(b.String(), "   ", " ")
}
