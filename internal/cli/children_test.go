package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/workflow"
)

// nursery is a host's process with its child sessions, and a run.
type nursery struct {
	*site
	kids *children
	runs *host.Runs
	run  string
}

func newNursery(t *testing.T) *nursery {
	n := &nursery{site: newSite(t)}
	res := newProcess(n.app)
	var err error
	if n.kids, err = newChildren(res, n.model(), func(string) output { return unseen{} }); err != nil {
		t.Fatal(err)
	}
	if n.runs, err = res.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := res.close(); err != nil {
			t.Error(err)
		}
	})
	n.run = n.begin()
	return n
}

// begin stores a run that has no session.
func (n *nursery) begin() string {
	n.t.Helper()
	f, err := workflow.Define("it", workflow.Input[struct{}](), workflow.Compute("a", func(*workflow.Ctx) (string, error) { return "", nil }))
	if err != nil {
		n.t.Fatal(err)
	}
	id, err := n.runs.Start(n.t.Context(), host.Request{Definition: f.Definition(), Source: "test:it", Input: workflow.JSON("{}"), Workspace: n.cwd})
	if err != nil {
		n.t.Fatal(err)
	}
	return id
}

func (n *nursery) ask() *host.Live {
	n.t.Helper()
	l, err := n.kids.session(n.t.Context(), n.run)
	if err != nil {
		n.t.Fatal(err)
	}
	return l
}

// TestW40_AChildSessionLivesWithItsRun: from the first step that asks for it
// until nobody here carries the run out.
func TestW40_AChildSessionLivesWithItsRun(t *testing.T) {
	t.Run("W40 a second claim in one process keeps it", func(t *testing.T) {
		n := newNursery(t)
		first, second := n.kids.carries(n.run), n.kids.carries(n.run)
		l := n.ask()
		first()
		if n.ask() != l || n.kids.proc.sessions.Get(l.ID) != l {
			t.Error("the second claim has lost the session")
		}
		second()
		if n.kids.proc.sessions.Get(l.ID) != nil {
			t.Error("the session is still there")
		}
	})
	t.Run("W40 a late step doesn't open it again", func(t *testing.T) {
		n := newNursery(t)
		n.kids.carries(n.run)()
		if _, err := n.kids.session(t.Context(), n.run); !errors.Is(err, errNotCarried) {
			t.Errorf("%v", err)
		}
	})
	t.Run("W40 whoever comes next finds it free", func(t *testing.T) {
		n := newNursery(t)
		for range 2 {
			left := n.kids.carries(n.run)
			if n.ask().ID != host.ChildID(n.run) {
				t.Error("it has another id")
			}
			left()
		}
	})
	t.Run("W40 two steps at once open it once", func(t *testing.T) {
		n := newNursery(t)
		left := n.kids.carries(n.run)
		defer left()
		got := make(chan *host.Live, 2)
		for range 2 {
			go func() {
				l, err := n.kids.session(t.Context(), n.run)
				if err != nil {
					t.Error(err)
				}
				got <- l
			}()
		}
		if one, two := <-got, <-got; one != two {
			t.Error("there are two")
		}
	})
	t.Run("W40 one that takes its time keeps no other run waiting", func(t *testing.T) {
		n := newNursery(t)
		goOn := make(chan struct{})
		slow := n.run
		n.kids.out = func(run string) output {
			if run == slow {
				<-goOn
			}
			return unseen{}
		}
		leftSlow := n.kids.carries(slow)
		ctx, stop := context.WithCancelCause(t.Context())
		parked := errors.New("park")
		stop(parked)
		if _, err := n.kids.session(ctx, slow); !errors.Is(err, parked) {
			t.Errorf("%v", err)
		}
		n.run = n.begin()
		left := n.kids.carries(n.run)
		n.ask()
		left()
		close(goOn)
		leftSlow()
		if len(n.kids.proc.sessions.IDs()) != 0 {
			t.Error("a session is still there")
		}
	})
	t.Run("W40 what can't be opened is tried again", func(t *testing.T) {
		n := newNursery(t)
		left := n.kids.carries(n.run)
		defer left()
		good := n.kids.flags
		n.kids.flags.Model = "script:/nothing"
		if _, err := n.kids.session(t.Context(), n.run); err == nil {
			t.Error("it has a model")
		}
		n.kids.flags = good
		n.ask()
	})
}
