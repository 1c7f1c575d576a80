package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// Steps carries out agent steps in the sessions of this process: it joins Runs
// and Sessions, which don't know each other. It is safe for concurrent use.
type Steps struct {
	Sessions *Sessions
	// Child returns the session in which the submit steps of a run are carried
	// out whose session of origin isn't here; nil: there is none.
	Child func(ctx context.Context, run string) (*Live, error)
	// Waits is told whether an open step waits for the user, when that is known
	// and when it changes, after the run knows; nil: nobody listens.
	Waits func(run, attempt string, waiting bool)

	mu       sync.Mutex
	attempts map[string]*openAttempt // by attempt
	ending   map[string]*openAttempt // those that nobody waits for, until they have ended
	coming   map[string]*promise     // runs that are about to be carried on here
	change   chan struct{}           // closed at the next change of attempts and coming; nil: nobody waits
}

// promise is that a run is about to be carried on here, or that it is.
type promise struct {
	givers int
	known  bool
	open   string // the run's open attempt, once it is known
}

// Coming says that a run is carried on here, or is about to be, until done is
// called: a submission of the session's own step waits until that attempt is
// there, but not for ever, and the tools of a step wait for its claim.
func (x *Steps) Coming(run string) (done func()) {
	if x == nil {
		return func() {}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.coming == nil {
		x.coming = map[string]*promise{}
	}
	p := x.coming[run]
	if p == nil {
		p = &promise{}
		x.coming[run] = p
	}
	p.givers++
	return sync.OnceFunc(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if p.givers--; p.givers == 0 && x.coming[run] == p {
			x.kept(run)
		}
	})
}

// kept ends the promise about a run. x.mu is held.
func (x *Steps) kept(run string) {
	delete(x.coming, run)
	x.changed()
}

// moved says which attempt of a run is open now; "": none.
func (x *Steps) moved(run, open string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.coming[run]; p != nil {
		p.known, p.open = true, open
		x.changed()
	}
}

// Wanted lists the runs that are about to be carried on here, or are.
func (x *Steps) Wanted() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.coming))
}

// changed wakes who waits for an open attempt. x.mu is held.
func (x *Steps) changed() {
	if x.change != nil {
		close(x.change)
		x.change = nil
	}
}

// attempt returns what carries an attempt out in a session, nil if there is none and
// none is to be expected. It waits only for the step that the session's own run
// belongs to: another step of the session can't begin before the caller's turn
// has ended. It waits as long as a lease.
func (x *Steps) attempt(ctx context.Context, l *Live, attempt string) *openAttempt {
	own := l.attempt() == attempt
	late := time.NewTimer(crashpoint.Quick(runner.Lease))
	defer late.Stop()
	for {
		f, change := x.joined(l, attempt, own)
		if change == nil {
			return f
		}
		select {
		case <-change:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// joined returns what carries out an attempt, or what to wait for.
func (x *Steps) joined(l *Live, attempt string, own bool) (*openAttempt, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.attempts[attempt]; f != nil {
		if f.live != l {
			return nil, nil // it is no business of this session
		}
		return f, nil
	}
	run, _, _ := strings.Cut(attempt, "/")
	if p := x.coming[run]; !own || p == nil || p.known && p.open != attempt {
		return nil, nil
	}
	if x.change == nil {
		x.change = make(chan struct{})
	}
	return nil, x.change
}

// attempt is the one that the session's run belongs to; "": none.
func (l *Live) attempt() (id string) {
	err := l.View(func(s *session.State) {
		if s.Run != nil && s.Run.Step != nil {
			id = s.Run.Step.Attempt
		}
	})
	if err != nil {
		return "" // the session has ended, and with it whoever asks
	}
	return id
}

// ChildID is the id of the session in which the submit steps of a run are
// carried out whose session of origin isn't there.
func ChildID(run string) string { return DerivedID(run, "session") }

// Completions implements runner.StepExecutor.
func (x *Steps) Completions() []string {
	return []string{transcript.CompleteSubmit, transcript.CompleteAssistant}
}

// Look implements runner.StepExecutor.
func (x *Steps) Look(ctx context.Context, s runner.Step) (flow.StepOutcome, error) {
	l, token, err := x.place(ctx, s)
	if err != nil {
		return flow.StepOutcome{}, err
	}
	var o flow.StepOutcome
	open := x.open(s.Attempt)
	err = l.View(func(st *session.State) { o = Glance(s, st, open, token) })
	return o, err
}

func (x *Steps) open(attempt string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.attempts[attempt] != nil
}

// place finds the session of a step, and the token that its outcome depends on.
func (x *Steps) place(ctx context.Context, s runner.Step) (*Live, int64, error) {
	if s.There || s.Completion == transcript.CompleteAssistant {
		if l := x.Sessions.Get(s.Session); l != nil {
			return l, l.Token, nil
		}
		return nil, 0, runner.ErrAbsent
	}
	if l := x.Sessions.Get(ChildID(s.Run)); l != nil {
		return l, 0, nil
	}
	if x.Child == nil {
		return nil, 0, runner.ErrAbsent
	}
	l, err := x.Child(ctx, s.Run)
	return l, 0, err
}

// Step implements runner.StepExecutor.
func (x *Steps) Step(ctx context.Context, s runner.Step) (flow.StepOutcome, error) {
	l, token, err := x.place(ctx, s)
	if err != nil {
		return flow.StepOutcome{}, err
	}
	f, caller := x.join(ctx, l, token, s)
	defer x.leave(f, caller)
	select {
	case <-f.done:
		return f.outcome, f.err
	case <-ctx.Done():
	}
	cause := ends(ctx)
	if cause == "" {
		return flow.StepOutcome{}, context.Cause(ctx)
	}
	f.end(caller, cause)
	<-f.done
	return f.outcome, f.err
}

// ends returns why a step is to be stopped, "" if it isn't: a park, or the loss
// of a claim, leaves it as it is.
func ends(ctx context.Context) string {
	if ctx.Err() == nil {
		return ""
	}
	var end runner.Ending
	if errors.As(context.Cause(ctx), &end) && end != flow.CausePark {
		return string(end)
	}
	return ""
}

// Hold implements runner.StepExecutor.
func (x *Steps) Hold(attempt string) {
	x.mu.Lock()
	f := x.attempts[attempt]
	x.mu.Unlock()
	if f != nil {
		f.end(nil, transcript.CauseEscape)
	}
}

// Submit hands the output of a step, by the model of a session, to the workflow
// that waits for it. The error says why it isn't taken, for the model.
func (x *Steps) Submit(ctx context.Context, l *Live, attempt string, output workflow.JSON) error {
	return x.hand(ctx, l, attempt, func(s runner.Step) error { return s.Accept(output) })
}

// Publish stores an update of an open step, by a call of the model of a session.
func (x *Steps) Publish(ctx context.Context, l *Live, attempt, by string, u workflow.Update) error {
	return x.hand(ctx, l, attempt, func(s runner.Step) error { return s.Publish(by, u) })
}

// noStep says which steps of the session wait for an output, for a model that
// named another.
func (x *Steps) noStep(l *Live, attempt string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var open []string
	for id, f := range x.attempts {
		if step, _ := f.now(); f.live == l && step.Completion == transcript.CompleteSubmit {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return fmt.Errorf("no step waits for the output of attempt %q: it has ended, or isn't carried out here", attempt)
	}
	slices.Sort(open)
	return fmt.Errorf("no step waits for the output of attempt %q; open here: %s", attempt, strings.Join(open, ", "))
}

// join joins an attempt, or starts it.
func (x *Steps) join(ctx context.Context, l *Live, token int64, s runner.Step) (*openAttempt, *Caller) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.attempts[s.Attempt]
	if f == nil {
		f = &openAttempt{live: l, token: token, listen: x.Waits, wish: make(chan struct{}, 1), done: make(chan struct{}), left: make(chan struct{})}
		if old := x.ending[s.Attempt]; old != nil {
			f.before = old.done
		}
		if x.attempts == nil {
			x.attempts, x.ending = map[string]*openAttempt{}, map[string]*openAttempt{}
		}
		x.attempts[s.Attempt] = f
		defer func() { go f.carryOut() }()
	}
	if p := x.coming[s.Run]; p != nil {
		p.known, p.open = true, s.Attempt
	}
	x.changed()
	r := f.join(s)
	if cause := ends(ctx); cause != "" {
		f.end(r, cause)
	}
	return f, r
}

// leave ends an open attempt that nobody waits for any more, and waits for its end: no
// deed of it comes after that.
func (x *Steps) leave(f *openAttempt, r *Caller) {
	attempt := r.step.Attempt
	x.mu.Lock()
	last := f.quit(r)
	if last && x.attempts[attempt] == f {
		delete(x.attempts, attempt)
		x.ending[attempt] = f
	}
	x.mu.Unlock()
	if !last {
		return
	}
	<-f.done
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ending[attempt] == f {
		delete(x.ending, attempt)
	}
}
