package runs_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/runs"
	"github.com/gamma-harness/gamma/workflow"
)

// opened opens a host of some workflows.
func opened(t *testing.T, o runs.Options, defs ...*workflow.Definition) *runs.Host {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Workflows = defs
	h, err := runs.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func bought(t *testing.T) *workflow.Flow[Order] {
	t.Helper()
	flow, err := purchase()
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

// asked serves a host until a run asks.
func asked(t *testing.T, h *runs.Host, id string) runs.Run {
	t.Helper()
	go h.Serve(t.Context())
	for run, err := range h.Watch(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Question != nil {
			return run
		}
	}
	t.Fatal("the run has ended")
	return runs.Run{}
}

func TestW18_AnsweredThroughTheGoAPI(t *testing.T) {
	flow := bought(t)
	h := opened(t, runs.Options{}, flow.Definition())
	start := func(key string) string {
		id, err := runs.Start(t.Context(), h, flow, Order{"a lamp"}, runs.Place{Key: key, Workspace: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := start("one")
	t.Run("W18 the same key is one run", func(t *testing.T) {
		if again := start("one"); again != id {
			t.Errorf("got %s and %s", id, again)
		}
	})
	run := asked(t, h, id)
	t.Run("W18 no output before the end", func(t *testing.T) {
		if _, err := runs.Output[Receipt](t.Context(), h, id); !errors.Is(err, runs.ErrNotEnded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("W18 the first answer wins, the same with its key counts as given", func(t *testing.T) {
		ans := runs.Answer{Question: run.Question.ID, Choice: "perhaps", By: "ann", Key: "k"}
		refused := (*runs.RefusedError)(nil)
		if err := h.Answer(t.Context(), id, ans); !errors.As(err, &refused) || refused.Code != "invalid" {
			t.Errorf("got %v", err)
		}
		ans.Choice = "no"
		if err := errors.Join(h.Answer(t.Context(), id, ans), h.Answer(t.Context(), id, ans)); err != nil {
			t.Error(err)
		}
		if err := h.Answer(t.Context(), id, runs.Answer{Question: run.Question.ID, Choice: "yes", By: "bob"}); !errors.As(err, &refused) || refused.Code != "conflict" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("W18 the output has the workflow's type", func(t *testing.T) {
		for _, err := range h.Watch(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if out, err := runs.Output[Receipt](t.Context(), h, id); err != nil || out != (Receipt{"a lamp", false}) {
			t.Errorf("got %v, %v", out, err)
		}
		if _, err := runs.Output[int](t.Context(), h, id); err == nil || !strings.Contains(err.Error(), "no int") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("W18 a cancelled run has no output", func(t *testing.T) {
		other := start("two")
		ended := (*runs.EndedError)(nil)
		if err := h.Cancel(t.Context(), other, "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := runs.Output[Receipt](t.Context(), h, other); !errors.As(err, &ended) || ended.Status != runs.Cancelled {
			t.Errorf("got %v", err)
		}
	})
}

func TestW11_SteeredThroughTheGoAPI(t *testing.T) {
	flow := bought(t)
	h := opened(t, runs.Options{}, flow.Definition())
	id, err := runs.Start(t.Context(), h, flow, Order{"a lamp"}, runs.Place{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Pause(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), id); err != nil || r.Status != runs.Waiting || r.Reason != "paused" {
		t.Errorf("got %+v, %v", r, err)
	}
	if err := h.Resume(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	asked(t, h, id)
	if list, err := h.List(t.Context(), 0); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := h.Get(t.Context(), "none"); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := h.Cancel(t.Context(), "none", ""); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Get(t.Context(), id); !errors.Is(err, runs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := h.Serve(t.Context()); !errors.Is(err, runs.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// thinking is a workflow with a step for a model.
func thinking(t *testing.T) *workflow.Flow[Order] {
	t.Helper()
	in := workflow.Input[Order]()
	think := workflow.Agent("think", func(c *workflow.Ctx) string { return in.Of(c).Item }, workflow.Submit[Receipt]())
	flow, err := workflow.Define("thinking", in, think)
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

func TestW7_OpenAndStartRefuseWhatTheyDontHave(t *testing.T) {
	def := bought(t).Definition()
	_, err := runs.Open(t.Context(), runs.Options{Dir: t.TempDir(), Workflows: []*workflow.Definition{nil, def, def}})
	if err == nil || !strings.Contains(err.Error(), "workflow 1: it has no definition") || !strings.Contains(err.Error(), `workflow 3: workflow 2 has the name "purchase" too`) {
		t.Errorf("got %v", err)
	}
	if _, err := runs.Open(t.Context(), runs.Options{}); err == nil {
		t.Error("opened without a directory")
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/gamma.db", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Open(t.Context(), runs.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "a directory") {
		t.Errorf("got %v", err)
	}
	h := opened(t, runs.Options{}, def)
	if _, err := runs.Start(t.Context(), h, thinking(t), Order{}, runs.Place{}); !errors.Is(err, runs.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if _, err := runs.Start(t.Context(), h, bought(t), Order{}, runs.Place{Workspace: dir + "/none"}); err == nil {
		t.Error("started in a folder that isn't there")
	}
}
