package owner

import (
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// What watching costs the session's goroutine: a fragment of an answer, and a
// tool's result of 50 KiB.
func BenchmarkP2_Publish(b *testing.B) {
	for name, p := range map[string]agent.Published{
		"delta": {Update: session.Update{Type: session.MessageUpdate}, Delta: &llm.Delta{Type: llm.TextDelta, Text: "word "}},
		"result": {Update: session.Update{Type: session.ToolEnd,
			Result: &transcript.Result{Output: transcript.Output{Text: strings.Repeat("x", 50<<10)}}}},
	} {
		b.Run(name, func(b *testing.B) {
			f := NewFeed(1, mark)
			b.ReportAllocs()
			for b.Loop() {
				p.Seq++
				f.Publish(p)
			}
		})
	}
}
