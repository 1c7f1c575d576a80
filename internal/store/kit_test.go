package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// kit drives a store as hosts do.
type kit struct {
	Store
	t      *testing.T
	ctx    context.Context
	now    int64
	graphs map[string]*workflow.Definition
}

type out struct {
	Passed bool `json:"passed"`
}

func graphs(t *testing.T) map[string]*workflow.Definition {
	t.Helper()
	in := workflow.Input[out]()
	compute := func(id string) *workflow.NodeOf[out] {
		return workflow.Compute(id, func(*workflow.Ctx) (out, error) { return out{}, nil })
	}
	a, b := compute("a"), compute("b")
	n := workflow.Notify("n", func(*workflow.Ctx) string { return "" })
	gate := workflow.HumanDecision("gate", "operator", func(*workflow.Ctx) workflow.Request { return workflow.Request{} },
		[]workflow.Option[string]{{Key: "yes", Label: "Yes"}, {Key: "no", Label: "No"}})
	say := workflow.Agent("say", func(*workflow.Ctx) string { return "" }, workflow.AssistantMessage())
	nap := workflow.Delay("nap", func(*workflow.Ctx) time.Duration { return 0 })
	all := map[string]*workflow.Definition{}
	add := func(f *workflow.Flow[out], err error) {
		if err != nil {
			t.Fatal(err)
		}
		all[f.Definition().Graph.Name] = f.Definition()
	}
	add(workflow.Define("steps", in, a, workflow.Then(a, b), workflow.Then(b, n)))
	add(workflow.Define("gate", in, gate))
	ask := workflow.HumanDecision("gate", "operator", func(*workflow.Ctx) workflow.Request { return workflow.Request{} },
		[]workflow.Option[string]{{Key: "yes", Label: "Yes"}, {Key: "no", Label: "No"}})
	add(workflow.Define("route", in, ask, workflow.Route(ask, workflow.Lanes[string]{"yes": compute("a"), "no": compute("b")})))
	add(workflow.Define("shown", in, compute("a"), workflow.Present(func(*workflow.Ctx) string { return "" })))
	add(workflow.Define("say", in, say))
	add(workflow.Define("nap", in, nap))
	first := workflow.HumanDecision("gate", "operator", func(*workflow.Ctx) workflow.Request { return workflow.Request{} },
		[]workflow.Option[string]{{Key: "yes", Label: "Yes"}})
	work := workflow.Action("work", func(*workflow.Ctx) (out, error) { return out{}, nil })
	add(workflow.Define("everything", in, first, workflow.Then(first, work), workflow.Then(work, workflow.Notify("n", func(*workflow.Ctx) string { return "" }))))
	return all
}

// start queues a run.
func (k *kit) start(id, graph, session string) {
	k.t.Helper()
	k.now++
	d := k.graphs[graph]
	_, err := k.Enqueue(k.ctx, New{Commit: flow.Create(id, session, k.now), Workspace: "/w", Input: workflow.JSON(`{"passed":true}`), Now: k.now,
		Definition: Definition{Key: d.Graph.Digest(), Name: graph, Snapshot: d.Graph.Snapshot(), Identity: "{}"}})
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) claim(run, holder string, by ...string) *Claimed {
	k.t.Helper()
	c, err := k.Claim(k.ctx, Hunt{Run: run, By: append([]string{"*"}, by...), Holder: holder, Now: k.now, LeaseUntil: k.now + 30_000})
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func (k *kit) load(run string) (*flow.Run, Info, *flow.Graph) {
	k.t.Helper()
	r, i, err := k.Load(k.ctx, run)
	if err != nil {
		k.t.Fatal(err)
	}
	return r, i, flow.Index(k.graphs[i.Workflow].Graph)
}

// write decides an event and returns the commit that a holder (token) or a
// visitor (0) would make.
func (k *kit) write(run string, ev flow.Event, token int64, session bool) Write {
	k.t.Helper()
	r, _, g := k.load(run)
	c := flow.Decide(g, r, ev, flow.Env{Now: k.now, Holder: token != 0, Session: session})
	if c.Refused != nil {
		k.t.Fatalf("%T: %v", ev, c.Refused)
	}
	w := Write{Graph: g, Before: r, Commit: &c, Token: token, Now: k.now}
	if token != 0 && !c.Next.Status.Ended() && c.Next.Status != flow.Waiting && c.Next.Status != flow.Parked {
		w.LeaseUntil = k.now + 30_000
	}
	return w
}

func (k *kit) do(run string, ev flow.Event, token int64) {
	k.t.Helper()
	if err := k.Commit(k.ctx, k.write(run, ev, token, false)); err != nil {
		k.t.Fatalf("%T: %v", ev, err)
	}
}

func (k *kit) fenced(what string, err error) {
	k.t.Helper()
	if !errors.Is(err, ErrFenced) {
		k.t.Errorf("%s: got %v, want %v", what, err, ErrFenced)
	}
}

// finish ends the open attempt of a run.
func (k *kit) finish(run, output string) flow.Event {
	r, _, _ := k.load(run)
	return flow.Result{Attempt: r.Open.ID, Outcome: flow.OK, Output: workflow.JSON(output)}
}

func started() flow.Event {
	return flow.Started{Input: workflow.JSON(`{"passed":true}`), Title: "title"}
}

// equal compares the projection with the fold of the events.
func (k *kit) equal(run string) {
	k.t.Helper()
	r, _, g := k.load(run)
	log, err := k.Log(k.ctx, run, 0, 0)
	if err != nil {
		k.t.Fatal(err)
	}
	var stored []flow.Stored
	for _, e := range log {
		stored = append(stored, flow.Stored{Seq: e.Seq, Facts: e.Facts})
	}
	folded, err := flow.Fold(g, run, stored)
	if err != nil {
		k.t.Fatal(err)
	}
	if d := cmp.Diff(folded, r, cmpopts.EquateEmpty()); d != "" {
		k.t.Errorf("run %s (-fold +rows):\n%s", run, d)
	}
}
