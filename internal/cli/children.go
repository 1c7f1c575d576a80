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
)

// children are the sessions in which submit steps are carried out whose run has
// no session here: one a run, with an id that follows from the run's, so that
// whoever goes on finds it. It is safe for concurrent use.
type children struct {
	res   *residence
	flags sessionFlags
	out   func(run string) output
	// shares: other hosts share the work, so what this one can't do for want of
	// a model is left to them.
	shares bool

	mu   sync.Mutex
	open map[string]*house // by run

	taken  sync.Mutex
	others map[string]string // session that another process had, by run; "": this process can't carry its steps out
}

func newChildren(r *residence, flags sessionFlags, out func(string) output) (*children, error) {
	flags, err := flags.at(r.app)
	c := &children{res: r, flags: flags, out: out, open: map[string]*house{}, others: map[string]string{}}
	r.steps.Child, r.elsewhere = c.session, c.elsewhere
	return c, err
}

// session returns the session of a run; it is opened, or made, if it isn't here.
func (c *children) session(ctx context.Context, run string) (*host.Live, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.open[run]; h != nil {
		return h.here, nil
	}
	runs, err := c.res.open(ctx)
	if err != nil {
		return nil, err
	}
	_, info, err := runs.Store.Load(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	there := *c.res.app
	there.cwd, there.cwdErr = info.Workspace, nil
	home, err := there.home()
	if err != nil {
		return nil, err
	}
	id := host.ChildID(run)
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
	h, err := c.res.house(&there, cmd, c.out(run), nil)
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return nil, c.inUse(run, locked)
	}
	if usage := (usageError{}); c.shares && errors.As(err, &usage) {
		return nil, c.unfit(run, err)
	}
	if err != nil {
		return nil, err
	}
	c.open[run] = h
	return h.here, nil
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
	home, err := c.res.app.home()
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

// left ends the session of a run that isn't carried out here any more.
func (c *children) left(run string) {
	c.mu.Lock()
	h := c.open[run]
	delete(c.open, run)
	c.mu.Unlock()
	if h != nil {
		h.leave()
	}
}
