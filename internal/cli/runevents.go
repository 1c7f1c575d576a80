package cli

import (
	"bytes"
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

// forUser is what a run waits for whose step waits for the user's words.
const forUser = "user"

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
		w.Choices = choicesOf(g.Node(w.Node))
	case flow.KindAnswered:
		w.Type, w.Decision, w.Choice, w.By = "answer", f.Decision, f.Choice, f.By
		if f.Choice == "" {
			w.Output = output
			break
		}
		var said struct{ Text string }
		if json.Unmarshal(output, &said) == nil {
			w.Text = said.Text
		}
	case flow.KindDelayed:
		w.Type, w.Reason = "waiting", flow.ForDelay
	case flow.KindRetry:
		w.Type, w.Reason = "waiting", flow.ForRetry
	case flow.KindYielded:
		w.Type, w.Reason = "waiting", forUser
	case flow.KindSpoke:
		w.Type = "resumed"
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

// runPrinter shows a run: as JSON lines, as text, or on a terminal as a view
// whose last lines are drawn again while something goes on.
type runPrinter struct {
	mu      sync.Mutex
	json    bool
	stdout  io.Writer
	stderr  io.Writer
	broken  chan struct{} // closed at the first write that failed
	failed  error
	ended   bool   // the result was printed
	over    bool   // the run had ended before this process came
	asked   string // the decision that was shown last
	words   string // how the run stands, instead of its status; "": that
	said    string // what a step's session said to the user last
	fault   string // how the run will say that its step has failed, if that was said whole
	calls   []openCall
	view    *runView // nil: no terminal that could take lines back
	block   bottom
	drawing bool
	prompt  bool // the cursor stands behind a prompt of ours
}

func newRunPrinter(a *app, asJSON bool) *runPrinter {
	p := &runPrinter{json: asJSON, stdout: a.stdout, stderr: a.stderr, broken: make(chan struct{}), block: bottom{w: a.stderr}}
	if !asJSON && widthOf(a.stderr) > 0 && a.env("TERM") != "dumb" {
		p.view = newRunView(a.env("NO_COLOR") == "")
	}
	return p
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
func (p *runPrinter) begin(r wire.Run, g *workflow.Graph) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		p.line(r)
		return
	}
	verb := "run"
	if r.Resumed && !p.over {
		verb = "resumed run"
	}
	if p.view == nil {
		where := r.Workspace
		if r.Session != "" {
			where += " · session " + r.Session
		}
		fmt.Fprintln(p.stderr, single(fmt.Sprintf("%s %s · %s · %s", verb, r.Run, r.Workflow, where)))
		return
	}
	p.view.of(g)
	width, _ := sizeOf(p.stderr)
	p.put(p.view.header(verb, r, width))
}

// before tells the view what had happened when this process came.
func (p *runPrinter) before(list []wire.RunEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view == nil {
		return
	}
	for _, e := range list {
		p.view.take(e, widestCard)
	}
	if n := p.view.done; n > 0 && !p.over {
		width, _ := sizeOf(p.stderr)
		p.put([]string{p.view.row(width, span{dim, "  … " + count(n, "step") + " before"})})
	}
	p.view.began = time.Now()
}

// events prints what happened.
func (p *runPrinter) events(list []wire.RunEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	width, _ := sizeOf(p.stderr)
	var stay []string
	for _, e := range list {
		if e.Type == "decision" {
			p.asked = e.Decision
		}
		switch {
		case p.json:
			p.line(e)
		case p.view != nil:
			stay = append(stay, p.view.take(e, width-1)...)
		default:
			stay = append(stay, eventLines(e)...)
		}
		if e.Type == "node_finished" {
			p.fault = faultOf(e, stay)
		}
	}
	if !p.json {
		p.put(stay)
	}
}

// faultOf is the message of a run whose step has failed in this way, if the
// lines that were printed say all of it.
func faultOf(e wire.RunEvent, printed []string) string {
	if e.Message == "" || len(printed) == 0 || !strings.Contains(uncoloured(printed[len(printed)-1]), e.Message) {
		return ""
	}
	return "node " + e.Node + ": " + e.Message
}

// question shows what is asked, unless it stands there already.
func (p *runPrinter) question(decision string, q question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == decision {
		return
	}
	p.asked = decision
	width, _ := sizeOf(p.stderr)
	if p.view == nil {
		p.put(q.plain())
	} else {
		p.put(q.card(width-1, p.view.color))
	}
}

func (p *runPrinter) notice(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := single("gamma: " + fmt.Sprintf(format, args...))
	if p.json {
		fmt.Fprintln(p.stderr, text)
		return
	}
	if before, command, ok := strings.Cut(text, ": "+program()+" "); ok && p.view != nil && cells(text) > p.wide() {
		text = before + ":\n    " + program() + " " + command // whole: it is to be copied
	}
	p.say(fit(text, p.wide()))
}

// eventLines are an event as people read it in a file or a pipe; none for one
// that says nothing new.
func eventLines(e wire.RunEvent) []string {
	if e.Type == "decision" {
		if q, err := questionOf(e.Request, e.Choices, e.Until); err == nil {
			return q.plain()
		}
		return nil // the request was checked before it was stored
	}
	if unanswered(e) {
		return nil
	}
	if text := eventText(e); text != "" {
		return []string{single(text)}
	}
	return nil
}

// unanswered reports whether a question ended without an answer: its run was
// cancelled, and says so.
func unanswered(e wire.RunEvent) bool {
	return e.Type == "answer" && e.Choice == "" && len(e.Output) == 0
}

// eventText is an event in one line.
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
		return text + " · " + oneLine(endedText(e.Outcome, e.Code, e.Message), 300)
	case "update":
		return "    " + newsText(e)
	case "waiting":
		if e.Reason == forUser {
			return "" // its session asks
		}
		return "  ⏸ " + e.Reason + untilText(e.Until)
	case "parked":
		if e.Reason == flow.ForHost && e.Message == "" {
			return "" // how the run stands is said at its end
		}
		return strings.TrimRight("  ⏸ parked"+detail(e.Reason)+" "+oneLine(e.Message, 300), " ")
	case "answer":
		return fmt.Sprintf("  ☑ %s%s%s", orText(e.Choice, "answered"), detail(e.By), answerText(e))
	case "notification":
		return "  » " + oneLine(e.Text, 200)
	}
	return ""
}

// newsText is an update in words.
func newsText(e wire.RunEvent) string {
	var p workflow.Progress
	if e.Kind != "progress" || json.Unmarshal(e.Data, &p) != nil {
		return fmt.Sprintf("%s %s", newsName(e), oneLine(dataText(e.Data), 100))
	}
	text := newsName(e)
	switch {
	case p.Completed != nil && p.Total != nil && *p.Total > 0:
		text += fmt.Sprintf(" %d/%d %s · %d%%", *p.Completed, *p.Total, p.Unit, 100**p.Completed / *p.Total)
	case p.Completed != nil:
		text += fmt.Sprintf(" %d %s", *p.Completed, p.Unit)
	}
	if p.Phase != "" {
		text += " · " + p.Phase
	}
	if p.Status != "running" {
		text += " · " + p.Status
	}
	return oneLine(text, 200)
}

// endedText is how a step or a run ended: what its reason and its message say
// beyond its outcome.
func endedText(outcome, reason, message string) string {
	text := outcome
	if reason != outcome {
		text += detail(reason)
	}
	switch {
	case message == "":
		return text
	case strings.HasPrefix(message, text+" "):
		return message
	}
	return text + ": " + message
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

// queued prints the bare id of a run that is left to others, for who copies it
// into a variable.
func (p *runPrinter) queued(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		return // the result has it
	}
	if _, err := fmt.Fprintln(p.stdout, id); err != nil && p.failed == nil {
		p.failed = err
	}
}

// result prints the last line, or the output and the status.
func (p *runPrinter) result(r wire.RunResult, hint string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.json {
		if len(r.Output) == 0 {
			r.Output = json.RawMessage("null")
		}
		p.line(r)
		return
	}
	p.drawing = false
	p.put(nil)
	if r.Status == string(flow.Completed) {
		if p.view != nil {
			p.put([]string{""}) // sets the output apart
		}
		if _, err := fmt.Fprintln(p.stdout, p.output(r.Output)); err != nil && p.failed == nil {
			p.failed = err
		}
	}
	p.put(p.status(r))
	if hint != "" {
		p.say(fit(hint, p.wide()))
	}
}

// output is a run's output for people and pipes. On a terminal no line of it
// can be taken for one of ours.
func (p *runPrinter) output(raw json.RawMessage) string {
	text := dataText(raw)
	if widthOf(p.stdout) == 0 {
		return printable(text)
	}
	var b bytes.Buffer
	if text == string(raw) && json.Indent(&b, raw, "", "  ") == nil {
		text = b.String()
	}
	return guarded(text)
}

// status is how a run stands, in lines.
func (p *runPrinter) status(r wire.RunResult) []string {
	first, rest, more := strings.Cut(strings.TrimSpace(lines(r.Message)), "\n")
	if p.fault != "" && r.Message == p.fault { // it is said in the line of its step
		first, _, _ = strings.Cut(first, ": ")
	}
	line := endedText(r.Status, r.Reason, first)
	if p.words != "" {
		line = endedText(p.words, "", first)
	}
	if p.over {
		line += " · it had ended before; nothing was done"
	} else if p.view != nil && r.Status == string(flow.Completed) {
		line += " · " + count(p.view.steps, "step") + " · " + span10(p.view.took())
	}
	out := []string{single(line)}
	if p.view != nil {
		mark := map[string]span{string(flow.Completed): {green, "✓ "}, string(flow.Failed): {red, "✗ "}, string(flow.TimedOut): {red, "✗ "},
			string(flow.Cancelled): {red, "✗ "}}[r.Status]
		if mark.text == "" {
			mark = span{yellow, "⏸ "}
		}
		out = strings.Split(fit(mark.text+single(line), p.wide()), "\n") // whole: it says what failed
		for i, l := range out {
			out[i] = spanned(1<<20, p.view.color, span{mark.code, l})
		}
	}
	if more {
		out = append(out, strings.Split(barred(rest, p.wide()), "\n")...)
	}
	return out
}
