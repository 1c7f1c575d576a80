package host

import (
	"context"
	"errors"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// claim is a runner's way into the store.
type claim struct {
	host  *Runs
	graph *flow.Graph
	run   string
	token int64
	kept  bool   // the newest commit didn't give it back
	left  func() // comes before it is given back
	waits func() // the open step waits for the user; nil: nobody wants to know
}

// told passes on that the run waits for its user.
func (c *claim) told(run *flow.Run) {
	if c.waits != nil && run.Open != nil && run.Open.Waits {
		c.waits()
	}
}

// Commit stores a commit. The claim goes back with it when the run no longer
// needs anybody.
func (c *claim) Commit(ctx context.Context, before *flow.Run, commit *flow.Commit, consumed []string) (time.Time, error) {
	now := time.Now()
	w := store.Write{Graph: c.graph, Before: before, Commit: commit, Token: c.token, Now: now.UnixMilli(), Consumed: consumed}
	var until time.Time
	if commit.Next.Status == flow.Running || commit.Next.Status == flow.Queued {
		until = now.Add(crashpoint.Quick(runner.Lease))
		w.LeaseUntil = until.UnixMilli()
	} else {
		c.left()
	}
	if err := c.host.Store.Commit(ctx, w); err != nil {
		return until, lost(err)
	}
	c.kept = w.LeaseUntil > 0
	c.host.told(commit)
	return until, nil
}

// lost turns the store's words for a lost claim and for an outage into the
// runner's.
func lost(err error) error {
	switch {
	case errors.Is(err, store.ErrFenced):
		return runner.ErrLost
	case errors.Is(err, store.ErrTryLater):
		return outage{err}
	}
	return err
}

// outage is an error of a store that may be gone later, in the words of both.
type outage struct{ error }

func (o outage) Unwrap() error        { return o.error }
func (o outage) Is(target error) bool { return target == runner.ErrTryLater }

// Renew keeps the claim.
func (c *claim) Renew(ctx context.Context) (time.Time, error) {
	now := time.Now()
	until := now.Add(crashpoint.Quick(runner.Lease))
	return until, lost(c.host.Store.Renew(ctx, c.run, c.token, now.UnixMilli(), until.UnixMilli()))
}

// Output reads an output.
func (c *claim) Output(ctx context.Context, seq int64) (workflow.JSON, error) {
	out, err := c.host.Store.Output(ctx, c.run, seq)
	return out, lost(err)
}

// Signals lists what was left for the run.
func (c *claim) Signals(ctx context.Context) ([]runner.Signal, error) {
	list, err := c.host.Store.Signals(ctx, c.run)
	out := make([]runner.Signal, len(list))
	for i, s := range list {
		out[i] = runner.Signal{ID: s.ID, Event: s.Event}
	}
	return out, lost(err)
}

// Drop removes a signal.
func (c *claim) Drop(ctx context.Context, id string) error {
	_, err := c.host.Store.Drop(ctx, c.run, id)
	return lost(err)
}

// park parks a run that can't be carried out here for the operator.
func (c *claim) park(ctx context.Context, run *flow.Run, leaseWas int64, why string) (*flow.Run, error) {
	d := flow.Decide(c.graph, run, flow.Park{For: flow.ForOperator, Message: why, LeaseWas: leaseWas}, flow.Env{Now: time.Now().UnixMilli(), Holder: true})
	if d.Refused != nil {
		return run, nil
	}
	err := c.host.patient(ctx, c.run, func() error {
		_, err := c.Commit(ctx, run, &d, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.host.Observe != nil {
		c.host.Observe(run.ID, run, &d)
	}
	return d.Next, nil
}
