// Gamma's workflows at the work of the comparison: the database, the host and
// the runner that gamma run uses, on one node a step.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/peers/durable/contender"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

func main() { contender.Main(open) }

type engine struct {
	steps *contender.Steps
	dir   string
	db    *store.SQLite
	life  *host.Life
	runs  *host.Runs

	mu   sync.Mutex
	defs map[string]*workflow.Definition // by key
	ends map[string]chan error           // by run, of those that began here
}

func open(ctx context.Context, o contender.Options, s *contender.Steps) (contender.Engine, error) {
	e := &engine{steps: s, dir: o.State, defs: map[string]*workflow.Definition{}, ends: map[string]chan error{}}
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return nil, err
	}
	var err error
	if e.db, err = store.OpenSQLite(ctx, filepath.Join(o.State, "gamma.db")); err != nil {
		return nil, err
	}
	if e.life, err = host.Begin(filepath.Join(o.State, "holders")); err != nil {
		return nil, err
	}
	e.runs = host.NewRuns(host.Config{Store: e.db, Holder: e.life.Holder(), Dead: e.life.Dead, Find: e.find})
	_, err = e.definition(3) // what a killed process may have left
	return e, err
}

func (e *engine) find(d store.Definition) (*workflow.Definition, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if def := e.defs[d.Key]; def != nil {
		return def, nil
	}
	return nil, fmt.Errorf("workflow %s isn't known here", d.Name)
}

// input carries the id of the run to its steps.
type input struct {
	Run string `json:"run"`
}

// definition is a chain of nodes.
func (e *engine) definition(steps int) (*workflow.Definition, error) {
	in := workflow.Input[input]()
	parts := []workflow.Part{workflow.MaxSteps(steps)}
	nodes := make([]*workflow.NodeOf[string], steps)
	for i := range nodes {
		nodes[i] = workflow.Compute(fmt.Sprintf("s%d", i+1), func(c *workflow.Ctx) (string, error) {
			return e.steps.Do(c.Context(), in.Of(c).Run, i+1)
		})
		if i > 0 {
			parts = append(parts, workflow.Then(nodes[i-1], nodes[i]))
		}
	}
	flow, err := workflow.Define(fmt.Sprintf("chain-%d", steps), in, nodes[0], parts...)
	if err != nil {
		return nil, err
	}
	def := flow.Definition()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.defs[host.Describe(def, source).Key] = def
	return def, nil
}

const source = "peers:durable"

// Start implements contender.Engine as gamma run does it: the run is stored,
// and this process carries it out.
func (e *engine) Start(ctx context.Context, id string, steps int) error {
	def, err := e.definition(steps)
	if err != nil {
		return err
	}
	id, err = e.runs.Start(ctx, host.Request{ID: id, Definition: def, Source: source, Workspace: e.dir, Input: workflow.JSON(fmt.Sprintf(`{"run":%q}`, id))})
	if err != nil {
		return err
	}
	end := make(chan error, 1)
	e.mu.Lock()
	e.ends[id] = end
	e.mu.Unlock()
	go func() { end <- e.drive(context.WithoutCancel(ctx), id) }()
	return nil
}

func (e *engine) drive(ctx context.Context, id string) error {
	run, err := e.runs.Drive(ctx, id, nil)
	if err == nil && run.Status != flow.Completed {
		err = fmt.Errorf("run %s is %s: %s", id, run.Status, run.Message)
	}
	return err
}

// Wait implements contender.Engine.
func (e *engine) Wait(ctx context.Context, id string) error {
	e.mu.Lock()
	end, here := e.ends[id]
	delete(e.ends, id)
	e.mu.Unlock()
	if !here { // as gamma run --resume
		return e.drive(ctx, id)
	}
	select {
	case err := <-end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements contender.Engine.
func (e *engine) Close() error { return errors.Join(e.db.Close(), e.life.Close()) }
