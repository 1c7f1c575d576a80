package host_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	w "github.com/gamma-harness/gamma/workflow"
)

// flaky is a store whose next calls fail as those of a busy database do.
type flaky struct {
	store.Store
	left atomic.Int64
}

func (f *flaky) fails() error {
	if f.left.Add(-1) >= 0 {
		return fmt.Errorf("busy: %w", store.ErrTryLater)
	}
	return nil
}

func (f *flaky) Claim(ctx context.Context, h store.Hunt) (*store.Claimed, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.Store.Claim(ctx, h)
}

func (f *flaky) Load(ctx context.Context, id string) (*flow.Run, store.Info, error) {
	if err := f.fails(); err != nil {
		return nil, store.Info{}, err
	}
	return f.Store.Load(ctx, id)
}

func (f *flaky) Commit(ctx context.Context, wr store.Write) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Store.Commit(ctx, wr)
}

func (f *flaky) Due(ctx context.Context, now int64, limit int) ([]string, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.Store.Due(ctx, now, limit)
}

func (f *flaky) Release(ctx context.Context, run string, token, now int64) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Store.Release(ctx, run, token, now)
}

func (f *flaky) Given(ctx context.Context, run string) (w.JSON, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.Store.Given(ctx, run)
}

func TestR6_ABusyDatabaseIsWaitedFor(t *testing.T) {
	p := newPlace(t)
	f := &flaky{Store: p.db}
	a := w.Compute("a", func(*w.Ctx) (string, error) { f.left.Store(2); return "x", nil })
	b := w.Delay("b", func(*w.Ctx) time.Duration { f.left.Store(1); return 300 * time.Millisecond })
	p.define("one", a, w.Then(a, b), w.Then(b, say("c", "y")))
	conf := p.host("h1").Config
	conf.Store = f
	told := make(chan string, 100)
	conf.Trouble = func(run string, err error) { told <- err.Error() }
	h := host.NewRuns(conf)
	t.Run("drive", func(t *testing.T) {
		id := p.start(p.host("starter"), "one")
		f.left.Store(2)
		if r, err := h.Drive(t.Context(), id, nil); err != nil || r.Status != flow.Completed {
			t.Fatalf("%v, %+v", err, r)
		}
		if n := len(told); n != 3 { // each outage once
			t.Errorf("told %d times", n)
		}
	})
	t.Run("work", func(t *testing.T) {
		id := p.start(p.host("starter"), "one")
		f.left.Store(3)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error)
		go func() { done <- h.Work(ctx, 1) }()
		p.soon("the run has completed", func() bool {
			r, _, err := p.db.Load(t.Context(), id)
			return err != nil || r.Status == flow.Completed
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("who is to end doesn't wait", func(t *testing.T) {
		id := p.start(p.host("starter"), "one")
		f.left.Store(1 << 40)
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		if _, err := h.Drive(ctx, id, nil); !errors.Is(err, store.ErrTryLater) {
			t.Errorf("got %v", err)
		}
		if err := h.Work(ctx, 1); err != nil {
			t.Error(err)
		}
	})
}

// TestR6_AnotherProcessHoldsTheDatabase: for longer than a write waits.
func TestR6_AnotherProcessHoldsTheDatabase(t *testing.T) {
	p := newPlace(t)
	p.define("one", say("a", "x"))
	id := p.start(p.host("starter"), "one")
	lock, err := sql.Open("sqlite", p.path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	lock.SetMaxOpenConns(1)
	if _, err := lock.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	conf := p.host("h1").Config
	told := make(chan error, 9)
	conf.Trouble = func(_ string, err error) {
		told <- err
		lock.Exec("ROLLBACK") // the other process is ready
	}
	if r, err := host.NewRuns(conf).Drive(t.Context(), id, nil); err != nil || r.Status != flow.Completed {
		t.Fatalf("%v, %+v", err, r)
	}
	if err := <-told; !strings.Contains(err.Error(), "another process has held it for 10 s") || len(told) > 0 {
		t.Errorf("told %v, and %d more", err, len(told))
	}
}

// newer makes the definition of a run one of a later version.
func (p *place) newer(id string) {
	p.t.Helper()
	_, info, err := p.db.Load(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	db, err := sql.Open("sqlite", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE definition SET snapshot='{"format":99,"more":{}}' WHERE digest=?`, info.Definition); err != nil {
		p.t.Fatal(err)
	}
}

func TestW7_ARunOfANewerDefinition(t *testing.T) {
	p := newPlace(t)
	g := w.HumanDecision("g", "operator", func(*w.Ctx) w.Request { return w.Request{Title: "?"} }, []w.Option[string]{{Key: "yes", Label: "Yes"}}, w.After(50*time.Millisecond, "yes"))
	p.define("asks", g, w.Route(g, w.Lanes[string]{"yes": say("y", "x")}))
	p.define("naps", w.Delay("n", func(*w.Ctx) time.Duration { return time.Hour }))
	p.define("says", say("a", "x"))
	h := p.host("h1")
	asks, naps, says, open := p.start(h, "asks"), p.start(h, "naps"), p.start(h, "says"), p.start(h, "says")
	if r := p.drive(h, asks); r.Status != flow.Waiting {
		t.Fatal(r.Status)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	if r, err := h.Drive(ctx, naps, nil); err != nil || r.Status != flow.Waiting {
		t.Fatal(err)
	}
	for _, id := range []string{asks, naps, says} {
		p.newer(id)
	}
	const why = "the definition of workflow says can't be read here: workflow snapshot: format 99; this version reads format 1; go on with the gamma that began the run, or cancel it"
	for _, id := range []string{says, open} {
		if r := p.drive(h, id); r.Status != flow.Parked || r.Reason != flow.ForOperator || r.Message != why {
			t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
		}
	}
	var refused *flow.Refusal
	for _, ev := range []flow.Event{flow.Answer{Choice: "yes", By: "me"}, flow.Pause{By: "me"}, flow.Resume{By: "me"}, flow.Escape{By: "me"}} {
		if err := h.Send(t.Context(), asks, ev); !errors.As(err, &refused) || !strings.Contains(err.Error(), "format 99") {
			t.Errorf("%T: %v", ev, err)
		}
	}
	p.soon("its timer passes, and doesn't end the host", func() bool {
		if err := h.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, _, err := p.db.Load(t.Context(), asks)
		return err != nil || r.Status == flow.Parked && r.Wake == 0
	})
	for _, id := range []string{asks, naps, says, open} {
		if err := h.Send(t.Context(), id, flow.Cancel{By: "me"}); err != nil {
			t.Errorf("cancel: %v", err)
		}
		if r, _, err := p.db.Load(t.Context(), id); err != nil || r.Status != flow.Cancelled || r.Open != nil {
			t.Errorf("%v, %+v", err, r)
		}
	}
}

// TestW14_AClaimThatIsGivenBackStopsTheClock: a store that fails for good ends
// Drive; what passes until somebody goes on isn't the node's time.
func TestW14_AClaimThatIsGivenBackStopsTheClock(t *testing.T) {
	p := newPlace(t)
	fails := true
	p.define("one", w.Compute("a", func(*w.Ctx) (string, error) { return "x", nil }))
	h := p.host("h1")
	id := p.start(h, "one")
	conf := h.Config
	conf.Observe = func(string, *flow.Run, *flow.Commit) {
		if fails {
			panic("a fault of ours")
		}
	}
	if _, err := host.NewRuns(conf).Drive(t.Context(), id, nil); err == nil {
		t.Fatal("no error")
	}
	r, info, err := p.db.Load(t.Context(), id)
	if err != nil || r.Status != flow.Running || info.LeaseUntil >= 0 {
		t.Fatalf("%v, %s, leased until %d", err, r.Status, info.LeaseUntil)
	}
	before := r.Open.Deadline
	fails = false
	var moved int64
	conf.Observe = func(_ string, _ *flow.Run, c *flow.Commit) {
		for _, f := range c.Facts {
			if f.Kind == flow.KindDeadlineMoved {
				moved = f.At - before
			}
			if f.Kind == flow.KindTaken {
				t.Errorf("a claim that was given back counts as a lost host: %+v", f)
			}
		}
	}
	released := -info.LeaseUntil
	for time.Now().UnixMilli() <= released+20 {
		<-time.After(5 * time.Millisecond)
	}
	if r, err := host.NewRuns(conf).Drive(t.Context(), id, nil); err != nil || r.Status != flow.Completed {
		t.Fatalf("%v, %+v", err, r)
	}
	if moved < 20 {
		t.Errorf("the deadline was moved by %d ms", moved)
	}
}

// TestR4_HostsThatAreLostAreCounted: each host is dead as soon as it has the run.
func TestR4_HostsThatAreLostAreCounted(t *testing.T) {
	p := newPlace(t)
	p.define("one", slow("a"))
	h := p.host("h1")
	id := p.start(h, "one")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		p.until("a")
		stop()
	}()
	if r, err := h.Drive(ctx, id, nil); err != nil || r.Status != flow.Parked {
		t.Fatalf("%v, %+v", err, r)
	}
	var r *flow.Run
	for n := 0; ; n++ {
		now := time.Now()
		c, err := p.db.Claim(t.Context(), store.Hunt{Run: id, By: []string{"*"}, Holder: "dead", Now: now.UnixMilli(), LeaseUntil: now.Add(time.Hour).UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			if n != 6 { // the parked one, four that were taken up, and the one that asks a person
				t.Errorf("claimed %d times", n)
			}
			break
		}
		if r, _, err = p.db.Load(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		g := flow.Index(p.defs["one"].Graph)
		d := flow.Decide(g, r, flow.Claim{LeaseWas: c.LeaseWas, Lost: c.Lost}, flow.Env{Now: now.UnixMilli(), Holder: true})
		wr := store.Write{Graph: g, Before: r, Commit: &d, Token: c.Token, Now: now.UnixMilli()}
		if d.Next.Status == flow.Running {
			wr.LeaseUntil = now.Add(time.Hour).UnixMilli()
		}
		if err := p.db.Commit(t.Context(), wr); err != nil {
			t.Fatal(err)
		}
		if _, err := p.db.Expire(t.Context(), "dead", now.UnixMilli()); err != nil {
			t.Fatal(err)
		}
	}
	if r = p.drive(h, id); r.Status != flow.Parked || r.Reason != flow.ForOperator || !strings.HasPrefix(r.Message, "node a: each of the 5 hosts") {
		t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
	}
}

func TestW7_AWorkspaceThatGoesInBetween(t *testing.T) {
	p := newPlace(t)
	a := w.Compute("a", func(*w.Ctx) (string, error) { return "x", os.RemoveAll(p.dir) })
	b := w.Shell("b", func(*w.Ctx) w.Command { return w.Command{Command: "pwd"} }, func(_ *w.Ctx, r w.ShellResult) (string, error) { return r.Stdout, nil }, w.Once())
	p.define("one", a, w.Then(a, b))
	h := p.host("h1")
	id := p.start(h, "one")
	for range 2 { // resumed too early
		if r := p.drive(h, id); r.Status != flow.Parked || r.Reason != flow.ForOperator || !strings.Contains(r.Message, p.dir+" is gone") {
			t.Fatalf("%s (%s): %s", r.Status, r.Reason, r.Message)
		}
		if err := h.Send(t.Context(), id, flow.Resume{By: "me"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := p.drive(h, id); r.Status != flow.Completed {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

func TestC8_StepsForAModelNeedSomebody(t *testing.T) {
	p := newPlace(t)
	p.define("job", w.Agent("a", func(*w.Ctx) string { return "?" }, w.Submit[string]()))
	h := p.host("h1")
	_, err := h.Start(t.Context(), host.Request{Definition: p.defs["job"], Input: w.JSON(`{"word":"x"}`), Workspace: p.dir})
	if !errors.Is(err, host.ErrNoSteps) || !strings.HasPrefix(err.Error(), "workflow job: node a: ") {
		t.Errorf("got %v", err)
	}
	if list, err := p.db.Runs(t.Context(), 0); err != nil || len(list) != 0 {
		t.Errorf("%d runs, %v", len(list), err)
	}
}
