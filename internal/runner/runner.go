package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// The times of a claim.
const (
	Lease       = 30 * time.Second
	RenewEvery  = 10 * time.Second
	StartMargin = 5 * time.Second
	EndWait     = 3 * time.Second        // for an effect that was told to end
	PollSignals = 300 * time.Millisecond // what others want is looked for this often
)

// ErrLost: the claim is somebody else's.
var ErrLost = errors.New("the run's claim is lost")

// ErrTryLater: the store can't be used for now.
var ErrTryLater = errors.New("the store can't be used for now")

// Wait is how long to wait after so many tries that a store couldn't be used.
func Wait(tries int) time.Duration { return min(250*time.Millisecond<<min(tries, 8), 10*time.Second) }

// Signal is an event that somebody left for the holder.
type Signal struct {
	ID    string
	Event flow.Event
}

// Claim is the claim of the run and the way into its store. Each method may
// return ErrTryLater, and is called again then.
type Claim interface {
	// Commit stores a commit and keeps the claim until then; a zero time means
	// that the claim was given back with it. ErrLost: nothing was written.
	Commit(ctx context.Context, before *flow.Run, c *flow.Commit, consumed []string) (until time.Time, err error)
	// Renew keeps the claim. ErrLost: it is gone.
	Renew(ctx context.Context) (until time.Time, err error)
	// Output reads the output of a commit.
	Output(ctx context.Context, seq int64) (workflow.JSON, error)
	// Signals lists what was left for the run, the oldest first.
	Signals(ctx context.Context) ([]Signal, error)
	// Drop removes a signal that changes nothing.
	Drop(ctx context.Context, id string) error
}

// Config is a claimed run and what it needs.
type Config struct {
	Graph     *flow.Graph
	Program   workflow.Program
	Run       *flow.Run
	Input     workflow.JSON // as given
	Claim     Claim
	Until     time.Time  // of the lease
	Claimed   flow.Claim // what is known of the claim before
	Session   bool       // the run's session is live here
	Workspace string
	Env       []string     // of commands
	Steps     StepExecutor // nil: there is none, agent steps fail
	// Observe is told of each commit after it is stored, in order. It must not
	// wait for the run.
	Observe func(before *flow.Run, c *flow.Commit)
	// Trouble is told once of a store that can't be used for now; nil: nobody
	// listens.
	Trouble func(err error)
}

// runner is a run that is being carried out. The goroutine of Drive owns it.
type runner struct {
	Config
	running  *effect
	events   chan arrival
	late     *time.Timer // fires before the lease runs out
	lost     chan struct{}
	outputs  *outputs
	wish     *Signal         // a cancel or escape that the open step was told of
	expired  bool            // the open effect was told that its time is up
	stop     <-chan struct{} // closed when the run is to be given up
	until    atomic.Int64    // when the lease ends, in Unix milliseconds
	troubled bool            // Trouble was told, and the store couldn't be used since
}

// arrival is what an effect sends.
type arrival struct {
	from  *effect
	event flow.Event
	err   error      // the surroundings failed
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

// Drive carries out a claimed run until nothing is owed.
func Drive(ctx context.Context, c Config) (*flow.Run, error) {
	r := &runner{Config: c, events: make(chan arrival), lost: make(chan struct{}, 1), outputs: newOutputs(c.Claim), stop: ctx.Done()}
	r.late = time.AfterFunc(time.Until(c.Until)-crashpoint.Quick(StartMargin), func() {
		select {
		case r.lost <- struct{}{}:
		default:
		}
	})
	defer r.late.Stop()
	r.until.Store(c.Until.UnixMilli())
	err := r.drive(ctx)
	r.until.Store(0)
	r.end(errOver)
	return r.Run, err
}

func (r *runner) drive(ctx context.Context) error {
	store := context.WithoutCancel(ctx) // what is begun is stored
	if err := r.signals(store); err != nil {
		return err
	}
	if err := r.decide(store, r.Claimed, nil); err != nil {
		return err
	}
	renew, poll := time.NewTicker(crashpoint.Quick(RenewEvery)), time.NewTicker(PollSignals)
	defer renew.Stop()
	defer poll.Stop()
	for {
		if err := r.reconcile(store); err != nil {
			return err
		}
		if r.running == nil {
			return nil
		}
		deadline, stop := r.deadline()
		err := r.step(ctx, store, renew.C, poll.C, deadline)
		stop()
		if err != nil {
			return err
		}
	}
}

// step waits for one thing to happen and carries it out.
func (r *runner) step(ctx, store context.Context, renew, poll, deadline <-chan time.Time) error {
	select {
	case a := <-r.events:
		return r.arrived(store, a)
	case <-renew:
		return r.renew(store)
	case <-poll:
		return r.signals(store)
	case <-deadline:
		return r.overdue(store)
	case <-r.lost:
		return r.tooLate()
	case <-ctx.Done():
		return r.park(store)
	}
}

// renew keeps the claim.
func (r *runner) renew(ctx context.Context) error {
	return r.tried(func() error {
		until, err := r.Claim.Renew(ctx)
		if err == nil {
			r.leased(until)
		}
		return err
	})
}

// tried calls the store until it can be used. A running effect is ended when
// the lease runs out meanwhile, also while a call takes its time: nobody here
// can know whether the claim is still ours. Without an effect there is nothing
// to be stopped, and the claim's token decides: a result isn't thrown away
// because it couldn't be written at once.
func (r *runner) tried(call func() error) error {
	for n := 0; ; n++ {
		err := r.watched(call)
		if !errors.Is(err, ErrTryLater) {
			r.troubled = r.troubled && err != nil
			return err
		}
		if !r.troubled && r.Trouble != nil {
			r.Trouble(err)
		}
		r.troubled = true
		t := time.NewTimer(Wait(n))
		select {
		case <-t.C:
		case <-r.lost:
			if r.running != nil {
				return r.tooLate()
			}
		case <-r.stop:
			t.Stop()
			return err
		}
		t.Stop()
	}
}

// watched calls the store. An effect that runs is ended at once when the lease
// runs out.
func (r *runner) watched(call func() error) error {
	if r.running == nil {
		return call()
	}
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-r.lost:
		err := r.tooLate()
		<-done
		return err
	}
}

// tooLate ends what runs when the lease has run out.
func (r *runner) tooLate() error {
	r.until.Store(0)
	r.end(ErrLost)
	return fmt.Errorf("%w: its lease couldn't be renewed in time", ErrLost)
}

// leased moves the moment at which everything stops unless the claim is kept.
func (r *runner) leased(until time.Time) {
	if !until.IsZero() {
		r.late.Reset(time.Until(until) - crashpoint.Quick(StartMargin))
		r.until.Store(until.UnixMilli())
	}
}

// decide decides an event, stores what it leads to, and takes it as the state.
// A refusal isn't an error here; it is returned by refused.
func (r *runner) decide(ctx context.Context, ev flow.Event, consumed []string) error {
	_, err := r.commit(ctx, ev, consumed)
	return err
}

func (r *runner) commit(ctx context.Context, ev flow.Event, consumed []string) (*flow.Refusal, error) {
	var c flow.Commit
	before := r.Run
	err := r.tried(func() error { // decided anew each time: what begins with it has its time from then on
		c = flow.Decide(r.Graph, before, ev, flow.Env{Now: time.Now().UnixMilli(), Holder: true, Session: r.Session})
		if c.Refused != nil || len(c.Facts) == 0 {
			return nil
		}
		until, err := r.Claim.Commit(ctx, before, &c, consumed)
		if err == nil {
			r.leased(until)
		}
		return err
	})
	if err != nil || c.Refused != nil || len(c.Facts) == 0 {
		return c.Refused, err
	}
	r.outputs.put(c.Next.Seq, c.Output)
	r.Run = c.Next
	if r.Observe != nil {
		r.Observe(before, &c)
	}
	return nil, nil
}

// reconcile makes what runs equal to what is owed.
func (r *runner) reconcile(ctx context.Context) error {
	owed := flow.Owed(r.Graph, r.Run)
	if r.running != nil && (owed == nil || owed.ID != r.running.ID) {
		r.end(errOver)
	}
	if owed == nil || r.running != nil {
		return nil
	}
	if owed.Kind == flow.DoAction || owed.Kind == flow.DoStep {
		if err := r.renew(ctx); err != nil {
			return err
		}
	}
	r.start(owed)
	return nil
}

// start begins an effect.
func (r *runner) start(owed *flow.Effect) {
	ctx, stop := context.WithCancelCause(context.Background())
	e := &effect{owed, stop, make(chan struct{})}
	r.running, r.expired, r.wish = e, false, nil
	w := &work{runner: r, effect: e, run: r.Run, ctx: ctx}
	w.sound, w.unsound = context.WithCancelCause(context.Background())
	go func() {
		defer close(e.done)
		ev, err := w.do()
		if err == nil && ev == nil {
			return
		}
		select {
		case r.events <- arrival{from: e, event: ev, err: err}:
		case <-ctx.Done():
			w.give(arrival{from: e, event: ev, err: err})
		}
	}()
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

// arrived takes what an effect sends.
func (r *runner) arrived(ctx context.Context, a arrival) error {
	if a.from != r.running {
		if a.reply != nil {
			a.reply <- errOver
		}
		return nil
	}
	if a.reply != nil {
		refused, err := r.commit(ctx, a.event, nil)
		switch {
		case err != nil:
			a.reply <- err
			return err
		case refused != nil:
			a.reply <- refused
		default:
			a.reply <- nil
		}
		return nil
	}
	<-a.from.done
	r.running = nil
	if a.err != nil {
		return a.err
	}
	if done, ok := a.event.(flow.StepDone); ok {
		return r.stepDone(ctx, done)
	}
	refused, err := r.commit(ctx, a.event, nil)
	if refused != nil {
		return fmt.Errorf("run %s: %w", r.Run.ID, refused) // a fault of ours: the effect was owed
	}
	return err
}

// deadline fires when the open attempt's time is up.
func (r *runner) deadline() (<-chan time.Time, func()) {
	open := r.Run.Open
	if r.expired && r.running.Kind == flow.DoStep {
		return nil, func() {} // its session decides, however long that takes
	}
	if open == nil || open.Deadline == 0 || r.Run.Status != flow.Running || r.expired {
		if !r.expired {
			return nil, func() {}
		}
		t := time.NewTimer(EndWait) // it was told, and doesn't end
		return t.C, func() { t.Stop() }
	}
	t := time.NewTimer(time.Until(time.UnixMilli(open.Deadline)))
	return t.C, func() { t.Stop() }
}

// overdue ends the open attempt. A command or an agent step is told first: its
// receipt, or its answer, counts.
func (r *runner) overdue(ctx context.Context) error {
	e := r.running
	waits := e.Kind == flow.DoStep || e.Kind == flow.DoAction && (e.Node.Shell || e.Node.Batch)
	if waits && !r.expired {
		r.expired = true
		e.stop(errDeadline)
		return nil
	}
	return r.decide(ctx, flow.Fire{}, nil)
}

// park gives the run up, with nothing recorded about its attempt.
func (r *runner) park(ctx context.Context) error {
	r.end(errParked)
	return r.decide(ctx, flow.Park{For: flow.ForHost}, nil)
}
