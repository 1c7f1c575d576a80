package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/runner"
)

// hand gives something to an open step. A claim that is lost meanwhile says
// nothing about what is given: the step's next caller is asked then, as long as
// one is to be expected here.
func (x *Steps) hand(ctx context.Context, l *Live, attempt string, give func(runner.Step) error) error {
	tick := time.NewTicker(sureEvery)
	defer tick.Stop()
	for {
		f := x.attempt(ctx, l, attempt)
		if f == nil {
			return x.noStep(l, attempt)
		}
		step, err := f.open()
		if err != nil {
			return err
		}
		if sure(step) {
			if err = give(step); !errors.Is(err, runner.ErrLost) {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sureEvery is how often it is looked whether a claim is back.
const sureEvery = 20 * time.Millisecond

// Sure waits until the run of an attempt is certain to be claimed here, so that
// nothing is done for a step that somebody may have ended meanwhile: a process
// that was suspended finds that out only when it looks. Of a run that isn't
// carried out here nothing is known, and nothing is waited for. Whoever ends the
// step ends ctx; the error is its cause.
func (x *Steps) Sure(ctx context.Context, attempt string) error {
	run, _, _ := strings.Cut(attempt, "/")
	tick := time.NewTicker(sureEvery)
	defer tick.Stop()
	for {
		x.mu.Lock()
		f, coming := x.attempts[attempt], x.coming[run] != nil
		x.mu.Unlock()
		if f == nil && !coming {
			return nil
		}
		if f != nil {
			if step, _ := f.now(); sure(step) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sure reports whether a step's run is certain to be claimed.
func sure(s runner.Step) bool { return s.Held == nil || s.Held() }
