package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Strays says which of a session's open steps are over, by what is stored: their
// runs have ended, wait for other attempts by now, belong to other sessions, or
// aren't there. What is left of them must not go on. On nil there is no store.
func (h *Runs) Strays(ctx context.Context, id string, open []transcript.Step) ([]session.Aborts, error) {
	var out []session.Aborts
	for _, st := range open {
		var run *flow.Run
		if h != nil {
			var err error
			if run, _, err = h.Store.Load(ctx, st.Run); err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, fmt.Errorf("run %s of a step of session %s: %w", st.Run, id, err)
			}
		}
		if ev, over := Stray(id, run, st); over {
			out = append(out, ev)
		}
	}
	return out, nil
}

// Stray reports whether an open step of a session is over, and how it ends there
// then: its run isn't there (nil), is another session's, or doesn't wait for it
// any more. It is pure.
func Stray(id string, run *flow.Run, st transcript.Step) (ev session.Aborts, over bool) {
	if mutant("host.StrayKept") {
		return ev, false
	}
	if run == nil || run.Session != id && ChildID(run.ID) != id {
		return session.Aborts{By: byWorkflow, Why: "its run isn't one of this session", Attempt: st.Attempt, Cause: transcript.CauseCancel}, true
	}
	if run.Open != nil && run.Open.ID == st.Attempt && !run.Status.Ended() {
		return ev, false
	}
	ev = session.Aborts{By: byWorkflow, Why: "its run goes on without it", Attempt: st.Attempt, Cause: transcript.CauseCancel}
	if run.Status.Ended() {
		ev.Why = "its run has ended: " + string(run.Status)
	}
	if v := run.Nodes[st.Node]; v.Attempt == st.Attempt && v.Outcome == flow.TimedOutAttempt {
		ev.Cause = transcript.CauseTimeout
	}
	return ev, true
}

// Over ends in the sessions that live here what is left of a run's steps that
// the run doesn't wait for any more. The run is one as it is stored.
func (x *Steps) Over(run *flow.Run) {
	if x == nil || run == nil {
		return
	}
	for _, id := range []string{run.Session, ChildID(run.ID)} {
		l := x.Sessions.Get(id)
		if l == nil {
			continue
		}
		var open []transcript.Step
		if l.View(func(s *session.State) { open = s.OpenSteps() }) != nil {
			continue // it has ended
		}
		for _, ev := range Leftovers(id, run, open) {
			l.close(ev)
		}
	}
}

// Leftovers is what ends, in a session that lives, the open steps of a run that
// the run doesn't wait for any more. It is pure.
func Leftovers(id string, run *flow.Run, open []transcript.Step) (out []session.Aborts) {
	for _, st := range open {
		if st.Run != run.ID || mutant("host.LeftoversGoOn") {
			continue
		}
		if ev, over := Stray(id, run, st); over {
			out = append(out, ev)
		}
	}
	return out
}

// close ends an attempt that is over. One that has its answer settles with it.
func (l *Live) close(ev session.Aborts) {
	ctx := context.Background()
	r, err := l.Send(ctx, ev)
	if err == nil && r.Err != nil && r.Err.Code == session.RefusedAnswered {
		_, _ = l.Send(ctx, session.Resumes{By: ev.By, Attempt: ev.Attempt}) // refused: it settles by itself
	}
}

// steps is where the steps of this host's runs are carried out; nil: nowhere
// that a step could be left over.
func (h *Runs) steps() *Steps {
	x, _ := h.Steps.(*Steps)
	return x
}

// over ends what is left of the steps of a run that was lost here, as far as it
// goes on without them. A store that can't say how it stands is asked again when
// the run is.
func (h *Runs) over(ctx context.Context, id string) {
	x := h.steps()
	if x == nil {
		return
	}
	var run *flow.Run
	err := h.patient(ctx, id, func() (err error) {
		run, _, err = h.Store.Load(ctx, id)
		return err
	})
	if err == nil {
		x.Over(run)
	}
}
