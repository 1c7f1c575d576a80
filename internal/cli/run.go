package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// runCmd is gamma run.
type runCmd struct {
	Workflow  string   `arg:"" optional:"" help:"Name of the workflow (gamma run --list)."`
	Task      []string `arg:"" optional:"" help:"The input's task, in words: the same as --input '{\"task\": \"…\"}'. '-' reads it from standard input."`
	Input     *string  `placeholder:"JSON" help:"The input."`
	InputFile string   `name:"input-file" placeholder:"FILE" help:"A file with the input, as JSON."`
	Detach    bool     `help:"Only queue the run and print its id on standard output; gamma host, or gamma run --resume ID, carries it out."`
	Resume    string   `placeholder:"ID" help:"Go on with a run, here: after a kill, an interruption, a pause or an answer (\"gamma runs resume\" leaves that to a host, \"gamma exec --resume\" is for a session). A unique beginning or end of the id will do; last: the newest."`
	List      bool     `help:"List what can be run."`
	JSON      bool     `name:"json" help:"Print one JSON object a line; the last one is the result. With --list: one object a workflow, with its input schema."`
	Session   string   `placeholder:"ID" help:"The session that the run belongs to: agent steps are carried out there. Default: a new one, if the workflow needs one. A unique beginning or end of the id will do; last: the newest of this folder."`

	sessionFlags
}

// Help is the long help.
func (runCmd) Help() string {
	return `Runs a workflow on the current folder. The result goes to standard output, what happens to standard error. Each step is on disk before the next begins: kill the process, and go on with --resume. Ctrl-C parks the run.

A run that waits for a person asks on the terminal; without one it ends with exit code 3, and prints the command that answers: "gamma runs answer" for a decision, "gamma exec --resume" for what a step asks.

Examples:
  gamma run --list
  gamma run branch --input '{"path": "README.md"}'
  gamma run human-decision "write the tests, then the code"
  gamma run --resume last
  gamma run fix-loop --json | jq -r 'select(.type=="result").status'

Exit codes: 0 completed, 1 failed, 2 usage, 3 waits for a person, is paused or parked, 5 a limit of time or steps was reached, 7 the session is in use, 130 cancelled or interrupted.`
}

// Run is gamma run.
func (c *runCmd) Run(a *app) error {
	if c.List {
		return a.listWorkflows(c.JSON)
	}
	r := &flowing{app: a, out: newRunPrinter(a, c.JSON)}
	return r.failed(c.carry(a, r))
}

// carry starts the run, or finds it, and carries it out.
func (c *runCmd) carry(a *app, r *flowing) error {
	if c.Resume != "" && (c.Workflow != "" || c.Input != nil || c.InputFile != "" || c.Detach) {
		return usagef("--resume goes on with a run that has its workflow and input already")
	}
	if c.Resume != "" && c.Session != "" {
		return usagef("--resume goes on with a run that has its session already: leave out --session")
	}
	if c.Resume == "" && c.Workflow == "" {
		return usagef("no workflow: gamma run NAME (\"gamma run --list\" shows what there is)")
	}
	if given := c.sessionFlags.given(); c.Detach && len(given) > 0 {
		return usagef("%s with --detach: whoever carries the run out has its own (gamma host%s). Leave it out, or leave out --detach", strings.Join(given, ", "), c.sessionFlags.repeated())
	}
	catchPipe()
	r.flags, r.proc = c.sessionFlags, newProcess(a)
	kids, err := newChildren(r.proc, r.flags, func(string) output { return &sessionLines{p: r.out} })
	if err != nil {
		return err
	}
	kids.started = r.begun
	r.proc.observe, r.proc.carries, r.proc.steps.Waits = r.observe, kids.carries, r.asks
	r.proc.trouble = func(_ string, err error) { r.out.notice("%v; trying again until it works", err) }
	if r.host, err = r.proc.open(a.ctx); err != nil {
		return err
	}
	defer r.leave()
	r.db = r.host.Store
	ctx, stop := r.interruptible()
	defer stop()
	if err := r.prepare(c); err != nil {
		return err
	}
	if c.Detach {
		a.code = exitDone
		r.out.queued(r.id)
		r.out.result(wire.RunResult{Type: "result", Run: r.id, Workflow: r.info.Workflow, Status: string(flow.Queued)},
			"Carry it out with (or "+program()+" host):\n    "+program()+" run --resume "+r.id)
		return r.broken(false)
	}
	return r.drive(ctx)
}

// flowing is a run that this process carries out.
type flowing struct {
	app     *app
	db      store.Store
	host    *host.Runs
	out     *runPrinter
	id      string
	info    store.Info
	graph   *workflow.Graph
	in      *bufio.Reader // of the terminal, once it was asked; see input
	seq     int64         // the newest commit that was printed
	flags   sessionFlags
	proc    *process
	session *liveSession    // the run's session; nil: it lives not here
	ctx     context.Context // of drive
	stop    context.CancelFunc

	heard    string   // the other run whose path was printed last
	coming   []func() // end the announcements of runs
	carrier  string   // who carries the run out that is only read here; "": nobody
	answered bool     // the words that the open step waits for are there

	waits   atomic.Bool            // a step waits for the user, who can't speak here
	askedIn atomic.Pointer[string] // in this session
	reading sync.Mutex             // held while a line of the terminal is awaited
	talk    sync.Mutex             // guards hush and behind
	behind  []string               // the runs that the model has started and that are still to be carried out
	hush    context.CancelFunc     // the user's words aren't asked for any more; nil: they aren't
}

// leave ends the run's session, if it lives here, and closes the database.
func (r *flowing) leave() {
	for _, done := range r.coming {
		done()
	}
	if r.session != nil {
		r.session.leave()
	}
	if err := r.proc.close(); err != nil {
		r.out.notice("%v", err)
	}
}

// enter brings the run's session to life; of "" a new one. Words for a step that
// waits for them may be there, so its model may submit before its run is
// claimed: that run is announced.
func (r *flowing) enter(id string) (err error) {
	if id != "" {
		open, err := r.db.Select(r.app.ctx, store.Which{Session: id, Open: true})
		if err != nil {
			return err
		}
		for _, i := range open {
			if i.Waits {
				r.coming = append(r.coming, r.proc.steps.Coming(i.ID))
			}
		}
	}
	r.session, err = r.proc.bringUp(r.app, r.flags.exec(id), &sessionLines{p: r.out}, r.begun)
	return err
}

// failed ends a command whose run couldn't be carried on. Who reads JSON gets a
// result whatever has happened.
func (r *flowing) failed(err error) error {
	if err != nil && r.out.json && !r.out.ended {
		r.out.result(wire.RunResult{Type: "result", Run: r.id, Workflow: r.info.Workflow, Status: "error",
			Error: &wire.Error{Message: err.Error()}}, "")
	}
	return err
}

// broken is the error of an output that nobody can read any more.
func (r *flowing) broken(ended bool) error {
	if r.out.failed == nil {
		return nil
	}
	r.app.code = exitError
	next := "go on with: " + program() + " run --resume " + r.id
	if ended {
		next = "the run has ended, and what it did is kept: " + program() + " runs show " + r.id
	}
	return fmt.Errorf("standard output can't be written any more (%w); %s", bare(r.out.failed), next)
}

// prepare starts the run, or finds the one to go on with.
func (r *flowing) prepare(c *runCmd) error {
	ctx := r.app.ctx
	if c.Resume != "" {
		id, err := r.app.findRun(r.db, c.Resume)
		if err != nil {
			return err
		}
		r.id = id
		run, info, err := r.db.Load(ctx, id)
		if err == nil && info.Session != "" && !info.Status.Ended() && !r.app.lostSession(run) {
			if err := r.enter(info.Session); err != nil {
				return err
			}
		}
	} else if err := r.start(c); err != nil {
		return err
	}
	run, info, err := r.db.Load(ctx, r.id)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.id, err)
	}
	r.info = info
	if r.graph, err = graphOfRun(ctx, r.db, info); err != nil {
		return err
	}
	r.out.over = c.Resume != "" && info.Status.Ended()
	r.out.begin(wire.Run{Type: "run", Schema: wire.Schema, Run: r.id, Workflow: info.Workflow, Session: info.Session,
		Workspace: info.Workspace, Resumed: c.Resume != ""}, r.graph)
	if c.Resume != "" {
		if err := r.past(); err != nil {
			return err
		}
	}
	if c.Resume != "" && stopped(run) {
		return r.host.Send(ctx, r.id, flow.Resume{By: r.app.person()})
	}
	return nil
}

// stopped reports whether a run goes on only when a person says so: it is
// paused, is to be paused at its next step, or was left to the operator.
func stopped(r *flow.Run) bool {
	if r.Status.Ended() {
		return false
	}
	return r.Pause || (r.Status == flow.Waiting || r.Status == flow.Parked) && (r.Reason == flow.ForPause || r.Reason == flow.ForOperator)
}

// person names who gives commands here.
func (a *app) person() string {
	name := strings.TrimSpace(firstLine(single(strings.ToValidUTF8(a.env("USER"), "\uFFFD")), 64))
	if name == "" {
		name = "user"
	}
	return "terminal:" + name
}

func graphOfRun(ctx context.Context, db store.Store, info store.Info) (*workflow.Graph, error) {
	d, err := db.Definition(ctx, info.Definition)
	if err != nil {
		return nil, fmt.Errorf("run %s: definition: %w", info.ID, err)
	}
	g, _ := host.GraphOf(d) // one that can't be read here has no nodes
	return g.Graph, nil
}

func (r *flowing) start(c *runCmd) error {
	def, source, err := r.app.findWorkflow(c.Workflow)
	if err != nil {
		return err
	}
	input, err := c.input(r.app, def)
	if err != nil {
		return err
	}
	home, err := r.app.home()
	if err != nil {
		return err
	}
	if within(home.Dir(), r.app.cwd) && !isFiles(home.Dir(), r.app.cwd) {
		return usagef("the folder %s is gamma's own data, which no workflow works on: run it in another folder", r.app.cwd)
	}
	req := host.Request{Definition: def, Source: source, Input: input, Session: c.Session, Workspace: r.app.cwd}
	if err := r.settle(c, home, &req); err != nil {
		return err
	}
	if bad := (*host.InputError)(nil); !errors.As(req.Check(), &bad) && req.Check() != nil {
		if c.Detach && req.Session == "" {
			return usagef("%s: give --session ID, or leave out --detach", strings.TrimSuffix(req.Check().Error(), "."))
		}
		return usageError{req.Check()}
	}
	r.id, err = r.host.Start(r.app.ctx, req)
	var bad *host.InputError
	if errors.As(err, &bad) {
		return usageError{inputHelp(bad, input, def.Graph)}
	}
	if errors.Is(err, host.ErrNoSteps) {
		return usageError{err}
	}
	return err
}

// settle gives the run the session that it needs. What is wrong with the
// request is found before a session is made.
func (r *flowing) settle(c *runCmd, home *disk.Home, req *host.Request) error {
	var err error
	if c.Session != "" {
		if req.Session, err = r.app.findSession(home, c.Session); err != nil {
			return err
		}
	}
	if c.Detach {
		return nil
	}
	probe := *req
	if probe.Session == "" && r.talks(req.Definition.Graph) {
		probe.Session = "new"
	}
	if err := probe.Check(); err != nil || probe.Session == "" {
		return nil // Start tells
	}
	if err := r.enter(req.Session); err != nil {
		return err
	}
	req.Session = r.session.disk.ID
	return nil
}

// place is the session in which the run's steps are carried out here.
func (r *flowing) place() string {
	if id := r.askedIn.Load(); id != nil {
		return *id
	}
	if r.session != nil {
		return r.session.disk.ID
	}
	return host.ChildID(r.id)
}

// talks reports whether a workflow needs a session of its own.
func (r *flowing) talks(g *workflow.Graph) bool {
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.NodeType == workflow.TypeAgent || n.NodeType == workflow.TypeNotify {
			return true
		}
	}
	return slices.Contains(g.Calls, "present")
}

// observe prints a commit of this process, after those that were made in
// between without a claim: answers and timers.
func (r *flowing) observe(id string, _ *flow.Run, c *flow.Commit) {
	if id != r.id {
		r.overheard(id, c)
		return
	}
	if r.seq+1 < c.Next.Seq {
		if err := r.more(c.Next.Seq - 1); err != nil {
			r.out.notice("%v", err)
		}
	}
	r.seq = c.Next.Seq
	r.out.events(runEvents(r.graph, r.id, store.Event{Seq: c.Next.Seq, At: time.Now().UnixMilli(), Facts: c.Facts, Output: c.Output}, c.Request))
}

// drive carries the run out until it has ended or only somebody else can go on,
// and asks on the terminal where it can.
func (r *flowing) drive(ctx context.Context) error {
	quiet := context.AfterFunc(ctx, func() { r.out.says("parking the run; Ctrl-C again leaves at once") })
	defer quiet()
	still := r.out.live("Ctrl-C parks it")
	defer still()
	ctx, r.stop = context.WithCancel(ctx)
	r.ctx = ctx
	defer r.stop()
	for {
		run, err := r.advance(ctx)
		if err != nil {
			return err
		}
		asked := run.Status == flow.Waiting && run.Open != nil && run.Open.Decision != ""
		if ctx.Err() == nil && asked && !r.out.json {
			if err := r.ask(ctx, run); err == nil {
				continue
			} else if !errors.Is(err, errNoAnswer) {
				return err
			}
		}
		if err := r.told(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		interrupted := ctx.Err() != nil
		if err := r.follow(ctx, run); err != nil {
			return err
		}
		return r.finish(run, interrupted)
	}
}

// advance carries the run out until it stands, behind those that go first.
func (r *flowing) advance(ctx context.Context) (*flow.Run, error) {
	blocked, err := r.first(ctx)
	if err != nil {
		return nil, err
	}
	var run *flow.Run
	if !blocked && ctx.Err() == nil {
		run, err = r.host.Drive(ctx, r.id, r.held(r.id))
	}
	if run == nil && (err == nil || ctx.Err() != nil) { // interrupted before it was claimed
		var info store.Info
		if run, info, err = r.db.Load(r.app.ctx, r.id); err == nil && info.Behind != "" {
			run.Message = goesFirst(info.Behind)
		}
	}
	if err == nil {
		err = r.more(0)
	}
	return run, err
}

// told lets the session have what the run tells it: a presentation is one turn.
func (r *flowing) told(ctx context.Context) error {
	if r.session == nil || ctx.Err() != nil {
		return nil
	}
	if err := r.proc.deliver(ctx, r.session.disk.ID); err != nil {
		return err
	}
	return r.session.here.Idle(ctx)
}

// interruptible is a context that a signal or a closed output ends. It begins
// before the first line is printed, so that who sees a line can end the
// process in order.
func (r *flowing) interruptible() (context.Context, func()) {
	ctx, stop := signal.NotifyContext(r.app.ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	end := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.out.broken:
			stop()
		case <-ctx.Done():
			stop() // the next signal ends the process at once
		case <-end:
		}
	}()
	return ctx, func() {
		close(end)
		<-ended
		stop()
	}
}
