package runs

import (
	"errors"
	"fmt"

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
	wanted  int   // callers that wait
	ask     *tell // what the newest caller is told
	told    bool  // the run knows whether the step waits for the user,
	waits   bool  // namely this

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
		step, cause := f.callers.Now()
		act := f.pilot.Next(step, f.o.actor.State, cause, f.token)
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
	_, cause := f.callers.Now()
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
			return true
		}
	}
	return false
}
