package cli

import (
	"encoding/json"
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
	"github.com/gamma-harness/gamma/wire"
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

What waits for a person is printed with the command that answers, which other terminals give while the host goes on.

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
	p := &hostPrinter{app: a, json: c.JSON, waiting: map[string]bool{}}
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
	res.observe, res.trouble, res.carries, res.steps.Waits = p.changed, p.trouble, kids.carries, p.waits
	runs, err := res.open(a.ctx)
	if err != nil {
		return err
	}
	p.db = runs.Store
	fmt.Fprintln(a.stderr, "carrying out workflow runs; Ctrl-C parks them and ends")
	err = p.lostBefore()
	if err == nil {
		err = runs.Work(ctx, c.Parallel)
	}
	return errors.Join(err, res.close())
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
	app     *app
	db      store.Store
	mu      sync.Mutex
	json    bool
	waiting map[string]bool // runs whose step waits for the user, as was told
}

// changed tells how a run stands after a commit, if that is new.
func (p *hostPrinter) changed(id string, before *flow.Run, c *flow.Commit) {
	r := c.Next
	if r.Status == before.Status && r.Reason == before.Reason {
		return
	}
	defer p.lost(before, r)
	p.mu.Lock()
	told := p.waiting[id] && !p.json
	p.mu.Unlock()
	if told && yields(r) {
		return // this host lets go of it, and people know what it waits for
	}
	p.standing(r, yields(r))
}

// waits tells that a step waits for the user's words, or no longer does.
func (p *hostPrinter) waits(id, _ string, waiting bool) {
	r, _, err := p.db.Load(p.app.ctx, id)
	if err != nil || r.Open == nil {
		return // it has ended, which is told
	}
	p.mu.Lock()
	news := waiting != p.waiting[id]
	p.waiting[id] = waiting
	if !waiting {
		delete(p.waiting, id)
	}
	p.mu.Unlock()
	if news {
		p.standing(r, waiting)
	}
}

// standing tells how a run stands.
func (p *hostPrinter) standing(r *flow.Run, waits bool) {
	l := wire.RunChange{Run: r.ID, Status: string(r.Status), Reason: r.Reason, Message: r.Message, Waits: waits, Time: time.Now().UTC()}
	if r.Wake > 0 {
		l.Until = time.UnixMilli(r.Wake).UTC()
	}
	if r.Open != nil {
		l.Node = r.Open.Node
	}
	var next []string                                           // what a person can do
	if _, info, err := p.db.Load(p.app.ctx, r.ID); err == nil { // without it the line says less
		l.Workflow = info.Workflow
		switch {
		case waits:
			l.Message = p.app.question(r).question
			next = []string{"Answer with:", "    " + answerWords(r.ID)}
		case r.Status == flow.Waiting && r.Open != nil && r.Open.Decision != "":
			l.Message, next = p.asked(info, r)
		}
	}
	p.print(l, next)
}

// asked is what a run asks of a person: its title, and in lines the rest and
// how to answer.
func (p *hostPrinter) asked(info store.Info, r *flow.Run) (title string, lines []string) {
	g, err := graphOfRun(p.app.ctx, p.db, info)
	if err != nil {
		return "", nil
	}
	d, err := p.db.Decision(p.app.ctx, r.Open.Decision)
	if err != nil {
		return "", answerHint(g, r)
	}
	q, err := questionOf(json.RawMessage(d.Request), choicesOf(g.Node(r.Open.Node)), time.Time{})
	if err != nil {
		return "", answerHint(g, r)
	}
	return q.title, append(q.plain()[1:], answerHint(g, r)...)
}

func (p *hostPrinter) trouble(id string, err error) {
	p.print(wire.RunChange{Run: id, Status: "error", Message: err.Error(), Time: time.Now().UTC()}, nil)
}

// print prints a line, and for people those that follow it. A host goes on when
// nobody reads any more.
func (p *hostPrinter) print(l wire.RunChange, next []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		jsonLine(p.app.stdout, l)
		return
	}
	text := l.Status
	switch {
	case l.Waits:
		text = waitsUser
	case l.Reason != l.Status:
		text += detail(l.Reason)
	}
	if l.Node != "" {
		text += " · step " + l.Node
	}
	text += untilText(l.Until)
	message, rest, _ := strings.Cut(strings.TrimSpace(lines(l.Message)), "\n")
	if message != "" {
		text += ": " + oneLine(message, 300)
	}
	if l.Workflow != "" {
		text = l.Workflow + "  " + text
	}
	if l.Run != "" {
		text = l.Run + "  " + text
	}
	width := widthOf(p.app.stdout)
	fmt.Fprintln(p.app.stdout, fit(single(text), width))
	if rest != "" {
		fmt.Fprintln(p.app.stdout, barred(rest, width))
	}
	for _, line := range next {
		fmt.Fprintln(p.app.stdout, fit(printable(line), width))
	}
}
