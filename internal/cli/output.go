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
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// output shows a run: as JSON lines, or as text. Its methods may be called by
// several goroutines; none of them waits for a reader.
type output interface {
	session(wire.Session)
	redact(mark string)  // from now on
	goOn(command string) // what to type to go on with the session
	event(wire.Event)
	notice(text string)
	ofRun(lines []string) // what a workflow run of the session does, for people
	problem(err error)    // the line "gamma: …" of a command that failed
	result(wire.Result)
	failed(err error, code int)      // the command ends with this error
	broken() <-chan struct{}         // closed when it makes no sense to go on printing
	close(limit time.Duration) error // flushes; the error is that of standard output
}

// jsonOutput prints JSON lines on stdout and notices on stderr.
type jsonOutput struct {
	mu     sync.Mutex
	out    *outlet
	err    *outlet
	hide   redactor
	behind bool   // fragments of the present answer were left out
	opened string // session id
	ended  bool
}

// newJSONOutput gives each stream a queue of its own, so that a reader of
// stdout who has stopped holds up no notice.
func newJSONOutput(out, err io.Writer) *jsonOutput {
	return &jsonOutput{out: newQueue().outlet(out, true), err: newQueue().outlet(err, false)}
}

func (o *jsonOutput) line(v any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.print(v, o.out.put)
}

// print prints a line. o.mu is held.
func (o *jsonOutput) print(v any, put func([]byte) bool) bool {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintf(o.err, "gamma: output: %v\n", err)
		return true
	}
	return put(o.hide.line(b.Bytes()))
}

func (o *jsonOutput) redact(mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hide = redactor{mark: mark}
}

func (o *jsonOutput) session(s wire.Session)  { o.opened = s.Session; o.line(s) }
func (o *jsonOutput) goOn(string)             {}
func (o *jsonOutput) notice(text string)      { fmt.Fprintln(o.err, problemText(text)) }
func (o *jsonOutput) ofRun([]string)          {}
func (o *jsonOutput) problem(err error)       { o.notice(err.Error()) }
func (o *jsonOutput) result(r wire.Result)    { o.ended = true; o.line(r) }
func (o *jsonOutput) broken() <-chan struct{} { return o.out.q.broken }

// event prints an event. Provisional ones may be left out when the reader is
// far behind; of an answer, all that follow the first one that was.
func (o *jsonOutput) event(e wire.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e = o.hide.event(e)
	switch e.Type {
	case session.MessageUpdate:
		o.behind = o.behind || !o.print(e, o.out.offer)
	case session.ToolUpdate:
		o.print(e, o.out.offer)
	default:
		o.behind = false
		o.print(e, o.out.put)
	}
}

func (o *jsonOutput) close(limit time.Duration) error {
	o.out.q.close(limit)
	o.err.q.close(limit)
	return o.out.failure()
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

// textOutput prints the answer on stdout and the progress on stderr. When both
// are a terminal, the answer is printed as it comes.
type textOutput struct {
	mu       sync.Mutex
	out      *outlet // of one queue: on a terminal the order counts
	err      *outlet
	color    bool
	width    int // of stderr's terminal, 0: none
	outWidth int // of stdout's
	hide     redactor
	id       string
	again    string               // what to type to go on
	noHint   bool                 // the caller says how to go on
	repeat   bool                 // nothing has run: an old result is printed
	pending  string               // the newest answer's text; progress if the run goes on
	shown    map[string]wire.Task // task list as printed, by id
	now      activity
	live     stream
}

func newTextOutput(out, err io.Writer) *textOutput {
	q := newQueue()
	o := &textOutput{out: q.outlet(out, true), err: q.outlet(err, false), width: widthOf(err), outWidth: widthOf(out),
		shown: map[string]wire.Task{}, repeat: true}
	smart := o.width > 0 && os.Getenv("TERM") != "dumb"
	o.color = smart && os.Getenv("NO_COLOR") == ""
	o.now = activity{redraw: smart, calls: map[string]running{}}
	o.live = stream{on: smart && o.outWidth > 0, flow: flowText{width: o.width}}
	return o
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
	if !o.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// say prints one line of progress. Texts among the arguments are foreign: they
// become one line, and their control characters can't reach the terminal.
func (o *textOutput) say(code, format string, args ...any) {
	o.line(code, fit(o.hide.text(fmt.Sprintf(format, singles(args)...)), o.width))
}

// quote prints foreign words that may have several lines, behind a sign of ours.
func (o *textOutput) quote(code, sign, text string) {
	first, rest, more := strings.Cut(strings.TrimSpace(o.hide.text(lines(text))), "\n")
	o.line(code, fit(o.hide.text(sign)+first, o.width))
	if more {
		o.line(code, barred(rest, o.width))
	}
}

// barred prints foreign words with their lines, each behind a bar.
func (o *textOutput) barred(text string) {
	o.line("", barred(strings.TrimRight(o.hide.text(text), "\n"), o.width))
}

// words prints an answer of the model that isn't the last.
func (o *textOutput) words(text string) {
	o.line(bold, guarded(wrap(o.hide.text(lines(text)), o.width)))
}

// line prints a line above the status. o.mu is held, as in say.
func (o *textOutput) line(code, s string) {
	o.erase()
	fmt.Fprintln(o.err, o.paint(code, s))
}

// printable replaces control characters, which could steer a terminal.
func printable(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
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
	verb, origin := "session", ""
	switch {
	case s.Forked != "":
		origin = " · a copy of " + s.Forked
	case s.Resumed:
		verb = "resumed session"
	}
	o.say(dim, "%s %s · %s · %s%s", verb, s.Session, shortModel(s.Model), s.Workspace, origin)
}

// sessionID is the session's, once it is known.
func (o *textOutput) sessionID() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id
}

// aside shows a command that somebody else gives, with the session's id cut
// to what people type.
func (o *textOutput) aside(args []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	words := make([]string, len(args))
	for i, arg := range args {
		if arg == o.id && len(arg) > timePart {
			arg = arg[:timePart]
		}
		words[i] = quoted(arg)
	}
	o.say(dim, "┄ elsewhere: gamma %s", strings.Join(words, " "))
}

func (o *textOutput) goOn(command string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.again = command
}

func (o *textOutput) broken() <-chan struct{} { return o.out.q.broken }

func (o *textOutput) close(limit time.Duration) error {
	o.stopClock()
	o.out.q.close(limit)
	return o.out.failure()
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
	o.quote(yellow, "! ", text)
}

func (o *textOutput) ofRun(lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range lines {
		o.line("", fit(o.hide.text(l), o.width))
	}
}

// problem isn't wrapped: it is one line, for whoever looks for it.
func (o *textOutput) problem(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line("", o.hide.text(problemText(err.Error())))
}

func (o *textOutput) event(e wire.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.repeat = false
	e.Text, e.Args = o.hide.text(e.Text), o.hide.line(e.Args) // before anything is cut
	o.follow(e)
	switch e.Type {
	case session.MessageUpdate:
		o.fragment(o.hide.event(e).Delta)
	case session.MessageStart, session.AgentStart:
		o.wentOn()
		if e.Role == "user" && e.Kind == "" && e.From != "" { // not what was typed here
			o.quote(cyan, "▸ the user"+from(e.From)+": ", e.Text)
		}
	case session.MessageEnd:
		o.message(e)
	case session.MessageDiscarded:
		o.discarded()
	case session.ToolEnd:
		o.toolEnd(e)
	case session.Todo:
		o.tasks(e.Tasks)
	case session.SkillActivated:
		o.say(cyan, "▸ skill %s (%s) is active", e.Skill.Name, e.Skill.Type)
	case session.Progress:
		o.quote(bold, "» ", e.Message.Text)
		o.deviations(e.Message)
	case session.Injected:
		if e.Step != nil {
			o.say(cyan, "%s", stepCard(e.Step))
			break
		}
		o.say(cyan, "▸ %s%s: %s", e.Kind, from(e.From), firstLine(e.Text, 100))
	case session.ModelChanged:
		o.say(dim, "model %s%s", shortModel(e.Model), detail(e.Detail))
	case session.Compaction:
		o.say(dim, "%s", compactionText(e.Compaction))
	case session.Asks:
		o.asked(e.Asked)
	case session.Answered:
		o.say(yellow, "▸ %s: %s by %s%s", e.Tool, e.Asked.Choice, e.By, detail(e.Asked.Reason))
	case session.AgentResume:
		o.say(dim, "resumed by %s", e.By)
	case session.Failure:
		if !e.Error.RetryAt.IsZero() { // else the result says it
			o.say(yellow, "! %s; trying again in %s", e.Error.Message, time.Until(e.Error.RetryAt).Round(time.Second))
		}
	}
}

// from tells who sent something.
func from(name string) string {
	if name == "" {
		return ""
	}
	return " from " + single(name)
}

// asked shows what waits for a person, and how to answer.
func (o *textOutput) asked(a *wire.Approval) {
	o.say(yellow, "? %s %s", visible(a.Tool), shownArgs(a.Args))
	o.say(yellow, "  %s · answer with: %s approve %s %s [--deny]", visible(a.Rule), program(), o.id, a.ID)
}

// wentOn: the text of an answer was not the last word.
func (o *textOutput) wentOn() {
	if o.pending != "" && !o.live.on {
		o.words(o.pending)
	}
	o.pending = ""
}

// message ends an answer.
func (o *textOutput) message(e wire.Event) {
	if e.Role != "assistant" {
		return
	}
	if o.live.on {
		o.whole(e.Text)
	} else if len(e.Calls) > 0 && e.Text != "" {
		o.words(e.Text)
		return
	}
	o.pending = e.Text
}

func detail(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (o *textOutput) toolEnd(e wire.Event) {
	raw := o.now.calls[e.Call].args
	if raw == nil {
		raw = e.Args // started by another process
	}
	delete(o.now.calls, e.Call)
	if e.Tool == "todo" && e.Outcome == "ok" || e.Tool == "message_user" && e.Outcome == "ok" {
		return // shown as what it is
	}
	args := argLine(raw, o.width-len(e.Tool)-6)
	switch e.Outcome {
	case "ok":
		o.say(dim, "  ✓ %s %s", e.Tool, args)
	case "unknown":
		o.say(yellow, "  ? %s %s · outcome unknown", e.Tool, args)
	default:
		o.say(red, "  ✗ %s %s · %s", e.Tool, args, oneLine(strings.TrimPrefix(e.Text, "error: "), 300))
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
	o.now.model, o.now.calls, o.now.order = "", nil, nil
	o.answer(r.Text)
	if r.Yield != nil {
		o.deviations(r.Yield)
	}
	for _, d := range r.Denials {
		o.say(yellow, "! refused: %s (%s)", d.Tool, d.Rule)
	}
	status := r.Status
	if r.Reason == string(transcript.Aborted) {
		status = "stopped"
	}
	if why, hint := epilogue(r, o.repeat); why != "" {
		o.say(yellow, "%s", why)
		if hint != "" && !o.noHint {
			o.say(dim, "%s\n    %s \"…\"", hint, o.again)
		}
	}
	o.say(dim, "%s · %d tokens in (%d cached), %d out", status, r.Usage.Input, r.Usage.Cached, r.Usage.Output)
}

// answer prints the answer on stdout, unless it is on the screen already.
func (o *textOutput) answer(text string) {
	text = o.hide.text(text)
	if text == "" || o.live.on && text == o.live.shown {
		return
	}
	o.erase()
	if o.outWidth > 0 {
		text = guarded(wrap(lines(text), o.outWidth))
	}
	if o.width > 0 {
		fmt.Fprintln(o.err) // sets the answer apart
	}
	fmt.Fprintln(o.out, text)
}

func (o *textOutput) failed(error, int) {} // the caller prints it
