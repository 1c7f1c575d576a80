package transcript

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// How entries become messages (version 1). A renderer that would write other
// bytes for a stored entry is a new version and applies to entries of that
// version only, for the bytes that were sent must be found again.
//
// The harness's words go in developer messages, wrapped in a tag that carries
// the session's mark. Foreign words inside them go in a user message of their
// own, as an escaped <data> block with the mark. A person's words and tool
// results are passed on untouched.

// FactsMessages renders session facts.
func FactsMessages(f *Facts, mark string) []llm.Message {
	switch f.Part {
	case FactsSession:
		return []llm.Message{harness("session_facts", mark, f.Text)}
	case FactsDate:
		return []llm.Message{harness("system_note", mark, f.Text)}
	}
	from := string(f.Part)
	switch f.Part {
	case FactsAgents:
		from = "AGENTS.md"
	case FactsCatalog:
		from = "skill catalog"
	}
	body := f.Text
	if f.Part == FactsAgents {
		body = Escape(body)
	} else {
		body = unmask(body) // a catalog's descriptions are escaped where it is built
	}
	data := dataBlock(from, mark, body)
	if !f.Later {
		return []llm.Message{data}
	}
	what := harness("workspace_update", mark, "Changed: "+from+". The whole new text follows as data and replaces the old.")
	return []llm.Message{what, data}
}

// EarlyNote stands in front of words that were written before a yield.
func EarlyNote(mark string) llm.Message {
	return harness("system_note", mark, "The user wrote what follows before seeing your last message to them.")
}

// LostNote stands in place of a message whose record is lost.
func LostNote(mark string) llm.Message {
	return harness("system_note", mark, "A message stood here. It was lost when the session's files were damaged.")
}

// GapNote stands where a part of the conversation is lost.
func GapNote(mark string) llm.Message {
	return harness("system_note", mark, "A part of the conversation stood here. It was lost when the session's files were damaged.")
}

// LostResult stands in place of a result that is lost.
const LostResult = "The result of this call was lost when the session's files were damaged. The call may have run: look before you repeat it."

// ArrivalMessages renders an arrival at its delivery.
func ArrivalMessages(a *Arrive, mark string) []llm.Message {
	switch {
	case a.Step != nil:
		return []llm.Message{stepMessage(a.Step, mark, a.Text)}
	case a.Inject == "":
		return []llm.Message{{Role: llm.User, Parts: text(a.Text)}}
	case a.Trusted:
		return []llm.Message{harness(a.Inject, mark, Escape(a.Text))}
	}
	from := a.From
	if from == "" {
		from = a.Inject
	}
	say := "The content follows as data."
	if a.Say != "" {
		say = Escape(a.Say) + "\n\nThe result follows as data."
	}
	return []llm.Message{
		{Role: llm.Developer, Parts: text(tagged(a.Inject, mark, artifactAttrs(a), say))},
		dataBlock(from, mark, Escape(a.Text)),
	}
}

// stepMessage is the prompt of a step, with the attempt that it is of.
func stepMessage(s *Step, mark, prompt string) llm.Message {
	of := attrs([][2]string{{"workflow", s.Workflow}, {"step", s.Node}, {"attempt", s.Attempt}, {"kind", s.Kind}, {"completion", s.Completion}})
	return llm.Message{Role: llm.Developer, Parts: text(tagged(WorkflowStep, mark, of, Escape(prompt)))}
}

// artifactAttrs names the artifact of an update and its revisions.
func artifactAttrs(a *Arrive) string {
	return attrs([][2]string{{"ref", a.Ref}, {"from_revision", a.FromRevision}, {"to_revision", a.ToRevision}})
}

// attrs writes the attributes that have a value.
func attrs(list [][2]string) string {
	out := ""
	for _, at := range list {
		if at[1] != "" {
			out += " " + at[0] + `="` + EscapeAttr(at[1]) + `"`
		}
	}
	return out
}

// AnswerMessage renders an assistant message.
func AnswerMessage(a *Answer) llm.Message {
	return llm.Message{Role: llm.Assistant, Parts: a.Parts}
}

// ResultMessage renders the result of a call.
func ResultMessage(id, tool string, r *Result) llm.Message {
	return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Type: llm.ResultPart,
		Result: &llm.Result{CallID: id, Name: tool, Text: r.Text, IsError: r.Outcome != OutcomeOK}}}}
}

// TextOf joins the text parts.
func TextOf(parts []llm.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == llm.TextPart {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "") // one alone isn't copied
}

// Escape makes text harmless inside a tag: it can neither close its own tag
// nor open another, nor look as if it did.
func Escape(s string) string {
	if strings.ContainsAny(s, "&<>") {
		s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	}
	return unmask(s)
}

// unmask writes signs that pass for a bracket, or that nobody sees, as
// character references: what normalization turns into < or >, controls of the
// writing direction, signs without width, and the invisible alphabet of tags.
// Joiners stay, since scripts and pictures are made with them.
func unmask(s string) string {
	if strings.IndexFunc(s, masks) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if masks(r) {
			fmt.Fprintf(&b, "&#x%X;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// masks reports whether unmask spells out the sign.
func masks(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\t' && r != '\n' && r != '\r'
	case r < 0x80:
		return r == 0x7f
	case r == 0xFE64, r == 0xFE65, r == 0xFF1C, r == 0xFF1E, r == 0x226E, r == 0x226F: // small, wide and struck-through < and >
		return true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r == 0x200B, r >= 0x2060 && r <= 0x2064, r == 0xFEFF, r >= 0xE0000 && r <= 0xE007F: // unseen
		return true
	}
	return r >= 0x80 && r <= 0x9F || r == 0x2028 || r == 0x2029
}

// EscapeAttr is Escape for attribute values, which stay in one line.
func EscapeAttr(s string) string {
	s = Escape(s)
	if !strings.ContainsAny(s, "\"\n\r\t") {
		return s
	}
	return strings.NewReplacer(`"`, "&quot;", "\n", " ", "\r", " ", "\t", " ").Replace(s)
}

func text(s string) []llm.Part { return []llm.Part{{Type: llm.TextPart, Text: s}} }

// harness wraps the harness's own, already safe words.
func harness(tag, mark, body string) llm.Message {
	return llm.Message{Role: llm.Developer, Parts: text(tagged(tag, mark, "", body))}
}

// tagged writes a tag with the mark. attrs and body are safe already.
func tagged(tag, mark, attrs, body string) string {
	return "<" + tag + ` mark="` + EscapeAttr(mark) + `"` + attrs + ">\n" + body + "\n</" + tag + ">"
}

// dataBlock carries foreign, already escaped words.
func dataBlock(from, mark, body string) llm.Message {
	return llm.Message{Role: llm.User, Parts: text(`<data from="` + EscapeAttr(from) + `" mark="` + EscapeAttr(mark) + "\">\n" + body + "\n</data>")}
}
