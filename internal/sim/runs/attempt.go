package runs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gamma-harness/gamma/internal/flow"
	hosts "github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// openAttempt is an attempt that is being carried out on a host, as package host
// does it: its decisions are those of host.Pilot.
type openAttempt struct {
	o       *owned
	token   int64
	pilot   hosts.Pilot
	callers hosts.Callers
	wanted  int             // callers that wait
	ends    []*hosts.Caller // who asked for the step's end; nil: a person
	ending  bool            // it is to end
	ask     *tell           // what the newest caller is told
	told    bool            // the run knows whether the step waits for the user,
	waits   bool            // namely this

	done bool
	out  flow.StepOutcome
	err  error
}

// tell is a change of the step that the run is told of.
type tell struct {
	waits bool
	done  bool
	ok    bool
}

// join joins an attempt, or starts it.
func (h *host) join(w *world, o *owned, token int64, s runner.Step) (*openAttempt, *hosts.Caller) {
	f := h.attempts[s.Attempt]
	if f == nil {
		f = &openAttempt{o: o, token: token}
		h.attempts[s.Attempt] = f
		h.pros = append(h.pros, spawn("attempt "+s.Attempt+"@"+h.name, func(y pause) {
			defer func() { f.done = true }()
			f.carryOut(w, y)
		}))
	}
	f.wanted++
	return f, f.callers.Join(s)
}

// leave ends an open attempt that nobody waits for any more.
func (h *host) leave(attempt string, f *openAttempt, r *hosts.Caller) {
	if f.wanted--; f.callers.Leave(r) && h.attempts[attempt] == f {
		delete(h.attempts, attempt)
	}
}

// end asks for the end of the step; nil: a person does.
func (f *openAttempt) end(r *hosts.Caller, cause string) {
	f.ends = append(f.ends, r)
	f.callers.End(r, cause)
}

// now returns the step, and why it is to end. Only the caller that is the newest
// one then, or a person, can have asked for that.
func (f *openAttempt) now() (runner.Step, string) {
	step, cause := f.callers.Now()
	may := func(r *hosts.Caller) bool { return r == nil || f.callers.Newest(r) }
	if cause != "" && !f.ending && !slices.ContainsFunc(f.ends, may) {
		f.o.w.fail("attempt %s is ended by a caller that isn't the newest one", step.Attempt)
	}
	f.ending = cause != ""
	return step, cause
}

// checkWait checks that nobody waits for a run that is interrupted.
func (f *openAttempt) checkWait(w *world, attempt string, act hosts.Act) {
	s := f.o.actor.State
	if act.Do == hosts.Wait && s.Interrupted() && s.Run.Step != nil && s.Run.Step.Attempt == attempt {
		w.fail("attempt %s waits, and its run is interrupted", attempt)
	}
}

var errLeft = errors.New("nobody waits for the step")

// carryOut carries the attempt out.
func (f *openAttempt) carryOut(w *world, y pause) {
	for {
		y("attempt.looks")
		switch {
		case f.wanted == 0:
			f.err = errLeft
			return
		case f.o.gone:
			f.err = fmt.Errorf("session %s has ended", f.o.s.id)
			return
		case f.o.busy:
			continue // the state is looked at between two events
		}
		seen := f.o.changes
		step, cause := f.now()
		act := f.pilot.Next(step, f.o.actor.State, cause, f.token)
		f.checkWait(w, step.Attempt, act)
		if act.Do != hosts.Stop && step.Completion == transcript.CompleteSubmit && !(f.told && act.Waits == f.waits) {
			f.tells(act.Waits, y)
		}
		if f.carry(w, act, y) {
			return
		}
		for act.Do == hosts.Wait && f.o.changes == seen && f.cause() == cause && f.wanted > 0 && !f.o.gone {
			y("attempt.waits")
		}
	}
}

func (f *openAttempt) cause() string {
	_, cause := f.now()
	return cause
}

// tells tells the newest caller, unless the step is about to end.
func (f *openAttempt) tells(waits bool, y pause) {
	ask := &tell{waits: waits}
	f.ask = ask
	for !ask.done && f.wanted > 0 && f.cause() == "" {
		y("attempt.tells")
	}
	if ask.ok {
		f.told, f.waits = true, waits
	}
	f.ask = nil
}

// carry carries an act out; true: the attempt ends.
func (f *openAttempt) carry(w *world, act hosts.Act, y pause) bool {
	switch act.Do {
	case hosts.End:
		f.out = act.Outcome
		return true
	case hosts.Say, hosts.Stop:
		if p, ok := act.Event.(session.Prompts); ok {
			w.prompted(f, p.Kind, p.Attempt)
		}
		l := f.o.post(act.Event)
		for !l.done {
			y("attempt.sends")
		}
		out, ended := flow.StepOutcome{}, false
		if l.err == nil && l.reply.Err != nil {
			out, ended = act.Ended(l.reply.Err)
		}
		switch {
		case l.err != nil:
			f.err = l.err
			return true
		case l.reply.Err == nil:
		case ended:
			f.out = out
			return true
		case act.Do == hosts.Say:
			f.err = l.reply.Err
			w.count("refused: " + l.reply.Err.Code)
			if l.reply.Err.Code == "answered" {
				w.fail("an attempt that has its answer was to be asked again: %v", l.reply.Err)
			}
			return true
		}
	}
	return false
}
