package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

// endOwn asks the run to end whose step makes the call. The end of the step ends
// the call too, so it is asked for and not waited for, and the words are true
// whatever comes of it.
func (t *Tool) endOwn(ctx context.Context, runs *Runs, id string, ev flow.Event) (string, error) {
	if err := runs.ask(context.WithoutCancel(ctx), id, ev); err != nil {
		return "", err
	}
	return fmt.Sprintf("Run %s is asked to end, and this step with it. An output of the step that was accepted before still counts; a run that it completes stays completed.", id), nil
}

// ask brings an event to a run, or leaves it for the run's holder, and doesn't
// wait until that takes it.
func (h *Runs) ask(ctx context.Context, id string, ev flow.Event) error {
	for {
		err := h.visit(ctx, id, ev, nil)
		var refused *flow.Refusal
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused):
			return refused
		case !errors.Is(err, store.ErrFenced):
			return fmt.Errorf("run %s: %w", id, err)
		}
		held, err := h.held(ctx, id)
		if err == nil && held {
			err = h.Store.Leave(ctx, id, uuid.NewString(), ev, time.Now().UnixMilli())
		}
		if held || err != nil {
			return err
		}
	}
}
