package runs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/runs"
	"github.com/gamma-harness/gamma/workflow"
)

// advised has a model think, and then asks a person.
func advised(t *testing.T) *workflow.Flow[Order] {
	t.Helper()
	in := workflow.Input[Order]()
	think := workflow.Agent("think", func(c *workflow.Ctx) string { return in.Of(c).Item }, workflow.Submit[Receipt]())
	ask := workflow.HumanDecision("ask", "buyer", func(*workflow.Ctx) workflow.Request { return workflow.Request{Title: "Buy?"} },
		[]workflow.Option[string]{{Key: "yes", Label: "Buy it"}})
	done := workflow.Compute("done", func(c *workflow.Ctx) (Receipt, error) { return think.Of(c), nil })
	flow, err := workflow.Define("advised", in, think, workflow.Then(think, ask), workflow.Then(ask, done))
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

// adviser carries out steps for a model: each submits the same.
type adviser struct{}

func (adviser) Completions() []string { return []string{workflow.ExpectSubmit} }
func (adviser) Look(context.Context, runner.Step) (flow.StepOutcome, error) {
	return flow.StepOutcome{State: flow.StepAbsent}, nil
}
func (adviser) Step(context.Context, runner.Step) (flow.StepOutcome, error) {
	return flow.StepOutcome{State: flow.StepSettled, Stop: flow.StopOK, Output: workflow.JSON(`{"item":"a lamp","paid":true}`)}, nil
}
func (adviser) Hold(string) {}

// advise is the other host: it carries a run on once, and stops.
func advise(t *testing.T, dir, id string, def *workflow.Definition) {
	t.Helper()
	db, life, err := catalog.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer life.Close()
	h := host.NewRuns(host.Config{Store: db, Holder: life.Holder(), Dead: life.Dead, Env: catalog.Env, Steps: adviser{},
		Find: func(store.Definition) (*workflow.Definition, error) { return def, nil }})
	if r, err := h.Drive(t.Context(), id, nil); err != nil || r.Status != flow.Waiting {
		t.Fatalf("%+v, %v", r, err)
	}
}

// until watches a run until it stands so.
func until(t *testing.T, h *runs.Host, id string, want runs.Status) runs.Run {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for run, err := range h.Watch(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == want {
			return run
		}
	}
	t.Fatalf("it has ended, and was never %s", want)
	return runs.Run{}
}

func TestW30_AStepForAModelIsLeftToAnotherHost(t *testing.T) {
	flow, other, dir := advised(t), bought(t), t.TempDir()
	h := opened(t, runs.Options{Dir: dir, AgentsElsewhere: true}, flow.Definition(), other.Definition())
	id, err := runs.Start(t.Context(), h, flow, Order{"a lamp"}, runs.Place{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	go h.Serve(t.Context())
	parked := until(t, h, id, runs.Parked)
	t.Run("W30 it is claimed no more, and keeps no other run waiting", func(t *testing.T) {
		if parked.Reason != "host" || parked.Node != "think" {
			t.Errorf("got %+v", parked)
		}
		for range 3 { // each start makes Serve look
			next, err := runs.Start(t.Context(), h, other, Order{"a chair"}, runs.Place{Workspace: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			until(t, h, next, runs.Waiting)
		}
		if now, err := h.Get(t.Context(), id); err != nil || now.Version != parked.Version {
			t.Errorf("got %+v, %v, want version %d", now, err, parked.Version)
		}
	})
	t.Run("W30 what follows the step is carried out here", func(t *testing.T) {
		advise(t, dir, id, flow.Definition())
		q := until(t, h, id, runs.Waiting).Question
		if err := h.Answer(t.Context(), id, runs.Answer{Question: q.ID, Choice: "yes"}); err != nil {
			t.Fatal(err)
		}
		until(t, h, id, runs.Completed)
		if out, err := runs.Output[Receipt](t.Context(), h, id); err != nil || out != (Receipt{"a lamp", true}) {
			t.Errorf("got %v, %v", out, err)
		}
	})
	t.Run("W30 alone, it isn't begun", func(t *testing.T) {
		alone := opened(t, runs.Options{}, flow.Definition())
		if _, err := runs.Start(t.Context(), alone, flow, Order{}, runs.Place{}); !errors.Is(err, runs.ErrAgentSteps) {
			t.Errorf("got %v", err)
		}
	})
}
