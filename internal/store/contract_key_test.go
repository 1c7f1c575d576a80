package store

import (
	"errors"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

func keyed(t *testing.T, k *kit) {
	k.start("r", "steps", "S")
	pause := flow.Pause{By: "model:S", Key: "c1"}
	key := Key{Run: "r", By: "model:S", Key: "c1"}
	if _, err := k.Taken(k.ctx, key); !errors.Is(err, ErrNotFound) {
		t.Errorf("nothing was taken: %v", err)
	}
	left := func() int {
		if err := k.Leave(k.ctx, "r", "s1", pause, k.now); err != nil {
			t.Fatal(err)
		}
		list, err := k.Signals(k.ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := left() + left(); n != 2 {
		t.Errorf("before it was taken it is left once, not %d", n-1)
	}
	w := k.write("r", pause, 0, false)
	w.Consumed = []string{"s1"}
	if err := k.Commit(k.ctx, w); err != nil {
		t.Fatal(err)
	}
	for _, key := range []Key{key, {Session: "S", By: "model:S", Key: "c1"}} {
		if run, err := k.Taken(k.ctx, key); err != nil || run != "r" {
			t.Errorf("%+v: %q, %v", key, run, err)
		}
	}
	for _, key := range []Key{{Run: "r", By: "model:T", Key: "c1"}, {Run: "r", By: "model:S", Key: "c2"}, {Session: "T", By: "model:S", Key: "c1"}} {
		if run, err := k.Taken(k.ctx, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %q, %v", key, run, err)
		}
	}
	if n := left(); n != 0 {
		t.Error("what was taken is left again")
	}
	k.do("r", flow.Cancel{By: "model:S", Key: "c3"}, 0)
	if run, err := k.Taken(k.ctx, Key{Run: "r", By: "model:S", Key: "c3"}); err != nil || run != "r" {
		t.Errorf("the cancel: %q, %v", run, err)
	}
}

func selected(t *testing.T, k *kit) {
	k.start("a", "steps", "S")
	k.start("b", "steps", "T")
	k.start("c", "steps", "S")
	k.start("d", "gate", "")
	k.do("a", flow.Cancel{By: "me"}, 0)
	for _, c := range []struct {
		w    Which
		want string
	}{{Which{}, "dcba"}, {Which{Session: "S"}, "ca"}, {Which{Session: "S", Open: true}, "c"}, {Which{Open: true}, "dcb"}, {Which{Session: "X"}, ""}} {
		list, err := k.Select(k.ctx, c.w)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, i := range list {
			got += i.ID
		}
		if got != c.want {
			t.Errorf("%+v: got %s, want %s", c.w, got, c.want)
		}
	}
}

func notFound(t *testing.T, k *kit) {
	k.start("abc-1", "steps", "")
	k.start("abd-1", "steps", "")
	if _, _, err := k.Load(k.ctx, "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("load: %v", err)
	}
	if _, err := k.Decision(k.ctx, "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("decision: %v", err)
	}
	if _, err := k.Definition(k.ctx, "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("definition: %v", err)
	}
	for text, want := range map[string]int{"ab": 2, "abc": 1, "-1": 2, "d-1": 1, "%": 0, "b": 0} {
		if got, err := k.Find(k.ctx, text); err != nil || len(got) != want {
			t.Errorf("find %q: %v, %v", text, got, err)
		}
	}
	if list, err := k.Runs(k.ctx, 1); err != nil || len(list) != 1 || list[0].ID != "abd-1" || list[0].Workflow != "steps" {
		t.Errorf("got %+v, %v", list, err)
	}
	if _, err := k.Enqueue(k.ctx, New{Commit: flow.Create("abc-1", "", k.now), Definition: Definition{Key: "k"}, Now: k.now}); !errors.Is(err, ErrExists) {
		t.Errorf("the same id again: %v", err)
	}
}
