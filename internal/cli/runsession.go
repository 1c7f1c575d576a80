package cli

import (
	"io"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// unseen is an output that shows nothing.
type unseen struct{}

func (unseen) session(wire.Session)      {}
func (unseen) redact(string)             {}
func (unseen) goOn(string)               {}
func (unseen) event(wire.Event)          {}
func (unseen) notice(string)             {}
func (unseen) ofRun([]string)            {}
func (unseen) problem(error)             {}
func (unseen) result(wire.Result)        {}
func (unseen) failed(error, int)         {}
func (unseen) broken() <-chan struct{}   { return nil }
func (unseen) close(time.Duration) error { return nil }

// quiet is the output of a session that nobody watches: what went wrong is
// told, and nothing else.
type quiet struct {
	unseen
	tell func(text string)
}

func (o quiet) notice(text string) { o.tell(text) }
func (o quiet) problem(err error)  { o.tell(err.Error()) }

// sessionLines shows what the session of a workflow run says: as JSON lines
// among those of the run, or as text on standard error.
type sessionLines struct {
	unseen
	p    *runPrinter
	hide redactor
}

func (o *sessionLines) redact(mark string)      { o.hide = redactor{mark: mark} }
func (o *sessionLines) notice(text string)      { o.p.notice("%s", text) }
func (o *sessionLines) problem(err error)       { o.notice(err.Error()) }
func (o *sessionLines) event(e wire.Event)      { o.p.session(o.hide.event(e)) }
func (o *sessionLines) broken() <-chan struct{} { return o.p.broken }

// session prints an event of the run's session.
func (p *runPrinter) session(e wire.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.json:
		p.line(e)
	case e.Type == session.MessageStart && e.Role == string(llm.User) && e.Kind == "" && e.From != "": // not what was typed here
		p.endPrompt()
		p.say(fit(single("  ▸ the user"+from(e.From)+": "+e.Text), p.wide()))
	case e.Type == session.MessageEnd && e.Role == string(llm.Assistant) && e.Text != "":
		p.say(barred(e.Text, p.wide()))
	case e.Type == session.Yielded || e.Type == session.Progress:
		p.said = e.Message.Text
		p.say(barred(e.Message.Text, p.wide()))
	case e.Type == session.ToolStart:
		p.callBegins(e, time.Now())
	case e.Type == session.ToolEnd:
		p.callEnds(e, time.Now())
	}
}

// prompted says whether the user is asked for words behind a prompt. One that
// isn't answered there ends its line.
func (p *runPrinter) prompted(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !is {
		p.endPrompt()
	}
	p.prompt = is
}

// endPrompt ends the line of a prompt that somebody else has answered. p.mu is
// held.
func (p *runPrinter) endPrompt() {
	if p.prompt {
		io.WriteString(p.stderr, "\n") // a terminal that is gone ends the process by its signal
	}
	p.prompt = false
}

// say prints a text above what is going on.
func (p *runPrinter) say(text string) { p.put(strings.Split(text, "\n")) }

// wide is how many columns a line may have; 0: any.
func (p *runPrinter) wide() int { return max(widthOf(p.stderr)-1, 0) }

// yield shows what a step asks, unless its session has just said it.
func (p *runPrinter) yield(question string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if question != p.said {
		p.say(barred(question, p.wide()))
	}
	p.said = ""
}
