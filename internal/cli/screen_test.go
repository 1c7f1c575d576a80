package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/wire"
)

// onTerminal is a text output as it is on a terminal of 40 columns.
func onTerminal(out, err *strings.Builder) *textOutput {
	o := newTextOutput(out, err)
	o.width, o.now.redraw = 40, true
	o.live = stream{on: true, flow: flowText{width: 40}}
	return o
}

func assistant(typ, text string) wire.Event {
	e := wire.Event{Type: typ, Role: "assistant", Text: text}
	if typ == "message_update" {
		e.Text, e.Delta = "", &wire.Delta{Type: "text", Text: text}
	}
	return e
}

func TestC12_AnswerIsPrintedAsItComes(t *testing.T) {
	const mark = "S4HJIDYLGVP5YNBG"
	var out, err strings.Builder
	o := onTerminal(&out, &err)
	o.redact(mark)
	o.event(assistant("message_start", ""))
	for _, s := range []string{"One two three four five six seven eight", " nine ten.\r", "\nThe mark is S4HJIDYL", "GVP5YNBG, you see.\x1b[2J"} {
		o.event(assistant("message_update", s))
	}
	o.event(assistant("message_discarded", ""))
	o.event(assistant("message_start", ""))
	o.event(assistant("message_update", "Again, from"))
	o.event(assistant("message_update", " the beginning."))
	o.event(assistant("message_end", "Again, from the beginning."))
	o.result(wire.Result{Status: "done", Reason: "done", Text: "Again, from the beginning."})
	if e := o.close(0); e != nil {
		t.Fatal(e)
	}
	want := "\nOne two three four five six seven eight\nnine ten.\nThe mark is [mark], you see.\uFFFD[2J\n" +
		"  ! this answer was broken off and\n  │ doesn't count\n\nAgain, from the beginning.\ndone · 0 tokens in (0 cached), 0 out\n"
	if got := err.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if out.String() != "" {
		t.Errorf("the answer was repeated: %q", out.String())
	}
}

func TestC12_LongCallsAreSeen(t *testing.T) {
	call := wire.Event{Type: "tool_execution_start", Call: "c1.1", Tool: "bash", Args: json.RawMessage(`{"command":"sleep 100"}`)}
	for _, c := range []struct {
		name   string
		redraw bool
		after  time.Duration
		want   string
	}{
		{"C12 on a terminal, soon", true, calm / 2, ""},
		{"C12 on a terminal", true, 12*time.Second + calm/2, "\r\x1b[K  … bash sleep 100 12s\r\x1b[K"},
		{"C12 elsewhere, soon", false, calm / 2, ""},
		{"C12 elsewhere", false, 12 * time.Second, "  … bash sleep 100\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, err strings.Builder
			o := onTerminal(&out, &err)
			o.now.redraw = c.redraw
			o.event(call)
			at := time.Now().Add(c.after)
			o.tick(at)
			if !c.redraw {
				o.tick(at) // is said once
			}
			if e := o.close(0); e != nil {
				t.Fatal(e)
			}
			if err.String() != c.want {
				t.Errorf("got %q, want %q", err.String(), c.want)
			}
		})
	}
}

// TestI6_CutTextsDontShowTheMark: the mark is taken out before a text is cut,
// so that not even its beginning is left.
func TestI6_CutTextsDontShowTheMark(t *testing.T) {
	const mark = "S4HJIDYLGVP5YNBG"
	for n := range 330 {
		var out, err strings.Builder
		o := newTextOutput(&out, &err)
		o.redact(mark)
		o.event(wire.Event{Type: "tool_execution_end", Call: "c1.1", Tool: "bash", Outcome: "error", Text: strings.Repeat("x", n) + mark + " and more",
			Args: json.RawMessage(`{"command":"` + strings.Repeat("y", n) + mark + `"}`)})
		if e := o.close(0); e != nil {
			t.Fatal(e)
		}
		if strings.Contains(err.String(), mark[:markShown+1]) {
			t.Fatalf("%d: %s", n, err.String())
		}
	}
}
