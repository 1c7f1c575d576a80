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

// runner is a run that is being carried out. One goroutine at a time owns it,
// the one that drives.
type runner struct {
	Config
	ctx      context.Context // when it ends, the run is parked
	renewal  *time.Ticker
	polling  *time.Ticker
	ended    chan ending // gets one value
	running  *effect
	events   chan arrival
	late     *time.Timer // fires before the lease runs out
	lost     chan struct{}
	outputs  *outputs
	wish     *Signal      // a cancel or escape that the open step was told of
	expired  bool         // the open effect was told that its time is up
	until    atomic.Int64 // when the lease ends, in Unix milliseconds
	troubled bool         // Trouble was told, and the store couldn't be used since
}

// Drive carries out a claimed run until nothing is owed.
func Drive(ctx context.Context, c Config) (*flow.Run, error) {
	r := &runner{Config: c, ctx: ctx, events: make(chan arrival), lost: make(chan struct{}, 1), ended: make(chan ending, 1), outputs: newOutputs(c.Claim)}
	r.late = time.AfterFunc(time.Until(c.Until)-crashpoint.Quick(StartMargin), func() {
		select {
		case r.lost <- struct{}{}:
		default:
		}
	})
	defer r.late.Stop()
	r.renewal, r.polling = time.NewTicker(crashpoint.Quick(RenewEvery)), time.NewTicker(PollSignals)
	defer r.renewal.Stop()
	defer r.polling.Stop()
	r.until.Store(c.Until.UnixMilli())
	go r.driving(r.begin)
	e := <-r.ended
	r.until.Store(0)
	r.end(errOver)
	if e.panic != nil {
		panic(e.panic)
	}
	return r.Run, e.err
}

// ending is how driving ended.
type ending struct {
	err   error
	panic any // of a broken invariant: Drive's caller gets it
}

// driving calls what drives and tells how that ended, unless somebody else
// drives on.
func (r *runner) driving(drive func() (over bool, err error)) {
	defer func() {
		if p := recover(); p != nil {
			r.ended <- ending{panic: p}
		}
	}()
	if over, err := drive(); over {
		r.ended <- ending{err: err}
	}
}

// begin takes the claim into the run and drives.
func (r *runner) begin() (over bool, err error) {
	store := r.storing()
	if err := r.signals(store); err != nil {
		return true, err
	}
	if err := r.decide(store, r.Claimed, nil); err != nil {
		return true, err
	}
	return r.drive()
}

// storing is the context of what is written: what is begun is stored.
func (r *runner) storing() context.Context { return context.WithoutCancel(r.ctx) }

// drive goes on until nothing is owed; over is false if somebody else drives on.
func (r *runner) drive() (over bool, err error) {
	store := r.storing()
	for {
		owed, err := r.reconcile(store)
		switch {
		case err != nil || owed == nil:
			return true, err
		case r.running != nil:
			err = r.step(store)
		case owed.Kind == flow.DoCompute:
			a, mine := r.compute(owed)
			if !mine {
				return false, nil
			}
			if err = r.arrived(store, a); err == nil {
				err = r.glance(store)
			}
		default:
			r.start(owed)
		}
		if err != nil {
			return true, err
		}
	}
}

// step waits for one thing to happen and carries it out.
func (r *runner) step(store context.Context) error {
	deadline, stop := r.deadline()
	defer stop()
	select {
	case a := <-r.events:
		return r.arrived(store, a)
	case <-deadline:
		return r.overdue(store)
	case <-r.renewal.C:
		return r.renew(store)
	case <-r.polling.C:
		return r.signals(store)
	case <-r.lost:
		return r.tooLate()
	case <-r.ctx.Done():
		return r.park(store)
	}
}

// glance carries out what others want between two short computations. The claim
// needs no look: each commit has kept it, or has found it lost.
func (r *runner) glance(store context.Context) error {
	select {
	case <-r.polling.C:
		return r.signals(store)
	case <-r.ctx.Done():
		return r.park(store)
	default:
		return nil
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
		case <-r.ctx.Done():
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
		select {
		case <-r.lost: // it came while the claim was being kept
		default:
		}
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

// reconcile ends what is no longer owed and returns what is.
func (r *runner) reconcile(ctx context.Context) (*flow.Effect, error) {
	owed := flow.Owed(r.Graph, r.Run)
	if r.running != nil && (owed == nil || owed.ID != r.running.ID) {
		r.end(errOver)
	}
	if owed == nil || r.running != nil {
		return owed, nil
	}
	if owed.Kind == flow.DoAction || owed.Kind == flow.DoStep {
		return owed, r.renew(ctx)
	}
	return owed, nil
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
	r.running = nil
	if a.panic != nil {
		panic(a.panic)
	}
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
