package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// everywhere makes an ended run whose claim is still held until k.now+30_000,
// with rows in each table.
func (k *kit) everywhere(s *SQLite, id string) {
	k.t.Helper()
	k.start(id, "everything", "S")
	c := k.claim(id, "h1", "S")
	k.do(id, started(), c.Token)
	for r, _, _ := k.load(id); !r.Status.Ended(); r, _, _ = k.load(id) {
		switch r.Open.Node {
		case "gate":
			k.do(id, flow.Ask{Attempt: r.Open.ID, Request: workflow.JSON(`{"title":"?"}`)}, c.Token)
			r, _, _ = k.load(id)
			k.exec(s, `INSERT INTO delivery(decision, channel, part, state) VALUES(?, 'terminal', 1, 'sent')`, r.Open.Decision)
			k.do(id, flow.Answer{Decision: r.Open.Decision, Choice: "yes", By: "me"}, 0)
			c = k.claim(id, "h1", "S")
			k.do(id, flow.Claim{}, c.Token)
		case "n":
			k.do(id, k.finish(id, `"news"`), c.Token)
		case "work":
			k.do(id, flow.Publish{Attempt: r.Open.ID, Update: workflow.Update{Type: "status", Key: "k", Data: workflow.JSON(`{"x":1}`)}}, c.Token)
			k.do(id, k.finish(id, `{"passed":true}`), c.Token)
		}
	}
	k.exec(s, `INSERT INTO mount(run, mount, invocation, steps, since) VALUES(?, 'm', 1, 1, 1)`, id)
	k.exec(s, `INSERT INTO signal(run, id, input, at) VALUES(?, 'late', '{}', 1)`, id)
	k.exec(s, `UPDATE run SET lease_until=? WHERE id=?`, k.now+30_000, id)
}

func (k *kit) exec(s *SQLite, q string, args ...any) {
	k.t.Helper()
	if err := s.do(k.ctx, func(w *writer) error { _, err := w.exec(q, args...); return err }); err != nil {
		k.t.Fatal(err)
	}
}

// rows counts the rows of each table but those of sessions.
func (k *kit) rows(s *SQLite) map[string]int {
	k.t.Helper()
	names, err := s.reads.Query(`SELECT name FROM sqlite_schema WHERE type='table' AND name<>'session'`)
	if err != nil {
		k.t.Fatal(err)
	}
	defer names.Close()
	out := map[string]int{}
	for names.Next() {
		var table string
		var n int
		if err := errors.Join(names.Scan(&table), s.reads.QueryRow(fmt.Sprint("SELECT count(*) FROM ", table)).Scan(&n)); err != nil {
			k.t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

// TestW12_ARemovedRunLeavesNoRow: a run that has rows in each table leaves none,
// and goes only when nobody has its claim.
func TestW12_ARemovedRunLeavesNoRow(t *testing.T) {
	s := openTemp(t, t.TempDir()+"/gamma.db")
	defer s.Close()
	k := &kit{t: t, Store: s, ctx: t.Context(), now: 1_000_000, graphs: graphs(t)}
	k.everywhere(s, "r")
	for table, n := range k.rows(s) {
		if n == 0 {
			t.Errorf("%s has no row: the test can't fail", table)
		}
	}
	if err := s.Remove(k.ctx, "r", true, k.now); !errors.Is(err, ErrOpen) {
		t.Errorf("while its claim is held: %v", err)
	}
	k.now += 30_000
	for _, try := range []func() error{
		func() error { return s.Removable(k.ctx, "r", true, k.now) },
		func() error { return s.Remove(k.ctx, "r", true, k.now) },
	} {
		if err := try(); err != nil {
			t.Fatal(err)
		}
	}
	left := k.rows(s)
	for table, n := range left {
		if n != 0 {
			t.Errorf("%s: %d rows are left", table, n)
		}
	}
	if want := []string{"run", "event", "progress", "delivery"}; slices.ContainsFunc(want, func(x string) bool { _, ok := left[x]; return !ok }) {
		t.Errorf("tables %v", left)
	}
}
