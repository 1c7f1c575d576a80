package runs

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestD3_SameEventsGiveTheSameRows replays the writes of simulated histories on
// a real database: what was accepted there is accepted here, with the same
// tokens, and leaves the same rows.
func TestD3_SameEventsGiveTheSameRows(t *testing.T) {
	g := graphs(t)
	commits := 0
	for seed := range uint64(12) {
		world := newWorld(seed, "", g)
		world.keep = true
		if err := world.play(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		db, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "gamma.db"))
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range world.ids {
			session := world.db.rows[id].Session
			_, err := db.Enqueue(t.Context(), store.New{Commit: flow.Create(id, session, 1_000_000), Workspace: "/w", Input: []byte("{}"), Now: int64(1_000_000 + i),
				Definition: store.Definition{Key: g.graphs[i].Digest(), Name: g.graphs[i].Name, Snapshot: g.graphs[i].Snapshot()}})
			if err != nil {
				t.Fatal(err)
			}
		}
		for n, o := range world.db.journal {
			if err := apply(t, db, o); err != nil {
				t.Fatalf("seed %d, write %d: %s of %s: %v", seed, n, o.kind, o.run, err)
			}
			if o.kind == "commit" {
				commits++
			}
		}
		compare(t, seed, world, db)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d commits", commits)
}

// apply makes one write.
func apply(t *testing.T, db store.Store, o op) error {
	ctx := t.Context()
	switch o.kind {
	case "claim":
		c, err := db.Claim(ctx, store.Hunt{By: o.by, Holder: "h", Now: o.now, LeaseUntil: o.until})
		if err == nil && (c == nil || c.Run != o.run || c.Token != o.token || c.LeaseWas != o.was || c.Lost != o.lost) {
			t.Errorf("claimed %+v, want %s with token %d, unclaimed since %d, lost: %v", c, o.run, o.token, o.was, o.lost)
		}
		return err
	case "commit":
		w := store.Write{Graph: o.graph, Before: o.before, Commit: &o.commit, Token: o.token, Now: o.now, LeaseUntil: o.until}
		if o.consumed != "" {
			w.Consumed = []string{o.consumed}
		}
		return db.Commit(ctx, w)
	case "renew":
		return db.Renew(ctx, o.run, o.token, o.now, o.until)
	case "release":
		return db.Release(ctx, o.run, o.token, o.now)
	case "own":
		return db.Own(ctx, o.id, o.token)
	case "leave":
		return db.Leave(ctx, o.run, o.id, o.event, o.now)
	case "drop":
		_, err := db.Drop(ctx, o.run, o.id)
		return err
	}
	return errors.New("unknown write")
}

// compare holds the rows of both against each other.
func compare(t *testing.T, seed uint64, w *world, db store.Store) {
	for _, id := range w.ids {
		run, info, err := db.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		model := w.db.rows[id]
		if d := cmp.Diff(&model.Run, run, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("seed %d, %s (-model +database):\n%s", seed, id, d)
		}
		if info.LeaseUntil != model.lease {
			t.Errorf("seed %d, %s: leased until %d, in the model %d", seed, id, info.LeaseUntil, model.lease)
		}
		log, err := db.Log(t.Context(), id, 0, 0)
		if err != nil || len(log) != len(model.log) {
			t.Errorf("seed %d, %s: %d commits, in the model %d (%v)", seed, id, len(log), len(model.log), err)
		}
	}
	for _, s := range w.sessions {
		var want, got []string
		for _, n := range w.db.outbox {
			if n.session == s.id {
				want = append(want, n.ID+" "+n.Kind+" "+n.Body)
			}
		}
		notes, err := db.Outbox(t.Context(), s.id)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			got = append(got, n.ID+" "+n.Kind+" "+n.Body)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("seed %d, %s: outbox %q, in the model %q", seed, s.id, got, want)
		}
	}
}
