package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// activity is what goes on at the moment. On a terminal it is a status line
// below the last line; elsewhere a call that takes long gets one line.
type activity struct {
	redraw bool // the terminal can take a line back
	drawn  bool // the status line is on the screen
	model  string
	since  time.Time // of model
	calls  map[string]running
	order  []string // of calls
	stop   chan struct{}
}

// running is a call at work.
type running struct {
	args  json.RawMessage
	line  string // tool and arguments
	since time.Time
	said  bool
}

// calm is how long something may take before it is worth a line.
const calm = time.Second

// follow keeps the activity.
func (o *textOutput) follow(e wire.Event) {
	n := &o.now
	switch e.Type {
	case session.MessageStart:
		if e.Role == "assistant" {
			o.startClock()
			n.model, n.since = "thinking", time.Now()
		}
	case session.MessageUpdate:
		n.model = "answering"
		if e.Delta.Type == "thinking" {
			n.model = "thinking"
		}
		if e.Delta.Type == "call_start" {
			n.model = "preparing " + e.Delta.Tool
		}
	case session.MessageEnd, session.MessageDiscarded:
		n.model = ""
	case session.ToolStart:
		o.startClock()
		n.calls[e.Call] = running{args: e.Args, line: e.Tool + " " + argLine(e.Args, o.width-len(e.Tool)-14), since: time.Now()}
		n.order = append(n.order, e.Call)
	}
}

// startClock starts the ticks that show how long things take.
func (o *textOutput) startClock() {
	if o.now.stop != nil {
		return
	}
	stop := make(chan struct{})
	o.now.stop = stop
	go func() {
		tick := time.NewTicker(calm / 2)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				o.tick(now)
			}
		}
	}()
}

func (o *textOutput) stopClock() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.erase()
	if o.now.stop != nil {
		close(o.now.stop)
		o.now.stop = nil
	}
}

// tick shows what takes longer than calm.
func (o *textOutput) tick(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now.redraw {
		o.draw(o.status(now))
		return
	}
	for _, id := range o.now.order {
		if c, ok := o.now.calls[id]; ok && !c.said && now.Sub(c.since) >= calm {
			o.say(dim, "  … %s", c.line)
			c.said = true
			o.now.calls[id] = c
		}
	}
}

// status is the status line's text, "" if there is nothing to say.
func (o *textOutput) status(now time.Time) string {
	var oldest running
	for _, id := range o.now.order {
		if c, ok := o.now.calls[id]; ok && oldest.line == "" {
			oldest = c
		}
	}
	what, since := oldest.line, oldest.since
	if more := len(o.now.calls) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	if what == "" {
		what, since = o.now.model, o.now.since
	}
	age := now.Sub(since)
	if what == "" || age < calm {
		return ""
	}
	took := " " + age.Truncate(time.Second).String()
	return "  … " + cutCells(o.hide.text(single(what)), max(o.width-len(took)-6, 0)) + took
}

// draw replaces the status line. It is left out when the terminal is behind.
func (o *textOutput) draw(s string) {
	if s == "" {
		o.erase()
		return
	}
	if o.err.offer([]byte("\r\x1b[K" + o.paint(dim, s))) {
		o.now.drawn = true
	}
}

// erase takes the status line back, so that a line can be printed.
func (o *textOutput) erase() {
	if o.now.drawn {
		fmt.Fprint(o.err, "\r\x1b[K")
		o.now.drawn = false
	}
}

// stream prints an answer as it comes.
type stream struct {
	on    bool
	flow  flowText
	fed   string // of the present answer, as printed
	shown string // the newest answer, whole
	cr    string // a carriage return at the end of the newest piece
}

// fragment prints what has become whole lines.
func (o *textOutput) fragment(d *wire.Delta) {
	if !o.live.on || d.Type != "text" || d.Text == "" {
		return
	}
	text := o.live.cr + d.Text
	text, ended := strings.CutSuffix(text, "\r")
	o.live.cr = ""
	if ended {
		o.live.cr = "\r"
	}
	o.feed(printable(text))
}

func (o *textOutput) feed(text string) {
	if o.live.fed == "" && text != "" {
		o.line(bold, "") // sets the answer apart
	}
	o.live.fed += text
	for _, l := range o.live.flow.add(text) {
		o.line("", guarded(l))
	}
}

// whole prints what is left of an answer whose whole text is known now.
func (o *textOutput) whole(text string) {
	text = o.hide.text(text)
	if text != "" {
		o.live.shown = text
	}
	text = printable(text)
	rest, ok := strings.CutPrefix(text, o.live.fed)
	if !ok { // the mark was in it
		o.flush()
		rest = text
	}
	if rest != "" {
		o.feed(rest)
	}
	o.flush()
}

// flush prints the last line of an answer and reports whether there was any
// text.
func (o *textOutput) flush() bool {
	for _, l := range o.live.flow.end() {
		o.line("", guarded(l))
	}
	had := o.live.fed != ""
	o.live.fed, o.live.cr = "", ""
	return had
}

// discarded marks an answer that was given up.
func (o *textOutput) discarded() {
	if o.flush() {
		o.say(yellow, "  ! this answer was broken off and doesn't count")
	}
}

// flowText breaks text that comes in pieces into lines, as wrap does.
type flowText struct {
	width  int
	rest   string // the line that isn't whole yet
	fenced bool
}

// add takes a piece and returns the lines that are whole now.
func (f *flowText) add(text string) []string {
	f.rest += text
	var out []string
	for {
		line, rest, ended := strings.Cut(f.rest, "\n")
		if ended {
			f.rest = rest
			out = append(out, f.line(line)...)
			continue
		}
		if f.asIs(line) || headCells(line, f.width) == len(line) {
			return out
		}
		lines := wrapLine(line, f.width)
		f.rest = lines[len(lines)-1]
		return append(out, lines[:len(lines)-1]...)
	}
}

// end returns the last line.
func (f *flowText) end() []string {
	var out []string
	if f.rest != "" {
		out = f.line(f.rest)
	}
	f.rest, f.fenced = "", false
	return out
}

func (f *flowText) line(s string) []string {
	if strings.HasPrefix(strings.TrimSpace(s), "```") {
		f.fenced = !f.fenced
	}
	if f.asIs(s) {
		return []string{s}
	}
	return wrapLine(s, f.width)
}

// asIs reports whether a line isn't to be broken.
func (f *flowText) asIs(s string) bool {
	return f.width < 20 || f.fenced || strings.HasPrefix(s, "    ") || strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "|")
}
