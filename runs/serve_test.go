package runs_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/runs"
	"github.com/gamma-harness/gamma/workflow"
)

// begun starts a run of a flow that takes an Order.
func begun(t *testing.T, h *runs.Host, flow *workflow.Flow[Order]) string {
	t.Helper()
	id, err := runs.Start(t.Context(), h, flow, Order{"a lamp"}, runs.Place{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// working is a workflow of one action.
func working(t *testing.T, do func(ctx context.Context) error) *workflow.Flow[Order] {
	t.Helper()
	flow, err := workflow.Define("working", workflow.Input[Order](),
		workflow.Action("work", func(c *workflow.Ctx) (string, error) { return "", do(c.Context()) }))
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

// TestW40_AHostLooksAtOnce: it would look for what is queued each second.
func TestW40_AHostLooksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flow := bought(t)
		h := opened(t, runs.Options{}, flow.Definition())
		go h.Serve(t.Context())
		synctest.Wait() // it has found nothing
		from := time.Now()
		id := begun(t, h, flow)
		q := until(t, h, id, runs.Waiting).Question
		if took := time.Since(from); took > 500*time.Millisecond {
			t.Errorf("a start was taken up after %s", took)
		}
		from = time.Now()
		if err := h.Answer(t.Context(), id, runs.Answer{Question: q.ID, Choice: "yes"}); err != nil {
			t.Fatal(err)
		}
		until(t, h, id, runs.Completed)
		if took := time.Since(from); took > 500*time.Millisecond {
			t.Errorf("an answer was taken up after %s", took)
		}
	})
}

func TestW40_AHostCarriesOutSoManyRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most, gate := 0, 0, make(chan struct{})
		flow := working(t, func(context.Context) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-gate
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		h := opened(t, runs.Options{Parallel: 3}, flow.Definition())
		var ids []string
		for range 5 {
			ids = append(ids, begun(t, h, flow))
		}
		go h.Serve(t.Context())
		<-time.After(5 * time.Second)
		close(gate)
		for _, id := range ids {
			until(t, h, id, runs.Completed)
		}
		if most != 3 {
			t.Errorf("%d runs were carried out at once, want 3", most)
		}
	})
	for _, n := range []int{-1, 65} {
		if _, err := runs.Open(t.Context(), runs.Options{Dir: t.TempDir(), Parallel: n}); err == nil || !strings.Contains(err.Error(), "option Parallel is ") {
			t.Errorf("Parallel %d: %v", n, err)
		}
	}
}

// TestW40_CloseParksWhatIsUnderWay: it waits for Serve, which stores that.
func TestW40_CloseParksWhatIsUnderWay(t *testing.T) {
	dir, at := t.TempDir(), make(chan struct{})
	flow := working(t, func(ctx context.Context) error {
		close(at)
		<-ctx.Done()
		return ctx.Err()
	})
	h := opened(t, runs.Options{Dir: dir}, flow.Definition())
	id := begun(t, h, flow)
	go h.Serve(t.Context())
	<-at
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := opened(t, runs.Options{Dir: dir}).Get(t.Context(), id); err != nil || r.Status != runs.Parked || r.Reason != "host" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestR6_AnOutageIsToldAndPasses: another process holds the database for longer
// than a write waits.
func TestR6_AnOutageIsToldAndPasses(t *testing.T) {
	type trouble struct {
		run string
		err error
	}
	dir, told, flow := t.TempDir(), make(chan trouble, 9), bought(t)
	h := opened(t, runs.Options{Dir: dir, Trouble: func(run string, err error) { told <- trouble{run, err} }}, flow.Definition())
	id := begun(t, h, flow)
	lock, err := sql.Open("sqlite", filepath.Join(dir, "gamma.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	lock.SetMaxOpenConns(1)
	if _, err := lock.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	go h.Serve(t.Context())
	if got := <-told; got.run != "" || !errors.Is(got.err, runs.ErrUnavailable) {
		t.Errorf("told %q, %v", got.run, got.err)
	}
	if _, err := lock.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	until(t, h, id, runs.Waiting)
}

func TestW7_StartRefusesWhatCantBeCarriedOut(t *testing.T) {
	in := workflow.Input[Order]()
	tells, err := workflow.Define("tells", in, workflow.Notify("tell", func(*workflow.Ctx) string { return "Hello." }))
	if err != nil {
		t.Fatal(err)
	}
	flow := bought(t)
	h := opened(t, runs.Options{}, tells.Definition(), flow.Definition())
	if _, err := runs.Start(t.Context(), h, tells, Order{}, runs.Place{}); !errors.Is(err, runs.ErrSession) || !strings.HasPrefix(err.Error(), "workflow tells: node tell: ") {
		t.Errorf("got %v", err)
	}
	bad := (*runs.InputError)(nil)
	_, err = runs.Start(t.Context(), h, flow, Order{strings.Repeat("x", 16<<20)}, runs.Place{Workspace: t.TempDir()})
	if !errors.As(err, &bad) || bad.Workflow != "purchase" || len(bad.Broken) != 1 || !strings.Contains(err.Error(), "purchase: the input doesn't fit") {
		t.Errorf("got %v", err)
	}
	speaks, err := workflow.Define("speaks", in, workflow.Agent("say", func(*workflow.Ctx) string { return "Hello." }, workflow.AssistantMessage()))
	if err != nil {
		t.Fatal(err)
	}
	other := opened(t, runs.Options{}, speaks.Definition())
	if _, err := runs.Start(t.Context(), other, speaks, Order{}, runs.Place{}); !errors.Is(err, runs.ErrSession) {
		t.Errorf("got %v", err)
	}
	if list, err := h.List(t.Context(), 0); err != nil || len(list) != 0 {
		t.Errorf("%d runs, %v", len(list), err)
	}
}

func TestW7_WhatIsNilIsAnError(t *testing.T) {
	h, flow := opened(t, runs.Options{}), bought(t)
	if _, err := runs.Start[Order](t.Context(), h, nil, Order{}, runs.Place{}); err == nil || !strings.Contains(err.Error(), "the workflow is nil") {
		t.Errorf("got %v", err)
	}
	for _, h := range []*runs.Host{nil, {}} {
		_, started := runs.Start(t.Context(), h, flow, Order{}, runs.Place{})
		_, got := h.Get(t.Context(), "x")
		_, listed := h.List(t.Context(), 0)
		_, read := runs.Output[Receipt](t.Context(), h, "x")
		var watched error
		for _, err := range h.Watch(t.Context(), "x") {
			watched = err
		}
		for i, err := range []error{started, got, listed, read, watched, h.Cancel(t.Context(), "x", ""), h.Serve(t.Context()), h.Close()} {
			if err == nil || !strings.Contains(err.Error(), "the host isn't open") {
				t.Errorf("call %d: got %v", i+1, err)
			}
		}
	}
}
