package host

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// openAttempt is an attempt that is being carried out. Its goroutine alone speaks to
// the session, so that callers who ask for the same attempt share one turn.
type openAttempt struct {
	live  *Live
	token int64

	before <-chan struct{} // closed when the one of the same attempt before it has ended; nil: there was none

	wish chan struct{} // look again: who counts, or what they want, may have changed
	left chan struct{} // closed when nobody waits

	listen func(run, attempt string, waiting bool) // nil: nobody does
	done   chan struct{}                           // closed when outcome or err is set

	mu      sync.Mutex
	callers Callers

	told    bool // of the attempt's goroutine: the run knows whether the step waits for the user,
	waiting bool // namely this
	outcome flow.StepOutcome
	err     error
}

func (f *openAttempt) join(s runner.Step) *Caller {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.callers.Join(s)
}

func (f *openAttempt) quit(r *Caller) (last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last = f.callers.Leave(r)
	if last {
		close(f.left)
	}
	f.stir() // another one counts now
	return last
}

// end asks for the end of the step.
func (f *openAttempt) end(r *Caller, cause string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers.End(r, cause)
	f.stir()
}

// stir wakes the attempt's goroutine.
func (f *openAttempt) stir() {
	select {
	case f.wish <- struct{}{}:
	default:
	}
}

// open returns the step if it still takes a submission.
func (f *openAttempt) open() (runner.Step, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	step, cause := f.callers.Now()
	switch {
	case step.Completion != transcript.CompleteSubmit:
		return step, errors.New("this step completes with a normal assistant response; don't submit workflow output")
	case cause != "":
		return step, fmt.Errorf("the step has ended (%s); its output is no longer taken", cause)
	}
	return step, nil
}

func (f *openAttempt) now() (runner.Step, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.callers.Now()
}

// errLeft: nobody waits for the attempt any more.
var errLeft = errors.New("nobody waits for the step")

// carryOut carries the attempt out.
func (f *openAttempt) carryOut() {
	defer close(f.done)
	if f.before != nil {
		<-f.before // it may be about to speak
	}
	var p Pilot
	for {
		select {
		case <-f.left:
			f.err = errLeft
			return
		default:
		}
		change := f.live.next()
		step, cause := f.now()
		var act Act
		if err := f.live.View(func(s *session.State) { act = p.Next(step, s, cause, f.token) }); err != nil {
			f.err = fmt.Errorf("session %s: %w", f.live.ID, err)
			return
		}
		if f.carry(step, act) || act.Do == Wait && !f.wait(change) {
			return
		}
	}
}

// say sends an event to the session. What is around a prompt has names for who
// looks what a crash there leaves.
func (f *openAttempt) say(ev session.Event) (session.Reply, error) {
	if _, prompt := ev.(session.Prompts); !prompt {
		return f.live.Send(context.Background(), ev)
	}
	crashpoint.Here("step.owed")
	r, err := f.live.Send(context.Background(), ev)
	crashpoint.Here("step.prompted")
	return r, err
}

// carry carries an act out, but for waiting; true: the attempt ends.
func (f *openAttempt) carry(step runner.Step, act Act) bool {
	if act.Do != Stop {
		f.tellWaits(step, act.Waits)
	}
	switch act.Do {
	case End:
		crashpoint.Here("step.settled")
		f.outcome = act.Outcome
		return true
	case Say, Stop:
		return f.sent(act)
	}
	return false
}

// sent sends the event of an act; true: the attempt ends.
func (f *openAttempt) sent(act Act) bool {
	r, err := f.say(act.Event)
	if err == nil && r.Err == nil {
		return false
	}
	if err == nil {
		if out, ended := act.Ended(r.Err); ended {
			f.outcome = out
			return true
		}
		if act.Do == Stop {
			return false // what it was has just ended
		}
		err = r.Err
	}
	f.err = fmt.Errorf("session %s: %w", f.live.ID, err)
	return true
}

// tellWaits tells the run that the step waits for the user, or no longer does.
// A run that can't be told is about to end the step.
func (f *openAttempt) tellWaits(step runner.Step, waiting bool) {
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
func (f *openAttempt) wait(change <-chan struct{}) bool {
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
