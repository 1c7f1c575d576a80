package e2e

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// dormant is a session that has said hello and isn't open, and for which a host
// elsewhere has carried a workflow out.
type dormant struct {
	*place
	t       *testing.T
	session string
	run     string
}

func sleeps(t *testing.T, next string, entry workflow.Target, parts ...workflow.Part) *dormant {
	t.Helper()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + says("hello") + next)
	d := &dormant{place: p, t: t}
	d.session = p.run("exec", "--json", "hi").result(t).Session
	f, err := workflow.Define("away", workflow.Input[struct{}](), entry, parts...)
	if err != nil {
		t.Fatal(err)
	}
	db := d.db()
	defer db.Close()
	runs := host.NewRuns(host.Config{Store: db, Holder: "elsewhere",
		Find: func(store.Definition) (*workflow.Definition, error) { return f.Definition(), nil }})
	d.run, err = runs.Start(t.Context(), host.Request{Definition: f.Definition(), Source: "test:away", Input: workflow.JSON("{}"), Session: d.session, Workspace: p.ws})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Drive(t.Context(), d.run, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *dormant) db() *store.SQLite {
	d.t.Helper()
	db, err := store.OpenSQLite(d.t.Context(), filepath.Join(d.home, "gamma.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	return db
}

// resume goes on with the session, which must leave nothing untold.
func (d *dormant) resume(words ...string) (wire.Result, string) {
	d.t.Helper()
	r := d.ok(append([]string{"exec", "--json", "--resume", d.session}, words...)...)
	db := d.db()
	defer db.Close()
	notes, err := db.Outbox(d.t.Context(), d.session)
	if err != nil || len(notes) > 0 && len(words) == 0 {
		d.t.Errorf("%d rows wait, %v", len(notes), err)
	}
	return r.result(d.t), r.stderr
}

// TestW20_WhatADormantSessionIsTold: what a run came to while nobody had its
// session open is told when somebody opens it.
func TestW20_WhatADormantSessionIsTold(t *testing.T) {
	t.Parallel()
	computed := func(*workflow.Ctx) (string, error) { return "the answer", nil }
	shown := workflow.Present(func(*workflow.Ctx) string { return "Tell it." })
	t.Run("W20 a presentation, once", func(t *testing.T) {
		d := sleeps(t, says("It is the answer."), workflow.Compute("a", computed), shown)
		for range 2 {
			if res, _ := d.resume(); res.Text != "It is the answer." {
				t.Errorf("%+v", res)
			}
		}
	})
	t.Run("W19 a failure", func(t *testing.T) {
		d := sleeps(t, says("It has failed."), workflow.Compute("a", func(*workflow.Ctx) (string, error) { return "", errors.New("no") }))
		if res, _ := d.resume(); res.Text != "It has failed." {
			t.Errorf("%+v", res)
		}
	})
	t.Run("W17 a notification starts nothing", func(t *testing.T) {
		d := sleeps(t, "", workflow.Notify("a", func(*workflow.Ctx) string { return "done" }))
		if res, _ := d.resume(); res.Text != "hello" {
			t.Errorf("%+v", res)
		}
	})
	t.Run("W20 a person's words come before it, and are told so", func(t *testing.T) {
		d := sleeps(t, says("Something else."), workflow.Compute("a", computed), shown)
		res, told := d.resume("Tell me something else.")
		if res.Text != "Something else." || !strings.Contains(told, "runs show "+d.run) {
			t.Errorf("%+v\n%s", res, told)
		}
	})
}
