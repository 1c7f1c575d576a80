package store

import (
	"errors"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

// ended makes a run that has completed, with a note for its session.
func (k *kit) ended(id, session string) {
	k.t.Helper()
	k.start(id, "steps", session)
	c := k.claim(id, "h1", session)
	k.do(id, started(), c.Token)
	for r, _, _ := k.load(id); !r.Status.Ended(); r, _, _ = k.load(id) {
		output := `{"passed":true}`
		if r.Open.Node == "n" {
			output = `"news"`
		}
		k.do(id, k.finish(id, output), c.Token)
	}
	if err := k.Release(k.ctx, id, c.Token, k.now); err != nil {
		k.t.Fatal(err)
	}
}

// removed: an ended run goes with all its rows, and no other run loses any.
func removed(t *testing.T, k *kit) {
	k.start("open", "steps", "")
	c := k.claim("open", "h1")
	k.do("open", started(), c.Token)
	if err := k.Remove(k.ctx, "open", true, k.now); !errors.Is(err, ErrOpen) {
		t.Errorf("an open run: %v", err)
	}
	if err := k.Remove(k.ctx, "none", true, k.now); !errors.Is(err, ErrNotFound) {
		t.Errorf("no run: %v", err)
	}
	k.ended("gone", "S")
	k.ended("kept", "T")
	for _, err := range []error{k.Remove(k.ctx, "gone", false, k.now), k.Removable(k.ctx, "gone", false, k.now)} {
		if !errors.Is(err, ErrUntold) {
			t.Errorf("a run with a note that waits: %v", err)
		}
	}
	_, info, _ := k.load("gone")
	if err := k.Remove(k.ctx, "gone", true, k.now); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Load(k.ctx, "gone"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
	if log, err := k.Log(k.ctx, "gone", 0, 0); err == nil && len(log) > 0 {
		t.Errorf("%d commits are there", len(log))
	}
	if err := k.Leave(k.ctx, "gone", "late", flow.Pause{By: "me"}, k.now); !errors.Is(err, ErrNotFound) {
		t.Errorf("a signal for it: %v", err)
	}
	if notes, err := k.Outbox(k.ctx, "S"); err != nil || len(notes) > 0 {
		t.Errorf("%v, notes %+v", err, notes)
	}
	if _, err := k.Definition(k.ctx, info.Definition); err != nil {
		t.Errorf("the definition that others use: %v", err)
	}
	for _, id := range []string{"open", "kept"} {
		k.equal(id)
	}
	if notes, err := k.Outbox(k.ctx, "T"); err != nil || len(notes) != 1 {
		t.Errorf("%v, notes of the other run: %+v", err, notes)
	}
	if err := k.Own(k.ctx, "T", 1); err != nil {
		t.Fatal(err)
	}
	if err := k.Deliver(k.ctx, "kept/n/1", "T", 1, k.now); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(k.ctx, "kept", false, k.now); err != nil {
		t.Errorf("told all: %v", err)
	}
	k.do("open", flow.Cancel{By: "me"}, c.Token)
	if err := k.Release(k.ctx, "open", c.Token, k.now); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(k.ctx, "open", false, k.now); err != nil {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := k.Definition(k.ctx, info.Definition); !errors.Is(err, ErrNotFound) {
		t.Errorf("the definition that nobody uses: %v", err)
	}
}
