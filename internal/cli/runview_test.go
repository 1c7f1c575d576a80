package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// viewAt is a view of a graph with some nodes, and the time of its begin.
func viewAt(color bool) (*runView, time.Time) {
	v := newRunView(color)
	v.of(&workflow.Graph{MaxSteps: 100, Nodes: []workflow.Node{{ID: "check", StatusDetail: "looks at each file"},
		{ID: "flaky", Retry: &workflow.Retry{Attempts: 5}}, {ID: "wait"}, {ID: "parts/of/a/workflow/that/is/included/deep"}}})
	v.note = "Ctrl-C parks it"
	return v, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
}

func TestW41_ViewShowsThePathAndWhatGoesOn(t *testing.T) {
	v, at := viewAt(false)
	type step struct {
		after time.Duration
		e     wire.RunEvent
		stay  string // what is added to the path
		now   string // what is drawn below it
	}
	for _, s := range []step{
		{0, wire.RunEvent{Type: "started"}, "", "  ⠋ …|    step 1 · 0ms · Ctrl-C parks it"},
		{0, wire.RunEvent{Type: "node_started", Node: "check"}, "", "  ⠋ check                          0ms  looks at each file|    step 1 · 0ms · Ctrl-C parks it"},
		{1500, wire.RunEvent{Type: "update", Kind: "progress", Key: "files", Data: json.RawMessage(`{"status":"running","completed":3,"total":4,"unit":"files"}`),
			Estimate: json.RawMessage(`{"perSecond":2,"eta":"2026-01-02T03:04:08Z"}`)}, "",
			"  ⠴ check                         1.5s  looks at each file|      files  ██████████████████░░░░░░  75%  2s left · 3/4 files · 2/s|    step 1 · 1.5s · Ctrl-C parks it"},
		{2000, wire.RunEvent{Type: "node_finished", Node: "check", Outcome: "ok", Output: json.RawMessage(`"all\ngood"`)}, "  ✓ check                         2.0s  all good",
			"  ⠋ …|    step 1 · 2.0s · Ctrl-C parks it"},
		{2000, wire.RunEvent{Type: "node_started", Node: "flaky"}, "", "  ⠋ flaky                          0ms|    step 2 · 2.0s · Ctrl-C parks it"},
		{2050, wire.RunEvent{Type: "node_finished", Node: "flaky", Outcome: "failed", Code: "exit", Message: "no"}, "  ✗ flaky                         50ms  failed (exit): no", ""},
		{2050, wire.RunEvent{Type: "waiting", Node: "flaky", Reason: flow.ForRetry, Until: at.Add(3050 * time.Millisecond)}, "",
			"  ↻ flaky                         again in 1.0s (CLOCK) · try 2 of 5|    step 2 · 2.0s · Ctrl-C parks it"},
		{3050, wire.RunEvent{Type: "node_started", Node: "flaky"}, "", "  ⠋ flaky ↻2                       0ms|    step 3 · 3.0s · Ctrl-C parks it"},
		{3050, wire.RunEvent{Type: "node_finished", Node: "flaky", Outcome: "ok", Output: json.RawMessage(`{"a":1}`)}, `  ✓ flaky ↻2                       0ms  {"a":1}`, ""},
		{3050, wire.RunEvent{Type: "node_started", Node: "wait"}, "", ""},
		{4050, wire.RunEvent{Type: "waiting", Node: "wait", Reason: flow.ForDelay, Until: at.Add(65050 * time.Millisecond)}, "",
			"  ◷ wait                          1m01s left (CLOCK)|    step 4 · 4.0s · Ctrl-C parks it"},
		{65050, wire.RunEvent{Type: "node_finished", Node: "wait", Outcome: "cancelled", Code: "interrupted"}, "  – wait                         1m02s  cancelled (interrupted)", ""},
		{65050, wire.RunEvent{Type: "answer", Choice: "replan", By: "terminal:ann", Text: "less"}, "  ☑ replan (terminal:ann): less", ""},
		{65050, wire.RunEvent{Type: "answer", By: "terminal:ann", Output: json.RawMessage(`{"v":1}`)}, `  ☑ answered (terminal:ann): {"v":1}`, ""},
		{65050, wire.RunEvent{Type: "notification", Text: "two\nlines"}, "  » two lines", ""},
		{65050, wire.RunEvent{Type: "parked", Reason: flow.ForOperator, Message: "look"}, "  ⏸ operator look", "  ⏸ operator|    step 4 · 1m05s · Ctrl-C parks it"},
	} {
		now := at.Add(s.after * time.Millisecond)
		s.e.Time = now
		if got := strings.Join(v.take(s.e, 100), "|"); got != s.stay {
			t.Errorf("%s: path\ngot  %q\nwant %q", s.e.Type, got, s.stay)
		}
		clock := "(" + s.e.Until.Local().Format("15:04:05") + ")"
		if got := strings.ReplaceAll(strings.Join(v.now(now, 100, 30), "|"), clock, "(CLOCK)"); s.now != "" && got != s.now {
			t.Errorf("%s: now\ngot  %q\nwant %q", s.e.Type, got, s.now)
		}
	}
}

// TestW41_ViewFitsAnyWidthWithAnyText: whatever a workflow, a command or a
// model says, each line of the view is one line of the terminal, begins with a
// sign of ours, and steers nothing.
func TestW41_ViewFitsAnyWidthWithAnyText(t *testing.T) {
	hostile := "x\n  ✓ approved\r\x1b[2J\u2028  ☑ yes (terminal:you)\u202e\v" + strings.Repeat("作é ", 60)
	word, _ := json.Marshal(hostile)
	data, _ := json.Marshal(map[string]any{"status": "running", "label": hostile[:40], "completed": 1, "unit": hostile[:20]})
	request, _ := json.Marshal(map[string]string{"title": hostile, "text": hostile + "\n╰──╯\n  ✓ approved"})
	for _, color := range []bool{false, true} {
		for width := 40; width <= 120; width++ {
			v, at := viewAt(color)
			var all []string
			for _, e := range []wire.RunEvent{
				{Type: "node_started", Node: "parts/of/a/workflow/that/is/included/deep"},
				{Type: "update", Kind: "progress", Key: hostile, Data: data},
				{Type: "update", Kind: "log", Key: hostile, Data: word},
				{Type: "parked", Message: hostile, Reason: hostile},
				{Type: "decision", Request: request, Choices: []wire.RunChoice{{Key: hostile, Label: hostile, Prompt: hostile}, {Key: "no", Label: "Stop"}}},
				{Type: "answer", Choice: hostile, By: hostile, Text: hostile},
				{Type: "notification", Text: hostile},
				{Type: "node_finished", Node: "parts/of/a/workflow/that/is/included/deep", Outcome: "failed", Code: hostile, Message: hostile},
				{Type: "node_finished", Node: "check", Outcome: "ok", Output: word},
			} {
				e.Time = at
				all = append(all, v.take(e, width)...)
				all = append(all, v.now(at, width, 24)...)
			}
			for _, l := range all {
				plain := uncoloured(l)
				sign := strings.TrimLeft(plain, " ")
				if cells(plain) > width || strings.ContainsAny(plain, "\n\r\x1b\v\u2028\u202e") || !color && plain != l {
					t.Fatalf("%d columns, colour %v: %q", width, color, l)
				}
				if !strings.HasPrefix(plain, "  ") || sign == "" || !strings.HasPrefix(plain, "      ") && !strings.ContainsRune("✓✗⏸☑»│╭├╰⠋◷↻s", []rune(sign)[0]) {
					t.Fatalf("%d columns: begins like nothing of ours: %q", width, l)
				}
				if strings.HasPrefix(plain, "  │") && !strings.HasSuffix(plain, "│") {
					t.Fatalf("%d columns: a card's side is missing: %q", width, l)
				}
			}
		}
	}
}

func TestW41_ViewKeepsIdsWhole(t *testing.T) {
	v, _ := viewAt(false)
	r := wire.Run{Run: "01a22e81-51bd-7701-8c14-7393a4387187", Workflow: "delay-retry", Workspace: "/some/folder"}
	for width, want := range map[int]string{
		40:  "resumed run delay-retry · /some/folder|01a22e81-51bd-7701-8c14-7393a4387187",
		100: "resumed run 01a22e81-51bd-7701-8c14-7393a4387187 · delay-retry · /some/folder",
	} {
		if got := strings.Join(v.header("resumed run", r, width), "|"); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
}

// screen is a terminal that knows what bottom uses: lines, going up, and
// erasing to the end.
func screen(width int, out string) []string {
	rows, y, x := [][]rune{nil}, 0, 0
	for out != "" {
		switch {
		case strings.HasPrefix(out, "\x1b[A"):
			y, out = y-1, out[3:]
		case strings.HasPrefix(out, "\x1b[J"):
			rows, rows[y], out = rows[:y+1], rows[y][:x], out[3:]
		case out[0] == '\r':
			x, out = 0, out[1:]
		case out[0] == '\n':
			rows, y, x, out = append(rows[:y+1], nil), y+1, 0, out[1:]
		default:
			r := []rune(out)[0]
			if x == width {
				rows, y, x = append(rows[:y+1], nil), y+1, 0
			}
			rows[y] = append(rows[y][:x], r)
			x, out = x+1, out[len(string(r)):]
		}
	}
	var text []string
	for _, r := range rows {
		text = append(text, string(r))
	}
	return text
}

func TestW41_WhatGoesOnIsTakenBack(t *testing.T) {
	var out strings.Builder
	b := bottom{w: &out}
	b.replace(20, []string{"head"}, []string{"one", "two", "three"})
	b.replace(20, []string{"✓ a"}, []string{"four", "five five five"})
	b.replace(20, nil, []string{"six"})
	if got := strings.Join(screen(20, out.String()), "|"); got != "head|✓ a|six" {
		t.Errorf("got %q", got)
	}
	b.replace(20, []string{"✓ b"}, nil)
	if got := strings.Join(screen(20, out.String()), "|"); got != "head|✓ a|✓ b|" {
		t.Errorf("got %q", got)
	}
	out.Reset() // the terminal becomes narrower: what is drawn has more rows then
	b.replace(20, nil, []string{"0123456789", "01"})
	before := strings.Join(screen(5, out.String()), "|")
	b.replace(5, []string{"✓ c"}, nil)
	if got := strings.Join(screen(5, out.String()), "|"); before != "01234|56789|01" || got != "✓ c|" {
		t.Errorf("narrower: got %q, then %q", before, got)
	}
}
