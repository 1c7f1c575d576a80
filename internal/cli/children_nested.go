package cli

import (
	"context"
	"errors"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
)

// A model can start a run in the middle of a step, so in a session that hosts
// made for the steps of another run. No person has that session, and its own run
// may have ended, so whoever carries the new run out brings the session here.

// outer returns the run for whose steps the session was made that a run belongs
// to; "": the session is a person's, or there is none.
func (c *children) outer(ctx context.Context, run string) string {
	runs, err := c.proc.open(ctx)
	if err != nil {
		return ""
	}
	_, info, err := runs.Store.Load(ctx, run)
	if err != nil {
		return "" // whoever carries it out finds out
	}
	return c.madeFor(info.Session)
}

// madeFor returns the run for whose steps a session was made; "": it is another
// one, or isn't there.
func (c *children) madeFor(session string) string {
	if session == "" {
		return ""
	}
	home, err := c.proc.app.home()
	if err != nil {
		return ""
	}
	c.taken.Lock()
	run, known := c.made[session]
	c.taken.Unlock()
	if known {
		if there, err := home.Has(session); err != nil || !there {
			return "" // it was removed, and isn't made again: nobody knows what it has shown
		}
		return run
	}
	log, err := home.Tail(session, 1)
	if err != nil {
		return "" // it may be put back
	}
	c.taken.Lock()
	defer c.taken.Unlock()
	c.made[session] = log.Header.Run
	return log.Header.Run
}

// accompany brings the session here in which a run was started, for as long as
// the run is carried out here.
func (c *children) accompany(run, outer string) (left func()) {
	c.keep(outer)
	ctx := c.proc.app.ctx
	if c.proc.sessions.Get(host.ChildID(outer)) == nil {
		if _, err := c.session(ctx, outer); err != nil && ctx.Err() == nil {
			c.unaccompanied(run, outer, err)
		}
	}
	return func() { c.left(outer) }
}

// unaccompanied notes that the session can't be brought here: not as long as
// another process has it, or not by this process. The run is carried on as far as
// it goes without the session, and isn't claimed again meanwhile.
func (c *children) unaccompanied(run, outer string, err error) {
	used := (*runner.InUseError)(nil)
	c.taken.Lock()
	c.others[run] = ""
	if errors.As(err, &used) {
		c.others[run] = host.ChildID(outer)
	}
	c.taken.Unlock()
	if used == nil && c.proc.trouble != nil {
		c.proc.trouble(run, err)
	}
}

// dormant lists the sessions that hosts made and that runs wait for. It looks
// once a second.
func (c *children) dormant() []string {
	c.looking.Lock()
	defer c.looking.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookDormant {
		c.looked, c.asleep = now, c.look()
	}
	return c.asleep
}

// lookDormant is how often a host looks for runs that wait for its sessions.
const lookDormant = time.Second

func (c *children) look() (out []string) {
	ctx := c.proc.app.ctx
	runs, err := c.proc.open(ctx)
	if err != nil {
		return nil
	}
	open, err := runs.Store.Select(ctx, store.Which{Open: true})
	if err != nil {
		return nil // the claim itself says what is wrong
	}
	for _, i := range open {
		if i.Status == flow.Parked && i.Reason == flow.ForSession && c.madeFor(i.Session) != "" {
			out = append(out, i.Session)
		}
	}
	return out
}
