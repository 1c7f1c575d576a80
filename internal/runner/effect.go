package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
)

// arrival is what an effect sends.
type arrival struct {
	from  *effect
	event flow.Event
	err   error      // the surroundings failed
	panic any        // of a broken invariant: who drives panics with it
	reply chan error // of updates: stored, or refused
}

// effect is what runs.
type effect struct {
	*flow.Effect
	stop context.CancelCauseFunc
	done chan struct{}
}

// Ending is the cause with which the context of an effect ends: one of the causes
// of package flow.
type Ending string

// Error is the cause.
func (e Ending) Error() string { return string(e) }

// The causes with which an effect is ended. A park leaves a step as it is.
const (
	errDeadline  = Ending(flow.CauseTimeout)
	errCancelled = Ending(flow.CauseCancel)
	errEscaped   = Ending(flow.CauseEscape)
	errParked    = Ending(flow.CausePark)
)

// errOver ends an effect that is no longer wanted.
var errOver = errors.New("no longer wanted")

// work makes an effect the one that runs.
func (r *runner) work(owed *flow.Effect) *work {
	ctx, stop := context.WithCancelCause(context.Background())
	r.running, r.expired, r.wish = &effect{owed, stop, make(chan struct{})}, false, nil
	w := &work{runner: r, effect: r.running, run: r.Run, ctx: ctx}
	w.sound, w.unsound = context.WithCancelCause(context.Background())
	return w
}

// start begins an effect.
func (r *runner) start(owed *flow.Effect) {
	w := r.work(owed)
	go func() {
		defer close(w.effect.done)
		if a := w.outcome(); a.event != nil || a.err != nil || a.panic != nil {
			w.handOver(a)
		}
	}()
}

// quick is how long whoever drives computes by itself. What takes longer would
// keep the claim from being kept, and others from being heard.
const quick = 10 * time.Millisecond

// compute has the driver itself compute a node, which costs no change of
// goroutine. If that takes longer, or never ends, another goroutine drives on,
// and gets what came of it as of any other effect; mine is false then, and the
// caller has no part in the run any more.
func (r *runner) compute(owed *flow.Effect) (a arrival, mine bool) {
	w := r.work(owed)
	defer close(w.effect.done)
	var driven atomic.Bool // by whoever sets it
	relief := time.AfterFunc(quick, func() {
		if driven.CompareAndSwap(false, true) {
			r.driving(r.drive)
		}
	})
	a = w.outcome()
	if driven.CompareAndSwap(false, true) {
		relief.Stop()
		return a, true
	}
	w.handOver(a)
	return a, false
}

// outcome carries the effect out.
func (w *work) outcome() (a arrival) {
	defer func() {
		if p := recover(); p != nil {
			a = arrival{from: w.effect, panic: p}
		}
	}()
	ev, err := w.do()
	return arrival{from: w.effect, event: ev, err: err}
}

// handOver gives whoever drives what an effect has led to, as its last deed.
func (w *work) handOver(a arrival) {
	select {
	case w.runner.events <- a:
	case <-w.ctx.Done():
		w.give(a)
	}
}

// give hands over what an effect ended with although it was told to end, as
// long as somebody may wait for it.
func (w *work) give(a arrival) {
	t := time.NewTimer(EndWait)
	defer t.Stop()
	select {
	case w.runner.events <- a:
	case <-t.C:
	}
}

// end tells the running effect to end and waits a while for it. What it still
// sends is dropped.
func (r *runner) end(cause error) {
	e := r.running
	if e == nil {
		return
	}
	r.running = nil
	e.stop(cause)
	t := time.NewTimer(EndWait)
	defer t.Stop()
	for {
		select {
		case a := <-r.events:
			if a.reply != nil {
				a.reply <- cause
			}
		case <-e.done:
			return
		case <-t.C:
			return
		}
	}
}
