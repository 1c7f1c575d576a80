package cli

import (
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// openCall is a tool call of a run's session that is at work.
type openCall struct {
	id, line string
	silent   bool // its effect is shown as what it is
	since    time.Time
}

// callBegins follows a call. On a terminal it stands below its step while it
// is at work; elsewhere it is a line. p.mu is held.
func (p *runPrinter) callBegins(e wire.Event, at time.Time) {
	c := callOf(e)
	c.since = at
	p.calls = append(p.calls, c)
	if p.view != nil {
		p.view.calls = p.calls
	} else if !c.silent {
		p.put([]string{"    … " + c.line})
	}
}

// callEnds prints how a call ended: on a terminal always, elsewhere, where it
// has a line already, if it didn't go well. p.mu is held.
func (p *runPrinter) callEnds(e wire.Event, at time.Time) {
	c := callOf(e) // refused before it began, or begun by another process
	c.since = at
	for i, open := range p.calls {
		if open.id == e.Call {
			c = open
			p.calls = append(p.calls[:i:i], p.calls[i+1:]...)
			break
		}
	}
	if p.view != nil {
		p.view.calls = p.calls
	}
	why := oneLine(strings.TrimPrefix(printable(e.Text), "error: "), 300)
	switch transcript.Outcome(e.Outcome) {
	case transcript.OutcomeOK:
		if p.view != nil && !c.silent {
			p.put([]string{p.view.row(p.wide(), span{dim, "    ✓ " + c.line + "  " + span10(at.Sub(c.since))})})
		}
		return
	case transcript.OutcomeUnknown:
		why = "outcome unknown"
	}
	text := single("✗ " + c.line + " · " + why)
	if p.view == nil {
		p.put([]string{"    " + text})
		return
	}
	var out []string
	for i, l := range wrapCells(text, p.wide()-6) {
		sign := "    "
		if i > 0 {
			sign = "    │ "
		}
		out = append(out, p.view.row(p.wide(), span{"", sign}, span{red, l}))
	}
	p.put(out)
}

// callOf is a call in a line. A submission is called what it is.
func callOf(e wire.Event) openCall {
	args := session.DecodeArgs(string(e.Args))
	action, _ := args["action"].(string)
	c := openCall{id: e.Call, line: single(e.Tool + " " + argLine(e.Args, 100))}
	switch {
	case e.Tool == "workflow" && (action == "submit" || action == "update"):
		c.line, c.silent = action, true
	case e.Tool == "message_user", e.Tool == "todo":
		c.line, c.silent = e.Tool, true
	}
	return c
}
