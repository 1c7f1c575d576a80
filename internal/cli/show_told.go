package cli

import (
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// told prints what the model was told beside people's words and results.
func (s *showing) told(ms ...llm.Message) {
	for _, m := range ms {
		text := transcript.TextOf(m.Parts)
		if s.full {
			s.say(dim, "\nThe model was told:")
			s.words(dim, text)
			continue
		}
		tag, body, _ := strings.Cut(strings.Trim(text, "<"), "\n")
		if i := strings.LastIndex(body, "\n</"); i >= 0 {
			body = body[:i]
		}
		name, _, _ := strings.Cut(tag, " mark=")
		s.say(dim, "  · told: %s: %s", strings.ReplaceAll(name, `"`, ""), oneLine(s.hide.text(body), s.room(200)-len(name)))
	}
}
