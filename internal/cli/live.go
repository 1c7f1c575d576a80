package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/sandbox"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// live is a session that this process owns and runs.
type live struct {
	app       *app
	out       output
	disk      *disk.Session
	state     *session.State // as opened; the agent owns it once it has started
	agent     *agent.Agent
	home      *disk.Home
	feed      *owner.Feed
	server    *owner.Server // nil: not served
	model     chosen
	tools     *toolbox
	workspace string
	resumed   bool
	forked    string      // the session of which this one is a new copy; "" if it is none
	env       session.Env // Now and Facts.Date are set for each decision
	idle      chan struct{}
	leave     chan struct{}      // the user wants to be gone
	ignore    func() (came bool) // ends the handling of signals
	why       transcript.OpenWhy // what an existing session is opened for
	watch     func(wire.Event)   // is told each event too; nil: nobody
	here      *host.Live         // how workflow runs reach the session; nil: they don't
	// interrupted: when the session was opened, its run waited to be resumed.
	interrupted bool
	strays      []session.Aborts // steps whose runs don't wait for them any more
	stepRun     string           // the workflow run whose step that run belonged to
	runs        *sessionRuns     // of gamma exec
	flags       string           // of this run, to be repeated by who goes on
}

// closeWait is how long a leaving process waits for what it cancelled.
const closeWait = 3 * time.Second

// open creates or opens the session and wires it. Everything that can be
// wrong with the flags is found before the session exists.
//
// Without a prompt, and if nothing is left to do, the session is only read:
// then live.disk is nil.
func (c *execCmd) open(a *app, out output, prompt *string) (*live, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	conf, err := loadConfig(home.Dir(), a.env("HOME"))
	if err != nil {
		return nil, usageError{err}
	}
	l := &live{runs: c.runs, why: cmp.Or(c.why, transcript.OpenStart), app: a, out: out, home: home, idle: make(chan struct{}, 1), leave: make(chan struct{}, 1), ignore: func() bool { return false }}
	id, had, err := c.which(a, home)
	if err != nil {
		return nil, err
	}
	if l.workspace, err = a.folder(); err != nil && id == "" {
		return nil, err
	}
	if l.resumed = id != ""; l.resumed {
		l.workspace, c.Variant = had.Workspace, had.Variant
		if prompt == nil {
			if over, err := l.read(home, id); over || err != nil {
				return l, err
			}
		}
	}
	if !utf8.ValidString(l.workspace) {
		return nil, usagef("the name of the folder %q isn't UTF-8, which a transcript can't hold: rename it, or work in another folder", l.workspace)
	}
	if fi, err := os.Stat(l.workspace); err != nil || !fi.IsDir() {
		return nil, fmt.Errorf("the session's folder %s is gone: put it back (or make it with mkdir -p), or start a new session elsewhere", l.workspace)
	}
	if within(home.Dir(), l.workspace) && !isFiles(home.Dir(), l.workspace) {
		return nil, usagef("the folder %s is gamma's own data, which no session works on: run it in another folder", l.workspace)
	}
	if l.model, err = a.chooseModel(c.Model, had.Model, conf); err != nil {
		return nil, err
	}
	if c.around != nil {
		l.model.model = c.around(l.model.model)
	}
	if conf.Budgets.Cost > 0 && l.model.price == (session.Price{}) && !strings.HasPrefix(l.model.name, "script:") {
		return nil, usagef("budgets.cost is set, but nothing tells what %s costs: set models.%s.price in %s, or leave the budget out",
			l.model.name, l.model.name, filepath.Join(home.Dir(), "config.yaml"))
	}
	l.flags = c.repeated(had.Model, l.model.name)
	if err := l.equip(c, home, conf); err != nil {
		return nil, err
	}
	if l.model.notice != "" {
		out.notice(l.model.notice)
	}
	if c.Fork != "" {
		l.forked = id
		id, err = a.fork(home, id, "")
	}
	switch {
	case err != nil:
	case l.resumed:
		var used int64
		if used, err = c.used(a.ctx, id); err == nil {
			err = l.reopen(home, id, used)
		}
	default:
		err = l.create(c, home)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// which finds the session to resume; "" for a new one.
func (c *execCmd) which(a *app, home *disk.Home) (id string, had transcript.Session, err error) {
	switch {
	case c.Fork != "":
		id, err = a.findSession(home, c.Fork)
	case c.Resume != "":
		id, err = a.findSession(home, c.Resume)
	case c.Continue:
		id, err = a.newest(home)
	default:
		return "", had, nil
	}
	if err != nil {
		return "", had, err
	}
	log, err := home.Tail(id, 1)
	if err != nil {
		return "", had, err
	}
	had = log.Header
	if e, ok := home.Last(id, "model_change"); ok {
		had.Model = e.Body.(*transcript.ModelChange).Model
	}
	return id, had, nil
}

// read looks whether anything is left to do in the session, without owning
// it. If not, the newest run's result is all there is.
func (l *live) read(home *disk.Home, id string) (over bool, err error) {
	log, err := home.Read(id)
	if err != nil {
		return false, nil // opening it tells
	}
	s, err := session.Fold(log.Entries)
	if err != nil || s.Run != nil || len(s.Queue) > 0 {
		return false, nil
	}
	if l.runs != nil {
		runs, err := l.runs.bound(id)
		if err != nil || len(runs) > 0 {
			return false, err
		}
		if notes, err := l.runs.untold(id); err != nil || len(notes) > 0 {
			return false, err
		}
	}
	if s.Result() == nil {
		return false, usagef("session %s has no run to go on with: give a prompt", id)
	}
	l.state = s
	l.announce(s.Header.Model)
	return true, nil
}

// equip prepares tools, prefix, limits and facts.
func (l *live) equip(c *execCmd, home *disk.Home, conf config) error {
	var err error
	trusted := c.Trust || conf.trusts(l.workspace)
	l.tools, err = newToolbox(toolConfig{
		workspace: l.workspace, home: home.Dir(), trusted: trusted,
		secrets: l.app.keys(conf), notice: l.out.notice, sandbox: conf.Sandbox, kernel: sandbox.Probe()})
	if err != nil {
		return err
	}
	prefix, err := session.NewPrefix(c.Variant, l.tools.box)
	if err != nil {
		return usageError{err}
	}
	permit, err := permit(permitConfig{forRuns: c.owned != nil, rules: conf.Permissions, allow: c.Allow, deny: c.Deny, ask: c.Ask, plan: c.Plan,
		sandboxed: l.tools.confined.bashSandboxed(), workspace: l.workspace, closed: ownFolders(home.Dir()), skills: l.tools.skillDirs}, l.tools.box)
	if err != nil {
		return usageError{err}
	}
	require, err := requirements(conf.RequireSkills)
	if err != nil {
		return usageError{err}
	}
	for _, r := range require {
		if _, ok := l.tools.skills.Catalog.Get(r.Skill); !ok {
			l.out.notice(fmt.Sprintf("%s needs the skill %q, which isn't here: requests that match it can't be carried out", r.Source, r.Skill))
		}
	}
	answer, err := answerForm(l.app.cwd, c.OutputSchema)
	if err != nil {
		return err
	}
	l.env = session.Env{Tools: l.tools.box, Prefix: prefix, Permit: permit, Answerable: c.Wait, Answer: answer, Window: l.model.limit, Assumed: l.model.window,
		Limits: limits(conf.Budgets, c.MaxTurns, l.model.price),
		Skills: l.tools.skills.Catalog, Require: require,
		Facts: session.FactsNow{Locale: l.app.locale(), Agents: l.tools.instructions, Catalog: l.tools.catalog}}
	return nil
}

// defaultTurns is the turn limit of a run if nothing else is said.
const defaultTurns = 200

func limits(b budgets, flag *int, p session.Price) session.Limits {
	out := session.Limits{Turns: defaultTurns, Wall: b.Wall, Tokens: b.Tokens, Cost: b.Cost, Price: p}
	if b.Turns != nil {
		out.Turns = *b.Turns
	}
	if flag != nil {
		out.Turns = *flag
	}
	return out
}

// locale is the user's, by the usual variables.
func (a *app) locale() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v, _, _ := strings.Cut(a.env(name), "."); v != "" {
			return v
		}
	}
	return ""
}

// thisProcess names this process as an owner.
func thisProcess() transcript.Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return transcript.Owner{PID: os.Getpid(), Host: host}
}

// create makes a new session.
func (l *live) create(c *execCmd, home *disk.Home) error {
	name := c.id
	if name == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("session id: %w", err)
		}
		name = id.String()
	}
	var err error
	header := transcript.Session{Session: name, Schema: transcript.Schema, Variant: c.Variant, Mark: rand.Text()[:16],
		Model: l.model.name, Workspace: l.workspace, Label: c.Label, Digests: l.env.Prefix.Digests, Preloaded: l.env.Prefix.Preloaded, Run: c.run}
	l.disk, err = home.Create(header, thisProcess(), Version(l.app.version), time.Now().UTC())
	if err != nil {
		return err
	}
	if c.id != "" { // the id may have been used before
		used, err := c.used(l.app.ctx, name)
		if err != nil {
			return err
		}
		if used > 0 {
			if err := l.disk.Close(); err != nil {
				return err
			}
			return l.reopen(home, name, used)
		}
	}
	return l.fold()
}

// reopen takes over an existing session, with a token above the used one.
func (l *live) reopen(home *disk.Home, id string, used int64) error {
	var err error
	l.disk, err = home.OpenAbove(id, used, l.why, thisProcess(), Version(l.app.version), time.Now().UTC())
	if err != nil {
		return err
	}
	for _, n := range l.disk.Notices() {
		l.out.notice(n)
	}
	return l.fold()
}

func (l *live) fold() error {
	s, err := session.Fold(l.disk.Entries)
	if err != nil {
		return fmt.Errorf("session %s is damaged: %w. Nothing was changed. gamma session doctor %s names all damage and, with --fix, repairs it", l.disk.ID, err, l.disk.ID)
	}
	l.state = s
	l.disk.Entries = nil
	l.tools.attach(l.disk)
	return nil
}

// envNow is the environment of a decision that is made now.
func (l *live) envNow() session.Env { return l.envAt(time.Now().UTC()) }

func (l *live) envAt(now time.Time) session.Env {
	env := l.env
	env.Now = now
	env.Facts.Date = now.Local().Format(time.DateOnly)
	return env
}

// start brings the session to life, with what arrives at once.
func (l *live) start(with []transcript.Arrive) {
	l.interrupted = l.state.Interrupted()
	if r := l.state.Run; r != nil && r.Step != nil {
		l.stepRun = r.Step.Run
	}
	l.feed = owner.NewFeed(l.state.Epoch, l.state.Header.Mark)
	wake := session.Wake{With: with, Over: l.strays, Model: l.model.name, Maker: l.model.maker}
	l.agent = agent.Start(agent.Config{State: l.state, Store: l.disk, Keep: l.disk, Wake: wake, Model: l.model.model, Settings: l.model.settings,
		Tools: gate{l.tools, l.here, l.tools.workflow.Steps}, Env: l.envAt, Publish: l.publish, Warn: func(err error) { l.out.notice(err.Error()) }})
	l.serve()
}

func (l *live) publish(p agent.Published) {
	l.feed.Publish(p)
	e := owner.EventOf(p)
	l.out.event(e)
	if l.watch != nil {
		l.watch(e)
	}
	if l.here != nil && (p.Type == session.AgentStart || p.Type == session.AgentSettled) {
		l.here.Changed()
	}
	compacted := p.Type == session.Compaction && p.Squeeze.Phase != "start" && p.Run.IsZero()
	if p.Type == session.AgentSettled && !p.Settle.More || compacted {
		l.look()
	}
}

// look makes wait look whether anything is left to do.
func (l *live) look() {
	select {
	case l.idle <- struct{}{}:
	default:
	}
}

// catchSignals keeps the signals that onSignals will take.
func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return signals
}

// onSignals: the first interrupt aborts the run; a second one, or a
// termination, leaves at once with the run interrupted on disk.
func (l *live) onSignals(signals chan os.Signal) (stop func() (came bool)) {
	came := false
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		aborted := false
		for {
			select {
			case <-end:
				return
			case s := <-signals:
				came = true
				if s == os.Interrupt && !aborted {
					aborted = true
					l.out.notice("stopping; press Ctrl-C again to leave at once")
					go l.abort()
					continue
				}
				l.depart()
			}
		}
	}()
	return func() bool {
		signal.Stop(signals)
		close(end)
		<-ended
		return came
	}
}

// depart makes wait return.
func (l *live) depart() {
	select {
	case l.leave <- struct{}{}:
	default:
	}
}

// catchPipe: a reader of the output who has gone is an error of the write and
// not the end of the process. Commands that are started aren't told: a signal
// that is caught is as usual for them.
func catchPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func (l *live) abort() {
	r, err := l.agent.Send(context.Background(), session.Aborts{By: "user", Why: "interrupt"})
	if err == nil && r.Err != nil {
		l.depart() // nothing runs: just leave
	}
}

// again is what to type to go on: the session and the flags of this run.
func (l *live) again() string {
	return program() + " exec --resume " + l.state.Header.Session + l.flags
}

// repeated returns the flags that a run which goes on needs too. had is the
// session's own model, name the one that is used.
func (c *execCmd) repeated(had, name string) string {
	var b strings.Builder
	if c.Model != "" && had != "" && had != name {
		b.WriteString(" --model " + quoted(name))
	}
	if c.Trust {
		b.WriteString(" --trust")
	}
	for _, t := range c.Allow {
		b.WriteString(" --allow " + quoted(t))
	}
	for _, t := range c.Deny {
		b.WriteString(" --deny " + quoted(t))
	}
	if c.Ask != "" && c.Ask != "auto" {
		b.WriteString(" --ask " + c.Ask)
	}
	for _, f := range []struct {
		name string
		on   bool
	}{{"--wait", c.Wait}, {"--plan", c.Plan}} {
		if f.on {
			b.WriteString(" " + f.name)
		}
	}
	if c.OutputSchema != nil {
		b.WriteString(" --output-schema " + quoted(*c.OutputSchema))
	}
	if c.MaxTurns != nil {
		fmt.Fprintf(&b, " --max-turns %d", *c.MaxTurns)
	}
	return b.String()
}

// quoted makes one word of s for a shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._:-+=@%,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// close ends what was opened.
func (l *live) close() {
	l.unserve()
	if l.agent != nil {
		l.agent.Close(closeWait)
	}
	if l.tools != nil {
		if err := l.tools.close(); err != nil {
			l.out.notice(err.Error())
		}
	}
	if l.disk != nil {
		if err := l.disk.Close(); err != nil && !errors.Is(err, disk.ErrStopped) {
			l.out.notice(err.Error())
		}
	}
}
