// DBOS at the work of the comparison: a workflow is a Go function, each of its
// steps a call of RunAsStep. Modes: "full" and "normal" are SQLite with that
// synchronous pragma (normal is what DBOS takes by itself), "" is PostgreSQL.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	// DBOS finds its SQLite driver in a registry that this import fills.
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"

	"github.com/gamma-harness/gamma/internal/peers/durable/contender"
)

func main() { contender.Main(open) }

type engine struct {
	ctx   dbos.Context
	steps *contender.Steps
	db    *sql.DB // of mode full

	mu      sync.Mutex
	handles map[string]dbos.WorkflowHandle[string]
}

func open(ctx context.Context, o contender.Options, s *contender.Steps) (contender.Engine, error) {
	e := &engine{steps: s, handles: map[string]dbos.WorkflowHandle[string]{}}
	conf := dbos.Config{AppName: "durable", DatabaseURL: o.State, Logger: slog.New(slog.DiscardHandler)}
	switch o.Mode {
	case "normal":
		conf.DatabaseURL = "sqlite:" + o.State
	case "full":
		var err error
		e.db, err = sql.Open("sqlite", "file:"+o.State+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		if err != nil {
			return nil, err
		}
		e.db.SetMaxOpenConns(8) // as DBOS sets it for its own
		e.db.SetMaxIdleConns(4)
		conf.DatabaseURL, conf.SQLiteSystemDB = "", e.db
	}
	var err error
	if e.ctx, err = dbos.NewContext(ctx, conf); err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(e.ctx, e.chain)
	return e, dbos.Launch(e.ctx)
}

// work is the input of a workflow.
type work struct {
	Run   string
	Steps int
}

func (e *engine) chain(ctx dbos.Context, w work) (last string, err error) {
	for i := range w.Steps {
		last, err = dbos.RunAsStep(ctx, func(ctx context.Context) (string, error) { return e.steps.Do(ctx, w.Run, i+1) })
		if err != nil {
			return "", err
		}
	}
	return last, nil
}

// Start implements contender.Engine.
func (e *engine) Start(_ context.Context, id string, steps int) error {
	h, err := dbos.RunWorkflow(e.ctx, e.chain, work{id, steps}, dbos.WithWorkflowID(id))
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handles[id] = h
	return nil
}

// Wait implements contender.Engine.
func (e *engine) Wait(_ context.Context, id string) error {
	e.mu.Lock()
	h := e.handles[id]
	delete(e.handles, id)
	e.mu.Unlock()
	if h == nil { // Launch has begun it again
		var err error
		if h, err = dbos.RetrieveWorkflow[string](e.ctx, id); err != nil {
			return err
		}
	}
	last, err := h.GetResult(dbos.WithHandleTimeout(2 * time.Minute))
	if err == nil && len(last) != contender.ResultBytes {
		err = fmt.Errorf("run %s: the result has %d bytes", id, len(last))
	}
	return err
}

// Close implements contender.Engine.
func (e *engine) Close() error {
	err := dbos.Shutdown(e.ctx, 10*time.Second)
	if e.db != nil {
		return e.db.Close()
	}
	return err
}
