package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	w "github.com/gamma-harness/gamma/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type in struct {
	Word string `json:"word"`
}

// place is a database with a folder to work in.
type place struct {
	t    *testing.T
	db   *store.SQLite
	dir  string
	path string // of the database
	defs map[string]*w.Definition
}

func newPlace(t *testing.T) *place {
	path := filepath.Join(t.TempDir(), "gamma.db")
	db, err := store.OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &place{t, db, t.TempDir(), path, map[string]*w.Definition{}}
}

// host makes a host that knows the place's definitions.
func (p *place) host(name string, dead ...string) *host.Runs {
	return host.NewRuns(host.Config{Store: p.db, Holder: name, Env: func(string) []string { return os.Environ() },
		Dead: func(h string) bool { return len(dead) > 0 && h == dead[0] },
		Find: func(d store.Definition) (*w.Definition, error) {
			def := p.defs[d.Name]
			if def == nil || host.Describe(def, "test:"+d.Name).Key != d.Key {
				return nil, fmt.Errorf("workflow %s isn't here", d.Name)
			}
			return def, nil
		}})
}

func (p *place) define(name string, entry w.Target, parts ...w.Part) {
	p.t.Helper()
	f, err := w.Define(name, w.Input[in](), entry, parts...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.defs[name] = f.Definition()
}

func (p *place) start(h *host.Runs, name string) string {
	p.t.Helper()
	id, err := h.Start(p.t.Context(), host.Request{Definition: p.defs[name], Source: "test:" + name, Input: w.JSON(`{"word":"hi"}`), Workspace: p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p *place) drive(h *host.Runs, id string) *flow.Run {
	p.t.Helper()
	r, err := h.Drive(p.t.Context(), id, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// slow is a command that says that it has begun and then takes its time.
func slow(id string) *w.NodeOf[string] {
	return w.Shell(id, func(*w.Ctx) w.Command {
		return w.Command{Command: "sh", Args: []string{"-c", "echo begun >> " + id + "; sleep 300"}}
	}, func(_ *w.Ctx, r w.ShellResult) (string, error) { return r.Stdout, nil })
}

func say(id, s string) *w.NodeOf[string] {
	return w.Compute(id, func(*w.Ctx) (string, error) { return s, nil })
}

func gate(id string) *w.HumanNode[string] {
	return w.HumanDecision(id, "operator", func(*w.Ctx) w.Request { return w.Request{Title: "?"} },
		[]w.Option[string]{{Key: "yes", Label: "Yes"}, {Key: "no", Label: "No"}})
}

// soon waits until something holds, at most a minute.
func (p *place) soon(what string, holds func() bool) {
	p.t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			p.t.Errorf("after a minute it still doesn't hold: %s", what)
			return
		}
	}
}

// until waits for a file of the folder.
func (p *place) until(name string) {
	p.t.Helper()
	p.soon("the file "+name+" is there", func() bool {
		b, err := os.ReadFile(filepath.Join(p.dir, name))
		return err == nil && len(b) > 0
	})
}

func TestW13_TheRunOfADeadHolderGoesOnAtOnce(t *testing.T) {
	p := newPlace(t)
	p.define("one", slow("a"))
	dead := p.host("dead")
	id := p.start(dead, "one")
	now := time.Now()
	if c, err := p.db.Claim(t.Context(), store.Hunt{Run: id, By: []string{"*"}, Holder: "dead", Now: now.UnixMilli(), LeaseUntil: now.Add(time.Hour).UnixMilli()}); err != nil || c == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		p.until("a")
		stop()
	}()
	r, err := p.host("alive", "dead").Drive(ctx, id, nil)
	if err != nil || r.Status != flow.Parked {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestW11_SignalsReachTheHolder(t *testing.T) {
	p := newPlace(t)
	a := slow("a")
	p.define("one", a, w.Then(a, say("b", "x")))
	h := p.host("h1")
	id := p.start(h, "one")
	var r *flow.Run
	var all sync.WaitGroup
	all.Add(1)
	go func() {
		defer all.Done()
		r, _ = h.Drive(context.Background(), id, nil)
	}()
	p.until("a")
	other := p.host("h2")
	var early *flow.Refusal
	if err := other.Send(t.Context(), id, flow.Resume{By: "me"}); !errors.As(err, &early) || early.Code != "not_now" {
		t.Errorf("resume of a run that isn't paused: %v", err)
	}
	if err := other.Send(t.Context(), id, flow.Pause{By: "me"}); err != nil {
		t.Errorf("pause: %v", err)
	}
	if err := other.Send(t.Context(), id, flow.Cancel{By: "me"}); err != nil {
		t.Errorf("cancel: %v", err)
	}
	all.Wait()
	if r.Status != flow.Cancelled {
		t.Errorf("got %s", r.Status)
	}
	var refused *flow.Refusal
	if err := other.Send(t.Context(), id, flow.Cancel{By: "me"}); !errors.As(err, &refused) || refused.Code != "ended" {
		t.Errorf("a second time: %v", err)
	}
}

func TestW18_TheSameAnswerAgainIsAdopted(t *testing.T) {
	p := newPlace(t)
	g := gate("g")
	p.define("gate", g, w.Route(g, w.Lanes[string]{"yes": say("y", "went on"), "no": say("n", "stopped")}))
	h := p.host("h1")
	id := p.start(h, "gate")
	r := p.drive(h, id)
	if r.Status != flow.Waiting {
		t.Fatalf("%s: %s", r.Status, r.Message)
	}
	answer := flow.Answer{Decision: r.Open.Decision, Choice: "yes", By: "me", Key: "k1"}
	for range 2 {
		if err := h.Send(t.Context(), id, answer); err != nil {
			t.Error(err)
		}
	}
	r = p.drive(h, id)
	if err := h.Send(t.Context(), id, answer); err != nil {
		t.Errorf("after the end: %v", err)
	}
	var refused *flow.Refusal
	for _, other := range []flow.Answer{{Decision: answer.Decision, Choice: "no", By: "me", Key: "k1"}, {Decision: answer.Decision, Choice: "yes", By: "you", Key: "k2"}} {
		if err := h.Send(t.Context(), id, other); !errors.As(err, &refused) || refused.Code != "conflict" || !strings.Contains(err.Error(), "me has answered already: yes") {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if out, err := p.db.Output(t.Context(), id, r.Nodes["y"].Seq); err != nil || string(out) != `"went on"` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestW7_AChangedDefinitionParksTheRun(t *testing.T) {
	p := newPlace(t)
	g := gate("g")
	p.define("gate", g, w.Route(g, w.Lanes[string]{"yes": say("y", "went on"), "no": say("n", "stopped")}))
	h := p.host("h1")
	id := p.start(h, "gate")
	r := p.drive(h, id)
	old := p.defs["gate"]
	p.define("gate", say("y", "another"))
	if err := h.Send(t.Context(), id, flow.Answer{Decision: r.Open.Decision, Choice: "yes", By: "me"}); err != nil {
		t.Errorf("the run takes answers without its code: %v", err)
	}
	r = p.drive(h, id)
	if r.Status != flow.Parked || r.Reason != flow.ForOperator || r.Message != "workflow gate isn't here" {
		t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
	}
	p.defs["gate"] = old
	if err := h.Send(t.Context(), id, flow.Resume{By: "me"}); err != nil {
		t.Error(err)
	}
	if r := p.drive(h, id); r.Status != flow.Completed {
		t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
	}
	same := host.Describe(old, "test:gate")
	revised := *old
	revised.Revision = "2"
	if host.Describe(&revised, "test:gate").Key == same.Key || host.Describe(old, "test:other").Key == same.Key {
		t.Error("another revision or source has the same key")
	}
}

func TestW7_AWorkspaceThatIsGoneParksTheRun(t *testing.T) {
	p := newPlace(t)
	p.define("one", say("a", "x"))
	h := p.host("h1")
	id := p.start(h, "one")
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	if r := p.drive(h, id); r.Status != flow.Parked || !strings.Contains(r.Message, p.dir+" is gone") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

func TestC8_WhatCantStart(t *testing.T) {
	p := newPlace(t)
	p.define("say", w.Agent("a", func(*w.Ctx) string { return "?" }, w.AssistantMessage()))
	p.define("tell", w.Notify("n", func(*w.Ctx) string { return "?" }))
	p.define("one", say("a", "x"))
	h := p.host("h1")
	for name, want := range map[string]string{
		"say":  "workflow say: node a: Assistant completion requires an origin session.",
		"tell": "workflow tell: node n: a notification requires an origin session",
	} {
		if _, err := h.Start(t.Context(), host.Request{Definition: p.defs[name], Input: w.JSON(`{"word":""}`)}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := h.Start(t.Context(), host.Request{Definition: p.defs["one"], Input: w.JSON(`{"word":1,"more":2}`)})
	for _, want := range []string{"additional properties 'more' not allowed", "/word: got number, want string"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for range 2 { // the same id twice is one run
		if _, err := h.Start(t.Context(), host.Request{ID: "mine", Definition: p.defs["one"], Input: w.JSON(`{"word":"x"}`), Workspace: p.dir}); err != nil {
			t.Error(err)
		}
	}
	if list, err := p.db.Runs(t.Context(), 0); err != nil || len(list) != 1 {
		t.Errorf("%d runs, %v", len(list), err)
	}
}

func TestW13_HostsShareTheWork(t *testing.T) {
	p := newPlace(t)
	a, nap := say("a", "x"), w.Delay("nap", func(*w.Ctx) time.Duration { return 20 * time.Millisecond })
	b := w.Shell("b", func(c *w.Ctx) w.Command {
		return w.Command{Command: "sh", Args: []string{"-c", "echo x >> count"}}
	}, func(*w.Ctx, w.ShellResult) (string, error) { return "", nil })
	p.define("work", a, w.Then(a, nap), w.Then(nap, b))
	const runs = 12
	for range runs {
		p.start(p.host("starter"), "work")
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, name := range []string{"h1", "h2", "h3"} {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := p.host(name).Work(ctx, 2); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	for range time.Tick(20 * time.Millisecond) {
		list, err := p.db.Runs(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, i := range list {
			if i.Status != flow.Completed {
				open++
			}
		}
		if open == 0 {
			break
		}
	}
	stop()
	all.Wait()
	count, err := os.ReadFile(filepath.Join(p.dir, "count"))
	if err != nil || strings.Count(string(count), "x") != runs {
		t.Errorf("%d effects of %d runs, %v", strings.Count(string(count), "x"), runs, err)
	}
}

func TestW13_LifeEndsWithItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "holders")
	a, err := host.Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := host.Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Dead(a.Holder()) || a.Dead(a.Holder()) || b.Dead("../"+a.Holder()) {
		t.Error("a living holder is dead")
	}
	if host.PID(a.Holder()) != fmt.Sprint(os.Getpid()) {
		t.Errorf("pid %s", host.PID(a.Holder()))
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if !b.Dead(a.Holder()) {
		t.Error("a holder that has ended lives")
	}
	if err := os.WriteFile(filepath.Join(dir, "1-killed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !b.Dead("1-killed") {
		t.Error("a file that nobody locks is of a living holder")
	}
	for _, name := range []string{"2-killed", "3-begins.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := host.Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 3 || b.Dead(c.Holder()) || c.Dead(b.Holder()) {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestR4_OneBadRunDoesntStopTheOthers(t *testing.T) {
	p := newPlace(t)
	p.define("good", say("a", "x"))
	p.define("bad", say("a", "x"))
	h := p.host("h1")
	bad := p.start(h, "bad")
	good := p.start(h, "good")
	conf := h.Config
	find := conf.Find
	conf.Find = func(d store.Definition) (*w.Definition, error) {
		if d.Name == "bad" {
			panic("a broken invariant")
		}
		return find(d)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := make(chan string, 10)
	conf.Trouble = func(run string, err error) { told <- run + " " + err.Error() }
	done := make(chan error)
	go func() { done <- host.NewRuns(conf).Work(ctx, 1) }()
	if got := <-told; got != bad+" run "+bad+": panic: a broken invariant" {
		t.Errorf("got %q", got)
	}
	for range time.Tick(10 * time.Millisecond) {
		if r, _, err := p.db.Load(t.Context(), good); err != nil || r.Status == flow.Completed {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := h.Drive(t.Context(), good, nil); err != nil {
		t.Error(err)
	}
}

// TestW18_AnExpiredDecisionTakesItsDefault: whoever looks at the run next
// fires it, also who can't answer.
func TestW18_AnExpiredDecisionTakesItsDefault(t *testing.T) {
	p := newPlace(t)
	g := w.HumanDecision("g", "operator", func(*w.Ctx) w.Request { return w.Request{Title: "?"} },
		[]w.Option[string]{{Key: "yes", Label: "Yes"}, {Key: "no", Label: "No"}}, w.After(time.Millisecond, "no"))
	p.define("gate", g, w.Route(g, w.Lanes[string]{"yes": say("y", "went on"), "no": say("n", "stopped")}))
	h := p.host("h1")
	id := p.start(h, "gate")
	r := p.drive(h, id)
	for n := 0; r.Status == flow.Waiting; n++ {
		if n > 5000 {
			t.Fatal("it waits for ever")
		}
		r = p.drive(h, id)
	}
	if out, err := p.db.Output(t.Context(), id, r.Nodes["n"].Seq); err != nil || string(out) != `"stopped"` {
		t.Errorf("%s: %s, %v", r.Status, out, err)
	}
}
