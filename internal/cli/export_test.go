package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// TestC6_PageSaysEachThingOnce: the words of a yield stand in its card and not
// in that of the call, too; a compaction isn't a fault; the id stands once; the
// tokens of summaries count.
func TestC6_PageSaysEachThingOnce(t *testing.T) {
	const id = "01a22e86-fc1e-7f24-aa20-267e4bc9cae9"
	log := &disk.Log{ID: id, Header: transcript.Session{Session: id, Model: "m", Variant: "base"}}
	for n, b := range []transcript.Body{
		&transcript.Request{Break: "compaction"},
		&transcript.Answer{Usage: llm.Usage{Input: 100, Output: 10}, Parts: []llm.Part{{Type: llm.CallPart,
			Call: &llm.Call{ID: "c1", Name: "message_user", Arguments: `{"message":"Shall I go on?","blockOnUser":true}`}}}},
		&transcript.Result{Call: "c1", Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: "told"},
			Message: &transcript.UserMessage{Text: "Shall I go on?", Block: true, Reason: "decision"}},
		&transcript.Compact{Why: "command", Summary: "Short.", Usage: llm.Usage{Input: 1000, Cached: 7, Output: 5}},
		&transcript.CompactFailed{Reason: "empty", Usage: llm.Usage{Input: 3000}},
		&transcript.Request{Break: "model"},
	} {
		log.Entries = append(log.Entries, transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: n + 1}, Time: time.Unix(1, 0), Body: b})
	}
	p := pageOf(log, session.Price{})
	var cards []string
	for _, b := range p.Blocks {
		cards = append(cards, b.Kind+" "+b.Title+" "+b.Text)
	}
	all := strings.Join(cards, "\n")
	if strings.Count(all, "Shall I go on?") != 1 || !strings.Contains(all, "yield Gamma waits for the user Shall I go on?") {
		t.Errorf("the yield:\n%s", all)
	}
	if strings.Count(all, "fail ") != 1 || !strings.Contains(all, "lost: model") || p.Breaks != 2 {
		t.Errorf("the breaks (%d):\n%s", p.Breaks, all)
	}
	if strings.Contains(p.Title, id) || p.ID != id {
		t.Errorf("title %q", p.Title)
	}
	if p.In != 4100 || p.Cached != 7 || p.Out != 15 {
		t.Errorf("tokens %d (%d) %d", p.In, p.Cached, p.Out)
	}
}
