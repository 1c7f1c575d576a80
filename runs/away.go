package runs

import (
	"context"
	"sync"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// away stands for the host that carries out agent steps: it knows all kinds and
// carries out none. A run that asked is left to that host as long as it is open
// at the node for which it asked; what follows is anybody's.
type away struct {
	// open lists the runs that haven't ended.
	open func() ([]store.Info, error)

	mu   sync.Mutex
	runs map[string]string // the node, by run
}

// Completions lists what the other host knows.
func (a *away) Completions() []string {
	return []string{workflow.ExpectSubmit, "assistant"}
}

// Look leaves the run to the other host: what its session has of the attempt
// isn't known here.
func (a *away) Look(_ context.Context, s runner.Step) (flow.StepOutcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[s.Run] = s.Node
	return flow.StepOutcome{}, &runner.UnfitError{Why: "the step is for a model: it goes on with a host of the command line that has this workflow"}
}

// Step is never asked for, since Look says nothing.
func (a *away) Step(ctx context.Context, s runner.Step) (flow.StepOutcome, error) {
	return a.Look(ctx, s)
}

// Hold has nothing to hold.
func (a *away) Hold(string) {}

// list lists the runs that are left to the other host, and forgets the rest. If
// the database can't say how they stand, none is forgotten.
func (a *away) list() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.runs) == 0 {
		return nil
	}
	var out []string
	open, err := a.open()
	if err != nil {
		for id := range a.runs {
			out = append(out, id)
		}
		return out
	}
	left := map[string]string{}
	for _, i := range open {
		if node, asked := a.runs[i.ID]; asked && node == i.Node {
			left[i.ID] = node
			out = append(out, i.ID)
		}
	}
	a.runs = left
	return out
}
