package session

import (
	"strings"
	"unicode"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// dueFacts returns the next facts entry that the model must be told before a
// run starts, or nil: the session facts once, first of all; a date that
// changed; AGENTS.md and the catalog when they are new or changed.
func dueFacts(s *State, now FactsNow) transcript.Body {
	if _, told := s.Told[transcript.FactsSession]; !told {
		return facts(transcript.FactsSession, sessionFacts(s.Header, now), now.Date, false)
	}
	if now.Date != s.Date {
		return facts(transcript.FactsDate, "The date is now "+now.Date+".", now.Date, true)
	}
	for _, part := range []struct {
		name transcript.FactsPart
		text string
	}{{transcript.FactsAgents, now.Agents}, {transcript.FactsCatalog, now.Catalog}} {
		digest, told := s.Told[part.name]
		if part.text == "" && !told || told && digest == digestOf([]byte(part.text)) {
			continue
		}
		return facts(part.name, part.text, "", told)
	}
	return nil
}

func facts(part transcript.FactsPart, text, date string, later bool) *transcript.Facts {
	return &transcript.Facts{Part: part, Text: text, Digest: digestOf([]byte(text)), Date: date, Later: later}
}

// oneLine makes foreign text, such as a folder's name, harmless in a line of
// the harness's words.
func oneLine(s string) string {
	return transcript.Escape(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s))
}

// sessionFacts is the text of the first message of every context.
func sessionFacts(h transcript.Session, now FactsNow) string {
	lines := []string{"Working directory: " + oneLine(h.Workspace), "Date: " + now.Date}
	if now.Locale != "" {
		lines = append(lines, "Locale: "+oneLine(now.Locale))
	}
	lines = append(lines, "Session mark: "+h.Mark)
	return strings.Join(lines, "\n")
}
