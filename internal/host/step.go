package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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

	mu      sync.Mutex
	flights map[string]*flight // by attempt
	coming  map[string]int     // runs that are about to be carried on here
	change  chan struct{}      // closed at the next change of both; nil: nobody waits
}

// Coming says that a run is about to be carried on here, until done is called:
// a submission for it waits until its step is.
func (x *Steps) Coming(run string) (done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.coming == nil {
		x.coming = map[string]int{}
	}
	x.coming[run]++
	return sync.OnceFunc(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.coming[run]--
		x.changed()
	})
}

// changed wakes who waits for a flight. x.mu is held.
func (x *Steps) changed() {
	if x.change != nil {
		close(x.change)
		x.change = nil
	}
}

// flight returns the flight of an attempt, nil if there is none and none is to
// be expected.
func (x *Steps) flight(ctx context.Context, attempt string) *flight {
	run, _, _ := strings.Cut(attempt, "/")
	for {
		x.mu.Lock()
		f := x.flights[attempt]
		if f != nil || x.coming[run] == 0 {
			x.mu.Unlock()
			return f
		}
		if x.change == nil {
			x.change = make(chan struct{})
		}
		change := x.change
		x.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return nil
		}
	}
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
	var a sight
	if err := l.View(func(st *session.State) { a = look(st, s.Attempt) }); err != nil {
		return flow.StepOutcome{}, err
	}
	a.first = !x.flying(s.Attempt)
	return report(a, judge(s, a), token), nil
}

func (x *Steps) flying(attempt string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flights[attempt] != nil
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
	f, ticket := x.board(l, token, s)
	defer x.leave(f)
	select {
	case <-f.done:
		return f.outcome, f.err
	case <-ctx.Done():
	}
	cause := context.Cause(ctx).Error()
	if !ends(cause) {
		return flow.StepOutcome{}, context.Cause(ctx)
	}
	f.end(ticket, cause)
	<-f.done
	return f.outcome, f.err
}

// ends reports whether a step that is given up for this cause is stopped. A
// park, or the loss of a claim, leaves it as it is.
func ends(cause string) bool {
	return cause == transcript.CauseTimeout || cause == transcript.CauseCancel || cause == transcript.CauseEscape
}

// Hold implements runner.StepExecutor.
func (x *Steps) Hold(attempt string) {
	x.mu.Lock()
	f := x.flights[attempt]
	x.mu.Unlock()
	if f != nil {
		f.end(0, transcript.CauseEscape)
	}
}

// Submit hands the model's output of a step to the workflow that waits for it.
// The error says why it isn't taken, for the model.
func (x *Steps) Submit(ctx context.Context, attempt string, output workflow.JSON) error {
	f := x.flight(ctx, attempt)
	if f == nil {
		return x.noStep(attempt)
	}
	step, err := f.open()
	if err != nil {
		return err
	}
	return step.Accept(output)
}

// Publish stores an update of an open step.
func (x *Steps) Publish(ctx context.Context, attempt string, u workflow.Update) error {
	f := x.flight(ctx, attempt)
	if f == nil {
		return x.noStep(attempt)
	}
	step, err := f.open()
	if err != nil {
		return err
	}
	return step.Publish(u)
}

// noStep says which steps wait for an output, for a model that named another.
func (x *Steps) noStep(attempt string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for open, f := range x.flights {
		if f.step.Completion == transcript.CompleteSubmit {
			return fmt.Errorf("no step waits for the output of attempt %q; the open attempt is %q", attempt, open)
		}
	}
	return fmt.Errorf("no step waits for the output of attempt %q: it has ended, or isn't carried out here", attempt)
}

// board joins the flight of an attempt, or starts it. The newest caller's step
// counts: it has the live claim.
func (x *Steps) board(l *Live, token int64, s runner.Step) (*flight, int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.flights[s.Attempt]
	if f == nil {
		f = &flight{live: l, token: token, listen: x.Waits, wish: make(chan struct{}, 1), done: make(chan struct{}), left: make(chan struct{})}
		if x.flights == nil {
			x.flights = map[string]*flight{}
		}
		x.flights[s.Attempt] = f
		x.changed()
		defer func() { go f.fly() }()
	}
	return f, f.join(s)
}

// leave ends a flight that nobody waits for any more.
func (x *Steps) leave(f *flight) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f.quit() && x.flights[f.step.Attempt] == f {
		delete(x.flights, f.step.Attempt)
	}
}

// flight is an attempt that is being carried out. Its goroutine alone speaks to
// the session, so that callers who ask for the same attempt share one turn.
type flight struct {
	live  *Live
	token int64
	wish  chan struct{} // cause was set
	left  chan struct{} // closed when nobody waits

	listen func(run, attempt string, waiting bool) // nil: nobody does
	done   chan struct{}                           // closed when outcome or err is set

	mu     sync.Mutex
	step   runner.Step
	joined int    // callers so far; the number of the newest is its ticket
	waits  int    // callers that wait
	cause  string // why the step is to end; "": it isn't

	told    bool // of the flight's goroutine: the run knows whether the step waits for the user,
	waiting bool // namely this
	outcome flow.StepOutcome
	err     error
}

func (f *flight) join(s runner.Step) (ticket int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step = s
	f.waits++
	f.joined++
	return f.joined
}

func (f *flight) quit() (last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits--
	if f.waits == 0 {
		close(f.left)
	}
	return f.waits == 0
}

// end asks for the end of the step. Only the newest caller may: those before it
// have lost their claim.
func (f *flight) end(ticket int, cause string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cause != "" || ticket != 0 && ticket != f.joined {
		return
	}
	f.cause = cause
	select {
	case f.wish <- struct{}{}:
	default:
	}
}

// open returns the step if it still takes a submission.
func (f *flight) open() (runner.Step, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.step.Completion != transcript.CompleteSubmit:
		return f.step, errors.New("this step completes with a normal assistant response; don't submit workflow output")
	case f.cause != "":
		return f.step, fmt.Errorf("the step has ended (%s); its output is no longer taken", f.cause)
	}
	return f.step, nil
}

func (f *flight) now() (runner.Step, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.step, f.cause
}

// errLeft: nobody waits for the flight any more.
var errLeft = errors.New("nobody waits for the step")

// fly carries the attempt out.
func (f *flight) fly() {
	defer close(f.done)
	first, told := true, false
	for {
		select {
		case <-f.left:
			f.err = errLeft
			return
		default:
		}
		change := f.live.next()
		step, cause := f.now()
		var a sight
		if err := f.live.View(func(s *session.State) { a = look(s, step.Attempt) }); err != nil {
			f.err = fmt.Errorf("session %s: %w", f.live.ID, err)
			return
		}
		a.first = first
		m := judge(step, a)
		if m == moveEnd {
			crashpoint.Here("step.settled")
			f.tellWaits(step, false)
			f.outcome = report(a, m, f.token)
			return
		}
		switch speaks := m != moveWait && m != moveGoOn; {
		case cause != "" && (told && speaks || m == movePrompt):
			f.outcome = f.aborted(cause) // nobody is to be asked any more
			return
		case cause != "" && !told:
			told = true
			if f.abort(step, cause, a) {
				return
			}
			continue
		}
		f.tellWaits(step, m == moveYield)
		if err := f.do(step, m); err != nil {
			f.err = err
			return
		}
		first = false
		if (m == moveWait || m == moveYield) && !f.wait(change) {
			return
		}
	}
}

// tellWaits tells the run that the step waits for the user, or no longer does.
// A run that can't be told is about to end the step.
func (f *flight) tellWaits(step runner.Step, waiting bool) {
	if f.told && waiting == f.waiting || step.Completion != transcript.CompleteSubmit {
		return
	}
	if step.Waits(waiting) != nil {
		return
	}
	f.told, f.waiting = true, waiting
	if f.listen != nil {
		f.listen(step.Run, step.Attempt, waiting)
	}
}

// wait waits until the session has changed or the step is to end; false: it is
// pointless.
func (f *flight) wait(change <-chan struct{}) bool {
	select {
	case <-change:
	case <-f.wish:
	case <-f.live.door.Done():
		f.err = fmt.Errorf("session %s has ended", f.live.ID)
		return false
	case <-f.left:
		f.err = errLeft
		return false
	}
	return true
}

// do speaks to the session.
func (f *flight) do(step runner.Step, m move) error {
	var ev session.Event
	switch m {
	case movePrompt:
		ev = prompt(step, transcript.StepPrompt)
	case moveRemind:
		ev = prompt(step, transcript.StepReminder)
	case moveResume:
		ev = prompt(step, transcript.StepResume)
	case moveGoOn:
		ev = session.Resumes{By: "workflow", Attempt: step.Attempt}
	default:
		return nil
	}
	if m == moveGoOn {
		return f.send(ev)
	}
	crashpoint.Here("step.owed")
	err := f.send(ev)
	crashpoint.Here("step.prompted")
	return err
}

func (f *flight) send(ev session.Event) error {
	r, err := f.live.Send(context.Background(), ev)
	if err == nil && r.Err != nil {
		err = r.Err
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", f.live.ID, err)
	}
	return nil
}

// abort stops the attempt's run. Where none runs, the attempt has ended with
// that; ended reports it.
func (f *flight) abort(step runner.Step, cause string, a sight) (ended bool) {
	r, err := f.live.Send(context.Background(), session.Aborts{By: "workflow", Why: cause, Attempt: step.Attempt, Cause: cause})
	switch {
	case err != nil:
		f.err = fmt.Errorf("session %s: %w", f.live.ID, err)
		return true
	case r.Err != nil && (a.State == session.StepAbsent || a.State == session.StepQueued || a.State == session.StepSettled):
		f.outcome = f.aborted(cause)
		return true
	}
	return false
}

func (f *flight) aborted(cause string) flow.StepOutcome {
	return flow.StepOutcome{State: flow.StepSettled, Stop: "aborted", Cause: cause, SessionToken: f.token}
}
