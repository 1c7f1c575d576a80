package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// output shows a run: as JSON lines, or as text. Its methods may be called by
// several goroutines.
type output interface {
	session(wire.Session)
	redact(mark string) // from now on
	event(wire.Event)
	notice(text string)
	result(wire.Result)
	failed(err error, code int) // the command ends with this error
}

// jsonOutput prints JSON lines on stdout and notices on stderr.
type jsonOutput struct {
	mu     sync.Mutex
	out    io.Writer
	err    io.Writer
	hide   redactor
	opened string // session id
	ended  bool
}

func newJSONOutput(out, err io.Writer) *jsonOutput { return &jsonOutput{out: out, err: err} }

func (o *jsonOutput) line(v any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.print(v)
}

// print prints a line. o.mu is held.
func (o *jsonOutput) print(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintf(o.err, "gamma: output: %v\n", err)
		return
	}
	if _, err := o.out.Write(o.hide.line(b.Bytes())); err != nil {
		fmt.Fprintf(o.err, "gamma: standard output: %v\n", err)
	}
}

func (o *jsonOutput) redact(mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hide = redactor{mark: mark}
}

func (o *jsonOutput) session(s wire.Session) { o.opened = s.Session; o.line(s) }
func (o *jsonOutput) notice(text string)     { fmt.Fprintln(o.err, "gamma: "+text) }
func (o *jsonOutput) result(r wire.Result)   { o.ended = true; o.line(r) }

func (o *jsonOutput) event(e wire.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.print(o.hide.event(e))
}

func (o *jsonOutput) failed(err error, code int) {
	if o.ended {
		return
	}
	status, reason := "error", "error"
	switch code {
	case exitLocked:
		status, reason = "locked", "locked"
	case exitInterrupt:
		reason = "interrupted"
	}
	o.result(wire.Result{Type: "result", Status: status, Reason: reason, Session: o.opened, Denials: []wire.Denial{},
		Error: &wire.Error{Code: reason, Message: err.Error()}})
}

// textOutput prints the answer on stdout and the progress on stderr.
type textOutput struct {
	mu    sync.Mutex
	out   io.Writer
	err   io.Writer
	color bool
	width int // of the terminal, 0: none
	hide  redactor
	id    string
	args  map[string]string    // of running calls
	shown map[string]wire.Task // task list as printed, by id
}

func newTextOutput(out, err io.Writer) *textOutput {
	return &textOutput{out: out, err: err, width: widthOf(err), color: isTerminal(err) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", args: map[string]string{}, shown: map[string]wire.Task{}}
}

const (
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	bold   = "1"
)

func (o *textOutput) paint(code, s string) string {
	if !o.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// say prints one line of progress; control characters of foreign text can't
// reach the terminal.
func (o *textOutput) say(code, format string, args ...any) {
	s := printable(fmt.Sprintf(format, args...))
	fmt.Fprintln(o.err, o.paint(code, wrap(o.hide.text(s), o.width)))
}

// printable replaces control characters, which could steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f) && (r < 0x202a || r > 0x202e) && (r < 0x2066 || r > 0x2069) {
			return r
		}
		return '\uFFFD'
	}, s)
}

func (o *textOutput) redact(mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hide = redactor{mark: mark}
}

func (o *textOutput) session(s wire.Session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.id = s.Session
	verb := "session"
	if s.Resumed {
		verb = "resumed session"
	}
	o.say(dim, "%s %s · %s · %s", verb, s.Session, shortModel(s.Model), s.Workspace)
}

// shortModel leaves out the folder of a script.
func shortModel(m string) string {
	if file, ok := strings.CutPrefix(m, "script:"); ok {
		return "scripted model " + filepath.Base(file)
	}
	return m
}

func (o *textOutput) notice(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.say(yellow, "! %s", text)
}

func (o *textOutput) event(e wire.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e.Type {
	case session.MessageEnd:
		if e.Role == "assistant" && len(e.Calls) > 0 && e.Text != "" {
			o.say(bold, "%s", e.Text)
		}
	case session.ToolStart:
		o.args[e.Call] = argLine(e.Args, o.width-len(e.Tool)-6)
	case session.ToolEnd:
		o.toolEnd(e)
	case session.Todo:
		o.tasks(e.Tasks)
	case session.SkillActivated:
		o.say(cyan, "▸ skill %s (%s) is active", e.Skill.Name, e.Skill.Type)
	case session.Progress:
		o.say(bold, "» %s", e.Message.Text)
	case session.Injected:
		o.say(cyan, "▸ %s: %s", e.Kind, firstLine(e.Text, 100))
	case session.AgentResume:
		o.say(dim, "resumed by %s", e.By)
	case session.Failure:
		o.failure(e.Error)
	case session.AgentSettled:
		if e.Reason != "done" && e.Reason != "yield" {
			o.say(yellow, "! settled: %s%s", e.Reason, detail(e.Detail))
		}
	}
}

func detail(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (o *textOutput) failure(f *wire.Error) {
	if f.RetryAt.IsZero() {
		o.say(red, "! %s", f.Message)
		return
	}
	o.say(yellow, "! %s; trying again in %s", f.Message, time.Until(f.RetryAt).Round(time.Second))
}

func (o *textOutput) toolEnd(e wire.Event) {
	args := o.args[e.Call]
	delete(o.args, e.Call)
	if e.Tool == "todo" && e.Outcome == "ok" || e.Tool == "message_user" && e.Outcome == "ok" {
		return // shown as what it is
	}
	switch e.Outcome {
	case "ok":
		o.say(dim, "  ✓ %s %s", e.Tool, args)
	case "unknown":
		o.say(yellow, "  ? %s %s · outcome unknown", e.Tool, args)
	default:
		o.say(red, "  ✗ %s %s · %s", e.Tool, args, firstLine(e.Text, 120))
	}
}

// tasks prints the items that are new or have changed.
func (o *textOutput) tasks(t *wire.Tasks) {
	for _, item := range t.Items {
		if o.shown[item.ID] == item {
			continue
		}
		o.shown[item.ID] = item
		text := item.Content
		if item.Label != "" {
			text = item.Label
		}
		switch item.Status {
		case "complete":
			o.say(green, "  ☑ %s", text)
		case "in_progress":
			o.say(bold, "  ▶ %s", text)
		case "blocked":
			o.say(yellow, "  ⊘ %s%s", text, detail(item.Reason))
		default:
			o.say(dim, "  ☐ %s", text)
		}
	}
}

func (o *textOutput) result(r wire.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.hide.text(r.Text)
	if isTerminal(o.out) {
		text = wrap(printable(text), widthOf(o.out))
	}
	if text != "" {
		if isTerminal(o.err) {
			fmt.Fprintln(o.err) // sets the answer apart
		}
		fmt.Fprintln(o.out, text)
	}
	if r.Yield != nil {
		for _, d := range r.Yield.Deviations {
			o.say(yellow, "! deviation in %s, %s (%s): %s", d.Skill, d.Step, d.Kind, d.Cause)
		}
	}
	for _, d := range r.Denials {
		o.say(yellow, "! refused: %s (%s)", d.Tool, d.Rule)
	}
	switch {
	case r.Yield != nil && r.Yield.Reason != "complete":
		o.say(yellow, "Waiting for you (%s). Answer with: gamma exec --resume %s \"…\"", r.Yield.Reason, r.Session)
	case r.Status == "error" && r.Error != nil:
		o.say(red, "! %s", r.Error.Message)
	}
	o.say(dim, "%s · %d tokens in (%d cached), %d out", r.Status, r.Usage.Input, r.Usage.Cached, r.Usage.Output)
}

func (o *textOutput) failed(error, int) {} // the caller prints it

// argLine shows arguments in one line of at most width columns (100 if that is
// too few to be meant): the value that says most.
func argLine(raw json.RawMessage, width int) string {
	if width < 20 {
		width = 100
	}
	m := session.DecodeArgs(string(raw))
	for _, key := range []string{"command", "path", "name", "action", "message"} {
		if v, ok := m[key].(string); ok {
			return firstLine(v, width-1)
		}
	}
	return firstLine(string(raw), width-1)
}

// firstLine cuts text to its first line and n runes.
func firstLine(s string, n int) string {
	s, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	r := []rune(s)
	if len(r) > n {
		return string(r[:n]) + "…"
	}
	if more && strings.TrimSpace(rest) != "" {
		return s + " …"
	}
	return s
}
