package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// everyKind has an entry of each kind that is shown, with h wherever foreign
// words may stand.
func everyKind(h string) []transcript.Entry {
	diff, err := json.Marshal(map[string]string{"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-" + strings.ReplaceAll(h, "\n", "\n-") + "\n+" + strings.ReplaceAll(h, "\n", "\n+")})
	if err != nil {
		panic(err) // strings
	}
	id := func(n int) transcript.ID { return transcript.ID{Epoch: 1, Seq: n} }
	args := func(v string) string { b, _ := json.Marshal(map[string]string{"command": v}); return string(b) }
	bodies := []transcript.Body{
		&transcript.Open{Segment: 2, Owner: transcript.Owner{PID: 1, Host: h}},
		&transcript.Open{Segment: 3, Why: transcript.OpenDeposit, Owner: transcript.Owner{PID: 1, Host: h}},
		&transcript.Label{Text: h},
		&transcript.Facts{Part: transcript.FactsAgents, Text: h},
		&transcript.Arrive{AID: "a", Class: transcript.ClassPrompt, Human: true, Text: h},
		&transcript.Arrive{AID: "b", Class: transcript.ClassSteer, Human: true, From: h, Text: h},
		&transcript.Arrive{AID: "c", Class: transcript.ClassSteer, Inject: "artifact_update", From: h, Text: h},
		&transcript.Deliver{Arrivals: []transcript.ID{id(5), id(6), id(7), id(99)}},
		&transcript.Request{Break: h},
		&transcript.Answer{Parts: []llm.Part{{Type: llm.ThinkingPart, Text: h}, {Type: llm.TextPart, Text: h},
			{Type: llm.CallPart, Call: &llm.Call{ID: "c1", Name: "bash", Arguments: args(h)}},
			{Type: llm.CallPart, Call: &llm.Call{ID: "c2", Name: h, Arguments: h}}}, Stop: llm.StopLength},
		&transcript.Ask{Call: "c1", Rule: h},
		&transcript.Approval{Call: "c1", Choice: "deny", By: h, Reason: h},
		&transcript.Result{Call: "c1", Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: h, Details: diff,
			Skills: []transcript.SkillFact{{Name: h, Type: h, For: h, Steps: []string{h, h}}}}},
		&transcript.Result{Call: "c2", Output: transcript.Output{Outcome: transcript.OutcomeError, Text: h}},
		&transcript.Result{Call: "c3", Output: transcript.Output{Outcome: transcript.OutcomeUnknown, Text: h},
			Tasks:   &transcript.TaskList{Items: []transcript.Task{{ID: "1", Content: h, Label: h, Status: "blocked", Reason: h, Step: h}, {ID: "2", Content: h, Status: h}}},
			Message: &transcript.UserMessage{Text: h, Block: true, Reason: h, Deviations: []transcript.Deviation{{Skill: h, Step: h, Kind: h, Cause: h}}}},
		&transcript.Result{Call: "c4", Output: transcript.Output{Outcome: transcript.OutcomeOK}, Tasks: &transcript.TaskList{}},
		&transcript.Fail{Message: h, Partial: h},
		&transcript.Leaf{Why: h},
		&transcript.Resume{By: h},
		&transcript.Abort{By: h, Why: h},
		&transcript.Settled{Reason: transcript.Reason(h), Detail: h},
		stepArrive("d", transcript.StepPrompt, h),
		stepArrive("e", transcript.StepReminder, h),
		stepArrive("f", h, h),
		&transcript.Deliver{Arrivals: []transcript.ID{id(22)}},
		&transcript.Deliver{Arrivals: []transcript.ID{id(23)}},
		&transcript.Withdraw{Arrivals: []transcript.ID{id(24)}, By: h, Cause: h},
	}
	var out []transcript.Entry
	for i, b := range bodies {
		out = append(out, transcript.Entry{ID: id(i + 1), Body: b})
	}
	return out
}

func stepArrive(aid, kind, h string) *transcript.Arrive {
	return &transcript.Arrive{AID: aid, Class: transcript.ClassStep, Trusted: true, Inject: transcript.WorkflowStep, Text: h,
		Step: &transcript.Step{Run: h, Workflow: h, Node: h, Attempt: h, Kind: kind, Completion: transcript.CompleteAssistant}}
}

// TestW34_StepCard: a prompt is one line; --full shows the whole.
func TestW34_StepCard(t *testing.T) {
	short, full := shownAs(t, everyKind("fine"), false, 0), shownAs(t, everyKind("fine"), true, 0)
	for _, card := range []string{"  ▶ step fine › fine · assistant response\n", "  ↻ reminder fine › fine · assistant response\n", "  ▶ step fine › fine · assistant response · withdrawn (fine) by entry 1-27\n"} {
		if !strings.Contains(short, card) {
			t.Errorf("no %q in\n%s", card, short)
		}
	}
	if strings.Contains(short, "workflow_step") || !strings.Contains(full, `<workflow_step mark="" workflow="fine" step="fine" attempt="fine" kind="reminder" completion="assistant">`) {
		t.Errorf("the prompt is shown without --full, or not with it:\n%s\n%s", short, full)
	}
}

// shownAs is what session show prints of the entries.
func shownAs(t *testing.T, entries []transcript.Entry, full bool, width int) string {
	t.Helper()
	var out bytes.Buffer
	s := newShowing(&app{stdout: &out}, full, "")
	s.width = width
	for _, e := range entries {
		s.entry(e)
	}
	s.summary(session.Price{Input: 1})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return out.String()
}

// ownLines are the lines without a bar. "…" stands for what may differ.
func ownLines(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "│") {
			out = append(out, line)
		}
	}
	return out
}

// TestC6_ShowIsSafeFromItsContent: hostile words add no line that isn't behind
// a bar.
func TestC6_ShowIsSafeFromItsContent(t *testing.T) {
	for _, full := range []bool{false, true} {
		for _, width := range []int{0, 60} {
			plain, hostile := ownLines(shownAs(t, everyKind("fine"), full, width)), ownLines(shownAs(t, everyKind(hostileLines), full, width))
			if len(plain) != len(hostile) {
				t.Errorf("full %v, width %d: %d lines of ours with plain words, %d with hostile ones:\n%s", full, width, len(plain), len(hostile), strings.Join(hostile, "\n"))
				continue
			}
			for i := range plain {
				sign, _, _ := strings.Cut(strings.TrimLeft(plain[i], " "), " ")
				if got := strings.TrimLeft(hostile[i], " "); !strings.HasPrefix(got, sign) && sign != "fine" {
					t.Errorf("full %v, width %d: line %q became %q", full, width, plain[i], hostile[i])
				}
			}
			if text := strings.Join(hostile, ""); strings.ContainsAny(text, "\x1b\r\v\f\u0085\u2028\u2029") {
				t.Errorf("control characters in %q", text)
			}
		}
	}
}

func TestC6_ShowTellsWhatHappened(t *testing.T) {
	got := shownAs(t, everyKind("fine"), false, 0)
	for _, want := range []string{
		"── run 1, ", "\nUser\n  │ fine\n", "\nUser from fine (steer)\n  │ fine\n", "  ▸ artifact_update from fine (data)\n  │ fine\n",
		"  ! a message that is lost", "  ! request 1-9 doesn't extend the one before it, so the provider's cache is lost: fine",
		"Gamma, answer 1\n  │ fine\n", "  ! the answer was cut: length", "  ? bash fine asks (fine), approval 1-11", "  ▸ bash fine: deny by fine (fine)",
		"  ✓ bash fine\n    │ --- a/x\n    │ +++ b/x\n    │ @@ -1 +1 @@\n    │ -fine\n    │ +fine\n  ▸ skill fine (fine) is active, required by fine\n      1. fine\n",
		"  ⊘ fine (fine) · blocked · fine", "  ☒ fine · removed", "Gamma waits for the user (fine)\n  │ fine\n  ! deviation: fine, step fine (fine): fine",
		"── aborted by fine (fine)", "── settled: fine (fine)", "Checklist of fine\n  ! 1. fine · deviated: fine", "3 runs · 1 answer · 2 tool calls (2 failed) · 1 prefix break · 0 tokens in (0 cached), 0 out · $0.0000",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
