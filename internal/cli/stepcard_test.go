package cli

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// TestW34_StepCardInThePage: a card that unfolds to the whole prompt, without
// the mark and with nothing that a browser would carry out.
func TestW34_StepCardInThePage(t *testing.T) {
	h := "<script>alert(1)</script> MARK \u202etxt"
	id := func(n int) transcript.ID { return transcript.ID{Epoch: 1, Seq: n} }
	var entries []transcript.Entry
	for _, b := range []transcript.Body{
		&transcript.Open{Segment: 1}, &transcript.Session{Session: "s", Mark: "MARK"},
		stepArrive("a/step.1@0", transcript.StepPrompt, h),
		&transcript.Deliver{Arrivals: []transcript.ID{id(3)}},
		&transcript.Abort{By: "workflow", Cause: transcript.CauseTimeout},
		&transcript.Settled{Run: id(4), Reason: transcript.Aborted, Attempt: h},
		stepArrive("b/resume.1@0", transcript.StepResume, h),
		&transcript.Withdraw{Attempt: h, Arrivals: []transcript.ID{id(7)}, By: "workflow", Cause: transcript.CauseCancel},
		stepArrive("c/step.1@0", transcript.StepPrompt, h),
	} {
		e := transcript.Entry{ID: id(len(entries) + 1), Body: b}
		if n := len(entries); e.IsNode() && n > 3 {
			e.Parent = entries[n-1].ID
		}
		entries = append(entries, e)
	}
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	if err := writePage(w, &disk.Log{ID: "s", Header: transcript.Session{Mark: "MARK"}, Entries: entries}, session.Price{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if n := strings.Count(page, `class="quiet step"`); n != 3 {
		t.Errorf("%d cards, want 3", n)
	}
	has(t, page, "▶ step &lt;script&gt;", "↻ resume &lt;script&gt;", "· assistant response", "delivered by entry 1-4", "withdrawn by entry 1-8", "waits to be delivered", "aborted by workflow (timeout)")
	for _, bad := range []string{"<script", "MARK", "\u202e"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

// TestE3_EventsNameTheStep: programs get the ids, and people one line.
func TestE3_EventsNameTheStep(t *testing.T) {
	e := owner.StepOf(&transcript.Step{Run: "r", Workflow: "w", Node: "n", Attempt: "r/n#1", Kind: transcript.StepReminder, Completion: transcript.CompleteSubmit, MaxChars: 3})
	if e.Run != "r" || e.Workflow != "w" || e.Node != "n" || e.Attempt != "r/n#1" || e.Kind != "reminder" || e.Completion != "submit" {
		t.Errorf("%+v", e)
	}
	if got := stepCard(e); got != "↻ reminder w › n" {
		t.Errorf("card %q", got)
	}
}
