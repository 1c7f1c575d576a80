package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// runEvents are the events of one stored commit.
func runEvents(g *workflow.Graph, run string, e store.Event, request workflow.JSON) []wire.RunEvent {
	var out []wire.RunEvent
	for _, f := range e.Facts {
		w := wire.RunEvent{Seq: e.Seq, Run: run, Node: f.Node, Attempt: f.Attempt}
		if e.At > 0 {
			w.Time = time.UnixMilli(e.At).UTC()
		}
		if f.At > 0 {
			w.Until = time.UnixMilli(f.At).UTC()
		}
		if describe(g, &w, f, e.Output, request) {
			out = append(out, w)
		}
		if f.Notice != "" && f.Kind == flow.KindFinished {
			out = append(out, wire.RunEvent{Type: "notification", Seq: e.Seq, Run: run, Time: w.Time, Node: f.Node, ID: f.Notice, Text: f.Text})
		}
	}
	return out
}

// describe sets what an event says; false: nobody is told of the fact.
func describe(g *workflow.Graph, w *wire.RunEvent, f flow.Fact, output, request workflow.JSON) bool {
	switch f.Kind {
	case flow.KindStarted:
		w.Type, w.Title, w.Output = "started", f.Title, output
	case flow.KindAttempt:
		w.Type = "node_started"
	case flow.KindFinished:
		w.Type, w.Outcome, w.Code, w.Message = "node_finished", string(f.Outcome), f.Code, f.Message
		if f.Outcome == flow.OK {
			w.Output = output
		}
	case flow.KindUpdated:
		w.Type, w.Kind, w.Key, w.Data, w.Estimate = "update", f.Type, f.Key, f.Data, f.Estimate
	case flow.KindAsked:
		w.Type, w.Decision, w.Request = "decision", f.Decision, request
		if n := g.Node(w.Node); n != nil && n.HumanDecision != nil {
			for _, c := range n.HumanDecision.Choices {
				w.Choices = append(w.Choices, wire.RunChoice(c))
			}
		}
	case flow.KindAnswered:
		w.Type, w.Decision, w.Choice, w.By = "answer", f.Decision, f.Choice, f.By
	case flow.KindDelayed:
		w.Type, w.Reason = "waiting", flow.ForDelay
	case flow.KindRetry:
		w.Type, w.Reason = "waiting", flow.ForRetry
	case flow.KindPaused, flow.KindHeld:
		w.Type, w.Reason = "waiting", flow.ForPause
	case flow.KindParked:
		w.Type, w.Reason, w.Message = "parked", f.Reason, f.Message
	case flow.KindResumed, flow.KindUnparked:
		w.Type = "resumed"
	default:
		return false
	}
	return true
}

// runPrinter shows a run, as JSON lines or as text.
type runPrinter struct {
	mu     sync.Mutex
	json   bool
	stdout io.Writer
	stderr io.Writer
	broken chan struct{} // closed at the first write that failed
	failed error
}

func newRunPrinter(a *app, asJSON bool) *runPrinter {
	return &runPrinter{json: asJSON, stdout: a.stdout, stderr: a.stderr, broken: make(chan struct{})}
}

func (p *runPrinter) line(v any) {
	if p.failed != nil {
		return
	}
	if p.failed = jsonLine(p.stdout, v); p.failed != nil {
		close(p.broken)
	}
}

// begin prints the first line.
func (p *runPrinter) begin(r wire.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		p.line(r)
		return
	}
	verb := "run"
	if r.Resumed {
		verb = "resumed run"
	}
	where := printable(r.Workspace)
	if r.Session != "" {
		where += " · session " + r.Session
	}
	fmt.Fprintf(p.stderr, "%s %s · %s · %s\n", verb, r.Run, r.Workflow, where)
}

// events prints what happened.
func (p *runPrinter) events(list []wire.RunEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range list {
		if p.json {
			p.line(e)
		} else if text := eventText(e); text != "" {
			fmt.Fprintln(p.stderr, printable(text))
		}
	}
}

func (p *runPrinter) notice(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.stderr, printable("gamma: "+fmt.Sprintf(format, args...)))
}

// eventText is an event as people read it; "" for one that says nothing new.
func eventText(e wire.RunEvent) string {
	switch e.Type {
	case "node_started":
		return "  ▶ " + e.Node
	case "node_finished":
		mark := map[string]string{"ok": "✓", "cancelled": "–"}[e.Outcome]
		if mark == "" {
			mark = "✗"
		}
		text := fmt.Sprintf("  %s %s", mark, e.Node)
		if e.Outcome == "ok" {
			return text + " " + oneLine(string(e.Output), 80)
		}
		return text + " · " + e.Outcome + detail(e.Code) + ": " + oneLine(e.Message, 300)
	case "update":
		return fmt.Sprintf("    %s %s %s", e.Kind, e.Key, oneLine(string(e.Data), 100))
	case "waiting":
		return "  ⏸ " + e.Reason + untilText(e.Until)
	case "parked":
		return "  ⏸ parked" + detail(e.Reason) + " " + oneLine(e.Message, 300)
	case "answer":
		return fmt.Sprintf("  ☑ %s%s", orText(e.Choice, "answered"), detail(e.By))
	case "notification":
		return "  » " + oneLine(e.Text, 200)
	}
	return ""
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " until " + t.Local().Format("2006-01-02 15:04:05")
}

// result prints the last line, or the output and the status.
func (p *runPrinter) result(r wire.RunResult, hint string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		if len(r.Output) == 0 {
			r.Output = json.RawMessage("null")
		}
		p.line(r)
		return
	}
	if r.Status == string(flow.Completed) {
		text := string(r.Output)
		var s string
		if json.Unmarshal(r.Output, &s) == nil {
			text = s
		}
		if _, err := fmt.Fprintln(p.stdout, printable(text)); err != nil && p.failed == nil {
			p.failed = err
		}
	}
	line := r.Status + detail(r.Reason)
	first, rest, more := strings.Cut(strings.TrimSpace(lines(r.Message)), "\n")
	if first != "" {
		line += ": " + first
	}
	fmt.Fprintln(p.stderr, printable(line))
	if more {
		fmt.Fprintln(p.stderr, barred(rest, 0))
	}
	if hint != "" {
		fmt.Fprintln(p.stderr, hint)
	}
}
