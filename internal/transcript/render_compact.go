package transcript

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// CompactMessages renders the block of a compaction: session facts first, as
// they were; the summary as data, since a model wrote it; the bodies of active
// skills, each alone in its message and byte for byte; the task list; and last
// the user's words that are being worked on.
func CompactMessages(c *Compact, mark string) []llm.Message {
	var out, skills, tasks []llm.Message
	for i := range c.Restore {
		a := &c.Restore[i]
		switch m := anchorMessage(a, mark); {
		case a.Kept:
		case a.Kind == AnchorSkill:
			skills = append(skills, m)
		case a.Kind == AnchorTasks, a.Kind == AnchorSteps:
			tasks = append(tasks, m)
		default:
			out = append(out, m)
		}
	}
	if c.Summary != "" {
		out = append(out, harness("compaction", mark, notice(c, len(skills))),
			dataBlock("summary", mark, Escape(c.Summary+files(c))))
	}
	out = append(append(out, skills...), tasks...)
	for _, p := range c.Pinned {
		out = append(out, PinMessage(p, mark))
	}
	return out
}

func anchorMessage(a *Anchor, mark string) llm.Message {
	switch a.Kind {
	case AnchorSession, AnchorAgents, AnchorCatalog, AnchorDate:
		return FactsMessages(&Facts{Part: FactsPart(a.Kind), Text: a.Text}, mark)[0]
	case AnchorSteps:
		return harness("checklist", mark, Escape(a.Text))
	case AnchorTasks:
		return harness("task_list", mark, Escape(a.Text))
	}
	return llm.Message{Role: llm.User, Parts: text(fmt.Sprintf(`<skill name="%s" digest="%s" mark="%s">`+"\n%s\n</skill>",
		EscapeAttr(a.Name), EscapeAttr(a.SHA256), EscapeAttr(mark), a.Text))}
}

// notice stands in front of the summary.
func notice(c *Compact, skills int) string {
	words := "The conversation before this was replaced by the summary that follows."
	if skills > 0 {
		words += fmt.Sprintf(" Then: the whole body of each active skill, one a message (%d).", skills)
	}
	switch {
	case len(c.Pinned) == 0:
	case c.Pinned[0].Step == nil:
		words += " Last: the user's request that you work on, in their words."
	case len(c.Pinned) == 1:
		words += " Last: the prompt of the workflow step that you work on."
	default:
		words += " Last: the prompt of the workflow step that you work on, and what the user said since."
	}
	return words
}

// files lists what was read and changed.
func files(c *Compact) string {
	var b strings.Builder
	for _, l := range []struct {
		what  string
		paths []string
	}{{"Files read", c.Read}, {"Files changed", c.Changed}} {
		if len(l.paths) > 0 {
			b.WriteString("\n\n" + l.what + ":\n" + strings.Join(l.paths, "\n"))
		}
	}
	return b.String()
}

// PinMessage is the message of words that are kept, whole or their head and
// tail: a person's as they are, a step's prompt as the harness's.
func PinMessage(p Pin, mark string) llm.Message {
	if p.Step != nil {
		return stepMessage(p.Step, mark, p.Text)
	}
	return llm.Message{Role: llm.User, Parts: text(p.Text)}
}
