package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
)

// children are the sessions in which submit steps are carried out whose run has
// no session here: one a run, with an id that follows from the run's, so that
// whoever goes on finds it. A session is opened when the first step asks for it,
// and ends when nobody here carries the run out any more. One that takes its
// time to open keeps its own run waiting and no other. It is safe for concurrent
// use.
type children struct {
	proc  *process
	flags sessionFlags
	out   func(run string) output
	// shares: other hosts share the work, so what this one can't do for want of
	// a model is left to them.
	shares bool
	// started is told of a run that a model has started in one of them; nil:
	// whoever claims runs finds it.
	started func(run string)

	mu   sync.Mutex
	runs map[string]*child // that are carried out here

	taken  sync.Mutex
	others map[string]string // session that another process had, by run; "": this process can't carry its steps out
	made   map[string]string // the run for whose steps a session was made, by session; "": none

	looking sync.Mutex
	looked  time.Time // when
	asleep  []string  // what dormant has found then
}

// child is the session of one run.
type child struct {
	carried int      // times: a claim may be lost to this process itself
	opening *doorway // nil: nobody has asked for it, or it couldn't be opened
}

// doorway is a session that is being opened, or is open.
type doorway struct {
	done    chan struct{} // closed when session or err is set
	session *liveSession
	err     error
}

// errNotCarried: a step of a run asks for its session late.
var errNotCarried = errors.New("the run isn't carried out here any more")

func newChildren(r *process, flags sessionFlags, out func(run string) output) (*children, error) {
	flags, err := flags.at(r.app)
	c := &children{proc: r, flags: flags, out: out, runs: map[string]*child{}, others: map[string]string{}, made: map[string]string{}}
	r.steps.Child, r.elsewhere, r.dormant = c.session, c.elsewhere, c.dormant
	return c, err
}

// carries says that a run is carried out here until left is called, which ends
// its session.
func (c *children) carries(run string) (left func()) {
	c.keep(run)
	done := c.proc.steps.Coming(run) // words for a step may be there, so its model may submit as soon as its session lives
	alone := func() {}
	if outer := c.outer(c.proc.app.ctx, run); outer != "" {
		alone = c.accompany(run, outer)
	}
	return func() {
		done()
		c.left(run)
		alone()
	}
}

// keep counts a reason for a run's session to be here; left takes it back.
func (c *children) keep(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[run] == nil {
		c.runs[run] = &child{}
	}
	c.runs[run].carried++
}

func (c *children) left(run string) {
	c.mu.Lock()
	k := c.runs[run]
	k.carried--
	last, o := k.carried == 0, k.opening
	if last {
		delete(c.runs, run)
	}
	c.mu.Unlock()
	if !last || o == nil {
		return
	}
	<-o.done
	if o.session != nil {
		o.session.leave()
	}
}

// session returns the session of a run; it is opened, or made, if it isn't here.
func (c *children) session(ctx context.Context, run string) (*host.Live, error) {
	c.mu.Lock()
	k := c.runs[run]
	if k == nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("run %s: %w", run, errNotCarried)
	}
	o := k.opening
	if o == nil {
		o = &doorway{done: make(chan struct{})}
		k.opening = o
		go c.open(context.WithoutCancel(ctx), run, k, o)
	}
	c.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if o.err != nil {
		return nil, o.err
	}
	return o.session.here, nil
}

// open opens the session of a run. Whoever asks after a failure tries again.
func (c *children) open(ctx context.Context, run string, k *child, o *doorway) {
	defer close(o.done)
	if o.session, o.err = c.bring(ctx, run); o.err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.opening = nil
}

// bring opens the session of a run, or makes it.
func (c *children) bring(ctx context.Context, run string) (*liveSession, error) {
	home, err := c.proc.app.home()
	if err != nil {
		return nil, err
	}
	id := host.ChildID(run)
	there := *c.proc.app
	if there.cwd, err = c.folder(ctx, home, run); err != nil {
		return nil, err
	}
	there.cwdErr = nil
	cmd := c.flags.exec(id)
	_, err = home.Tail(id, 1)
	if cut := (*disk.UnfinishedError)(nil); errors.As(err, &cut) { // a host was killed while it made it: it holds nothing
		if _, err = home.Remove(id, os.Getpid(), time.Now().UTC(), false); err == nil {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		cmd = c.flags.exec("")
		cmd.id, cmd.run, cmd.Label = id, run, "steps of workflow run "+run
	} else if err != nil {
		return nil, err
	}
	h, err := c.proc.bringUp(&there, cmd, c.out(run), c.started)
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return nil, c.inUse(run, locked)
	}
	if usage := (usageError{}); c.shares && errors.As(err, &usage) {
		return nil, c.unfit(run, err)
	}
	return h, err
}

// folder is the one in which the steps of a run are carried out. Where the run
// was removed, since it has ended, its session tells it.
func (c *children) folder(ctx context.Context, home *disk.Home, run string) (string, error) {
	runs, err := c.proc.open(ctx)
	if err != nil {
		return "", err
	}
	_, info, err := runs.Store.Load(ctx, run)
	if errors.Is(err, store.ErrNotFound) {
		if log, lost := home.Tail(host.ChildID(run), 1); lost == nil {
			return log.Header.Workspace, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", run, err)
	}
	return info.Workspace, nil
}

// inUse notes that another process has the session of a run.
func (c *children) inUse(run string, l *disk.LockedError) error {
	c.taken.Lock()
	defer c.taken.Unlock()
	c.others[run] = l.ID
	who := "another process"
	if l.PID != 0 {
		who = fmt.Sprintf("process %d on %s", l.PID, l.Host)
	}
	return &runner.InUseError{Owner: fmt.Sprintf("session %s is in use by %s", l.ID, who)}
}

// unfit notes that the steps of a run can't be carried out by this process as
// it was started.
func (c *children) unfit(run string, err error) error {
	c.taken.Lock()
	defer c.taken.Unlock()
	c.others[run] = ""
	return &runner.UnfitError{Why: err.Error() + ". The run goes on with a host that has what is missing."}
}

// elsewhere lists the runs whose session another process still has. One whose
// lock can't be looked at is tried.
func (c *children) elsewhere() []string {
	c.taken.Lock()
	defer c.taken.Unlock()
	if len(c.others) == 0 {
		return nil
	}
	home, err := c.proc.app.home()
	if err != nil {
		return nil
	}
	var out []string
	for run, id := range c.others {
		if id == "" {
			out = append(out, run)
			continue
		}
		if owner, err := home.Holder(id); err != nil || owner == nil {
			delete(c.others, run)
			continue
		}
		out = append(out, run)
	}
	return out
}
