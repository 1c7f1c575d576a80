// Temporal at the work of the comparison: a workflow is a Go function, each of
// its steps an activity. The modes "server" and "server-quick" run a whole
// server on one SQLite file (WAL, every commit synced, one shard), quick
// without the limits on how often its queues are read; other modes are a
// worker. -state of a server is its folder, where it writes its address, and of
// a worker that address.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/gamma-harness/gamma/internal/peers/durable/contender"
)

const (
	namespace = "durable"
	taskQueue = "steps"
	// beatPatience is how long the server waits for a sign of an activity.
	beatPatience = 2 * time.Second
)

func main() {
	contender.Main(func(ctx context.Context, o contender.Options, s *contender.Steps) (contender.Engine, error) {
		switch o.Mode {
		case "server", "server-quick":
			return serve(o.State, o.Mode == "server-quick")
		}
		return work(o.State, s)
	})
}

type engine struct {
	steps  *contender.Steps
	client client.Client
	worker worker.Worker

	mu   sync.Mutex
	runs map[string]client.WorkflowRun
}

func work(address string, s *contender.Steps) (contender.Engine, error) {
	e := &engine{steps: s, runs: map[string]client.WorkflowRun{}}
	var err error
	e.client, err = client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return nil, err
	}
	s.Beat = func(ctx context.Context) { activity.RecordHeartbeat(ctx) }
	e.worker = worker.New(e.client, taskQueue, worker.Options{})
	e.worker.RegisterWorkflow(e.chain)
	e.worker.RegisterActivity(s.Do)
	return e, e.worker.Start()
}

func (e *engine) chain(ctx workflow.Context, run string, steps int) (last string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: beatPatience})
	for i := range steps {
		if err := workflow.ExecuteActivity(ctx, e.steps.Do, run, i+1).Get(ctx, &last); err != nil {
			return "", err
		}
	}
	return last, nil
}

// Start implements contender.Engine.
func (e *engine) Start(ctx context.Context, id string, steps int) error {
	r, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: taskQueue}, e.chain, id, steps)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[id] = r
	return nil
}

// Wait implements contender.Engine.
func (e *engine) Wait(ctx context.Context, id string) error {
	e.mu.Lock()
	r := e.runs[id]
	delete(e.runs, id)
	e.mu.Unlock()
	if r == nil {
		r = e.client.GetWorkflow(ctx, id, "")
	}
	var last string
	if err := r.Get(ctx, &last); err != nil {
		return err
	}
	if len(last) != contender.ResultBytes {
		return fmt.Errorf("run %s: the result has %d bytes", id, len(last))
	}
	return nil
}

// Close implements contender.Engine.
func (e *engine) Close() error {
	e.worker.Stop()
	e.client.Close()
	return nil
}
