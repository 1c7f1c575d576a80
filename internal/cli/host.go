package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

// hostCmd is gamma host.
type hostCmd struct {
	Parallel int  `default:"2" placeholder:"N" help:"Carry out at most N runs at once (default 2)."`
	JSON     bool `name:"json" help:"Print one JSON object for each change of a run's status."`

	sessionFlags
}

// Help is the long help.
func (hostCmd) Help() string {
	return `Carries out queued workflow runs and fires timers, until it is interrupted. A run that is carried out then is parked, and any host goes on with it. Several hosts share the work.

Steps for a model that submit their output are carried out in sessions that the host makes, one a run. A step whose answer is for a user waits, parked, until its session is there. A host without a model parks the runs that need one: another host, or this one when it is started again, goes on with them.

Example:
  gamma run echo "What is a monad?" --detach
  gamma host`
}

// Run carries out runs.
func (c *hostCmd) Run(a *app) error {
	if c.Parallel < 1 || c.Parallel > 64 {
		return usagef("--parallel %d: want 1 to 64", c.Parallel)
	}
	catchPipe()
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := &hostPrinter{app: a, json: c.JSON}
	res := newProcess(a)
	kids, err := newChildren(res, c.sessionFlags, func(run string) output {
		return quiet{tell: func(text string) { a.notice("run %s: %s", run, text) }}
	})
	if err != nil {
		return err
	}
	kids.shares = true
	if err := c.equipped(a); err != nil {
		return err
	}
	res.observe, res.trouble, res.carries = p.changed, p.trouble, kids.carries
	runs, err := res.open(a.ctx)
	if err != nil {
		return err
	}
	p.db = runs.Store
	fmt.Fprintln(a.stderr, "carrying out workflow runs; Ctrl-C parks them and ends")
	return errors.Join(runs.Work(ctx, c.Parallel), res.close())
}

// equipped says at once if there is no model, since runs that need none are
// carried out all the same. One that is named must be usable.
func (c *hostCmd) equipped(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	conf, err := loadConfig(home.Dir(), a.env("HOME"))
	if err != nil {
		return usageError{err}
	}
	if _, err := a.chooseModel(c.Model, "", conf); err != nil && c.Model != "" {
		return err
	} else if err != nil {
		a.notice("%v", err)
		a.notice("without a model, runs with steps for one are parked for another host")
	}
	return nil
}

// hostPrinter prints what becomes of runs.
type hostPrinter struct {
	app  *app
	db   store.Store
	mu   sync.Mutex
	json bool
}

// hostLine is a change in gamma host --json.
type hostLine struct {
	Run      string    `json:"run,omitempty"`
	Workflow string    `json:"workflow,omitempty"`
	Node     string    `json:"node,omitempty"` // the step that is open
	Status   string    `json:"status"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Time     time.Time `json:"time"`

	next string // what a person can do, in lines
}

func (p *hostPrinter) changed(id string, before *flow.Run, c *flow.Commit) {
	r := c.Next
	if r.Status == before.Status && r.Reason == before.Reason {
		return
	}
	l := hostLine{Run: id, Status: string(r.Status), Reason: r.Reason, Message: r.Message, Time: time.Now().UTC()}
	if r.Wake > 0 {
		l.Until = time.UnixMilli(r.Wake).UTC()
	}
	if r.Open != nil {
		l.Node = r.Open.Node
	}
	if _, info, err := p.db.Load(p.app.ctx, id); err == nil { // without it the line says less
		l.Workflow = info.Workflow
		l.next = p.next(info, r)
	}
	p.print(l)
}

// next says how to answer what a run waits for; "" if it waits for nobody.
func (p *hostPrinter) next(info store.Info, r *flow.Run) string {
	if r.Status != flow.Waiting || r.Open == nil || r.Open.Decision == "" {
		return ""
	}
	g, err := graphOfRun(p.app.ctx, p.db, info)
	if err != nil {
		return ""
	}
	return strings.Join(answerHint(g, r), "\n")
}

func (p *hostPrinter) trouble(id string, err error) {
	p.print(hostLine{Run: id, Status: "error", Message: err.Error(), Time: time.Now().UTC()})
}

// print prints a line. A host goes on when nobody reads any more.
func (p *hostPrinter) print(l hostLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		jsonLine(p.app.stdout, l)
		return
	}
	text := l.Status
	if l.Reason != l.Status {
		text += detail(l.Reason)
	}
	if l.Node != "" {
		text += " · step " + l.Node
	}
	text += untilText(l.Until)
	if l.Message != "" {
		text += ": " + oneLine(l.Message, 300)
	}
	if l.Workflow != "" {
		text = l.Workflow + "  " + text
	}
	if l.Run != "" {
		text = l.Run + "  " + text
	}
	width := widthOf(p.app.stdout)
	fmt.Fprintln(p.app.stdout, fit(single(text), width))
	if l.next != "" {
		fmt.Fprintln(p.app.stdout, fit(printable(l.next), width))
	}
}
