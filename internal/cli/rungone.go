package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// A session can be removed by hand, or with gamma session rm --force, while a
// run of it is open. The run goes on where it doesn't need the session; where it
// does, nobody can ever carry it on, so people are told to end it.

// lostSession reports whether the session that an open run belongs to is gone.
// Where that can't be found out it isn't.
func (a *app) lostSession(r *flow.Run) bool {
	return r.Session != "" && !r.Status.Ended() && a.goneSession(r.Session)
}

// goneSession reports whether a session is gone, as far as that can be found out.
func (a *app) goneSession(id string) bool {
	home, err := a.home()
	if err != nil {
		return false
	}
	there, err := home.Has(id)
	return err == nil && !there
}

// lostStep reports whether the session that was made for a run's steps is gone
// while one of them waits for the user there. The step begins anew in a new one.
func (a *app) lostStep(r *flow.Run) bool {
	return yields(r) && stepSession(r) != r.Session && a.goneSession(stepSession(r))
}

// lostStepText says what that comes to and what to do.
func lostStepText(r *flow.Run) string {
	return fmt.Sprintf("session %s, in which the step has asked, is gone, so it can't be answered there. Begin the step anew with: %s run --resume %s, or end the run with: %s runs cancel %s",
		stepSession(r), program(), r.ID, program(), r.ID)
}

// bound reports whether nobody can go on with an open run without its session.
func bound(g *workflow.Graph, r *flow.Run) bool {
	if r.Status == flow.Parked && r.Reason == flow.ForSession {
		return true
	}
	if r.Open == nil {
		return false
	}
	n := g.Node(r.Open.Node)
	return r.Open.There || n != nil && n.Assistant()
}

// lostText says what that comes to and what to do.
func lostText(r *flow.Run, bound bool) string {
	what := "a step that needs it would wait for ever"
	if bound {
		what = "nobody can go on with the run"
	}
	return fmt.Sprintf("session %s is gone, so %s. End it with: %s runs cancel %s", r.Session, what, program(), r.ID)
}

// lost says of a run whose session is gone what to do. One that can go on for a
// while keeps what else can be done.
func (r *flowing) lost(run *flow.Run, res *wire.RunResult, hint string) string {
	stuck := bound(r.graph, run)
	text := lostText(run, stuck)
	if !stuck {
		return strings.TrimPrefix(hint+"\n"+text, "\n")
	}
	r.out.words, res.Waits, res.Message = "", false, text
	return ""
}

// refuseLost refuses to resume a run that can't go on without its session, and
// warns of one that can for a while.
func (a *app) refuseLost(h *host.Runs, id string) error {
	run, info, err := h.Store.Load(a.ctx, id)
	if err != nil || !a.lostSession(run) {
		return err
	}
	g, err := graphOfRun(a.ctx, h.Store, info)
	if err != nil {
		return err
	}
	if bound(g, run) {
		return errors.New(lostText(run, true))
	}
	a.notice("run %s: %s", id, lostText(run, false))
	return nil
}

// lost tells once that a run was parked whose session is gone.
func (p *hostPrinter) lost(before, r *flow.Run) {
	parked := func(r *flow.Run) bool { return r.Status == flow.Parked && r.Reason == flow.ForSession }
	if parked(r) && !parked(before) && p.app.lostSession(r) {
		p.app.notice("run %s: %s", r.ID, lostText(r, true))
	}
}

// lostBefore tells of the runs that wait for sessions that are gone.
func (p *hostPrinter) lostBefore() error {
	open, err := p.db.Select(p.app.ctx, store.Which{Open: true})
	for _, i := range open {
		if i.Status == flow.Parked && i.Reason == flow.ForSession {
			p.lost(&flow.Run{}, &flow.Run{ID: i.ID, Session: i.Session, Status: i.Status, Reason: i.Reason})
		}
	}
	return err
}
