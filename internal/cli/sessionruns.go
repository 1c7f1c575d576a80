package cli

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
)

// sessionRuns carries on the workflow runs of one session beside its turns: those
// that the model starts, and, of a session that is resumed, those that are
// bound to it. It is safe for concurrent use.
type sessionRuns struct {
	proc *process
	ctx  context.Context
	park context.CancelFunc
	poke chan struct{} // something has changed
	work sync.WaitGroup

	out output // nil: nobody is told

	mu      sync.Mutex
	runs    map[string]*carried
	told    map[string]*known // by run
	changes int               // of runs
	closed  bool              // nothing is carried on any more
	fault   error             // a run couldn't be carried on
}

// carried is one run.
type carried struct {
	again  bool      // it was wanted once more meanwhile
	moves  bool      // somebody carries it on
	yields string    // the attempt that waits for the user
	run    *flow.Run // how it stood at last
}

func newSessionRuns(a *app) *sessionRuns {
	c := &sessionRuns{proc: newProcess(a), poke: make(chan struct{}, 1), runs: map[string]*carried{}, told: map[string]*known{}}
	c.ctx, c.park = context.WithCancel(a.ctx)
	c.proc.steps.Waits, c.proc.observe = c.waits, c.observe
	return c
}

// waits is told whether a step waits for the user.
func (c *sessionRuns) waits(run, attempt string, waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.runs[run]; r != nil {
		r.yields = ""
		if waiting {
			r.yields = attempt
		}
	}
	c.tell()
}

// tell says that something has changed. c.mu is held.
func (c *sessionRuns) tell() {
	c.changes++
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// carry carries a run on, until it has ended or stands.
func (c *sessionRuns) carry(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return // whoever has the session next does
	}
	c.tell()
	r := c.runs[id]
	if r == nil {
		r = &carried{}
		c.runs[id] = r
	}
	if r.again = r.moves; r.moves {
		return
	}
	r.moves = true
	done := c.proc.steps.Coming(id)
	c.work.Go(func() {
		defer done()
		c.drive(id, r)
	})
}

func (c *sessionRuns) drive(id string, r *carried) {
	for {
		runs, err := c.proc.open(c.ctx)
		var run *flow.Run
		if err == nil {
			c.knows(id)
			run, err = runs.Drive(c.ctx, id, nil)
		}
		if err == nil {
			c.over(runs.Store, run)
		}
		if err == nil && run.Session != "" && c.ctx.Err() == nil { // before the run counts as over: the session may have a turn
			err = c.proc.deliver(c.ctx, run.Session)
		}
		c.mu.Lock()
		if err == nil {
			r.run = run
		} else if c.ctx.Err() == nil && c.fault == nil {
			c.fault = err
		}
		if r.again && err == nil && c.ctx.Err() == nil {
			r.again = false
			c.mu.Unlock()
			continue
		}
		r.moves = false
		c.tell()
		c.mu.Unlock()
		return
	}
}

// busy reports whether a run is carried on that doesn't wait for the user, as
// asks says of an attempt: the session knows first whether the user has spoken.
// As long as changes is the same, no run has begun or ended in between.
func (c *sessionRuns) busy(asks func(attempt string) bool) (busy bool, changes int) {
	c.mu.Lock()
	var waits []string
	changes = c.changes
	for _, r := range c.runs {
		if r.moves {
			waits = append(waits, r.yields)
		}
	}
	c.mu.Unlock()
	return slices.ContainsFunc(waits, func(attempt string) bool { return attempt == "" || !asks(attempt) }), changes
}

// results says how the runs stand, and what kept one from being carried on.
func (c *sessionRuns) results() ([]wire.SessionRun, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []wire.SessionRun
	for id, r := range c.runs {
		s := wire.SessionRun{Run: id, Status: string(flow.Running), Reason: "yield"}
		if !r.moves && r.run == nil {
			continue
		} else if !r.moves {
			s.Status, s.Reason = string(r.run.Status), r.run.Reason
		}
		if k := c.told[id]; k != nil {
			s.Workflow, s.Output = k.workflow, k.output
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b wire.SessionRun) int { return strings.Compare(a.Run, b.Run) })
	return out, c.fault
}

// needsPerson reports whether a run waits for one.
func (c *sessionRuns) needsPerson() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs {
		if r.moves && r.yields != "" || r.run != nil && r.run.Status == flow.Waiting && r.run.Reason != flow.ForDelay && r.run.Reason != flow.ForRetry ||
			r.run != nil && r.run.Status == flow.Parked && r.run.Reason == flow.ForOperator {
			return true
		}
	}
	return false
}

// there opens the database if there is one. Where there is none yet, none is
// made: nil.
func (c *sessionRuns) there() (*host.Runs, error) {
	home, err := c.proc.app.homeDir()
	if err != nil {
		return nil, err
	}
	if there, err := catalog.There(home); err != nil || !there {
		return nil, err
	}
	return c.proc.open(c.ctx)
}

// lookForStrays finds out which steps of the session are over.
func (c *sessionRuns) lookForStrays(l *live) error {
	runs, err := c.there()
	if err == nil {
		l.strays, err = runs.Strays(c.ctx, l.disk.ID, l.state.OpenSteps())
	}
	return err
}

// bound lists the runs of a session that haven't ended.
func (c *sessionRuns) bound(session string) ([]store.Info, error) {
	runs, err := c.there()
	if runs == nil || err != nil {
		return nil, err
	}
	all, err := runs.Store.Select(c.ctx, store.Which{Open: true})
	var out []store.Info
	for _, i := range all {
		if i.Session == session || host.ChildID(i.ID) == session {
			out = append(out, i)
		}
	}
	return out, err
}

// untold lists what runs have for a session that it wasn't told yet.
func (c *sessionRuns) untold(session string) ([]store.Note, error) {
	runs, err := c.there()
	if runs == nil || err != nil {
		return nil, err
	}
	return runs.Store.Outbox(c.ctx, session)
}

// deliver tells a session what its runs have for it.
func (c *sessionRuns) deliver(session string) error {
	if err := c.proc.deliver(c.ctx, session); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell()
	return nil
}

// close parks what is carried on and closes the database. It comes before the
// session ends, so that each run says on disk that it is parked.
func (c *sessionRuns) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.park()
	c.work.Wait()
	return c.proc.close()
}
