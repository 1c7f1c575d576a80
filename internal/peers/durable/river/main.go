// River at the work of the comparison: a step is a job, which completes in the
// transaction that inserts the job of the next step, with its result. Modes:
// "" has River's own intervals, "quick" its shortest ones for fetching, and
// gives up a stuck job after 5 s instead of an hour.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/gamma-harness/gamma/internal/peers/durable/contender"
)

func main() { contender.Main(open) }

// step is the argument of a job.
type step struct {
	Run    string
	N, Of  int
	Result string // of the step before
}

// Kind implements river.JobArgs.
func (step) Kind() string { return "step" }

type engine struct {
	river.WorkerDefaults[step]
	steps  *contender.Steps
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]

	mu   sync.Mutex
	ends map[string]chan struct{}
}

func open(ctx context.Context, o contender.Options, s *contender.Steps) (contender.Engine, error) {
	e := &engine{steps: s, ends: map[string]chan struct{}{}}
	conf, err := pgxpool.ParseConfig(o.State)
	if err != nil {
		return nil, err
	}
	conf.MaxConns = 20
	if e.pool, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(e.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, e)
	c := &river.Config{Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 50}}}
	if o.Mode == "quick" {
		c.FetchCooldown, c.FetchPollInterval = river.FetchCooldownMin, 5*time.Millisecond
		c.JobTimeout, c.RescueStuckJobsAfter = 5*time.Second, 5*time.Second
	}
	if e.client, err = river.NewClient(driver, c); err != nil {
		return nil, err
	}
	return e, e.client.Start(ctx)
}

func (e *engine) end(id string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ends[id] == nil {
		e.ends[id] = make(chan struct{})
	}
	return e.ends[id]
}

// Work implements river.Worker.
func (e *engine) Work(ctx context.Context, job *river.Job[step]) error {
	result, err := e.steps.Do(ctx, job.Args.Run, job.Args.N)
	if err != nil {
		return err
	}
	tx, err := e.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing is left to do if it was committed
	next := step{job.Args.Run, job.Args.N + 1, job.Args.Of, result}
	if job.Args.N < job.Args.Of {
		_, err = e.client.InsertTx(ctx, tx, next, nil)
	} else {
		err = river.RecordOutput(ctx, result)
	}
	if err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if job.Args.N == job.Args.Of {
		close(e.end(job.Args.Run))
	}
	return nil
}

// Start implements contender.Engine.
func (e *engine) Start(ctx context.Context, id string, steps int) error {
	_, err := e.client.Insert(ctx, step{id, 1, steps, ""}, nil)
	return err
}

// Wait implements contender.Engine.
func (e *engine) Wait(ctx context.Context, id string) error {
	select {
	case <-e.end(id):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("run %s: %w", id, ctx.Err())
	}
}

// Close implements contender.Engine.
func (e *engine) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := e.client.Stop(ctx)
	e.pool.Close()
	return err
}
