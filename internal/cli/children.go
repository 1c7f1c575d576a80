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
)

// children are the sessions in which submit steps are carried out whose run has
// no session here: one a run, with an id that follows from the run's, so that
// whoever goes on finds it. It is safe for concurrent use.
type children struct {
	res   *residence
	flags sessionFlags
	out   func(run string) output

	mu   sync.Mutex
	open map[string]*house // by run
}

func newChildren(r *residence, flags sessionFlags, out func(string) output) (*children, error) {
	flags, err := flags.at(r.app)
	c := &children{res: r, flags: flags, out: out, open: map[string]*house{}}
	r.steps.Child = c.session
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
		cmd.id, cmd.Label = id, "steps of workflow run "+run
	} else if err != nil {
		return nil, err
	}
	h, err := c.res.house(&there, cmd, c.out(run), nil)
	if err != nil {
		return nil, err
	}
	c.open[run] = h
	return h.here, nil
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
