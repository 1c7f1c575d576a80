package runner

import (
	"context"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
)

// signals carries out what others left for the run.
func (r *runner) signals(ctx context.Context) error {
	var list []Signal
	err := r.tried(func() (err error) {
		list, err = r.Claim.Signals(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range list {
		if r.wish != nil && r.wish.ID == s.ID {
			continue // the step was told, and hasn't ended yet
		}
		if r.tellStep(s) {
			continue
		}
		refused, err := r.commit(ctx, s.Event, []string{s.ID})
		if err == nil && refused != nil {
			err = r.drop(ctx, s.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) drop(ctx context.Context, signal string) error {
	return r.tried(func() error { return r.Claim.Drop(ctx, signal) })
}

// tellStep tells a running agent step that it is to end; its outcome decides.
func (r *runner) tellStep(s Signal) bool {
	e := r.running
	if e == nil || e.Kind != flow.DoStep || r.wish != nil {
		return false
	}
	cause := errCancelled
	switch s.Event.(type) {
	case flow.Cancel:
	case flow.Escape:
		cause = errEscaped
		r.Steps.Hold(e.Attempt)
	default:
		return false
	}
	r.wish = &s
	e.stop(cause)
	return true
}

// stepDone takes the end of an agent step, and then what it was told to end
// for.
func (r *runner) stepDone(ctx context.Context, done flow.StepDone) error {
	wish := r.wish
	r.wish = nil
	o := done.Outcome
	if wish == nil || o.Stop != flow.StopAborted || o.Output != nil {
		refused, err := r.commit(ctx, done, nil)
		if err != nil {
			return err
		}
		if refused != nil {
			return fmt.Errorf("run %s: %w", r.Run.ID, refused)
		}
		if wish == nil {
			return nil
		}
	}
	refused, err := r.commit(ctx, wish.Event, []string{wish.ID})
	if err == nil && refused != nil {
		err = r.drop(ctx, wish.ID)
	}
	return err
}
