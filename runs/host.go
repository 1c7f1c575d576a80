package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// Options are what a host is opened with.
type Options struct {
	// Dir is the data directory, made if it isn't there: one of the product's
	// own, since each host parks runs whose workflow it doesn't have. Commands
	// find it by GAMMA_HOME.
	Dir string
	// Workflows can be started here, and their runs go on here.
	Workflows []*workflow.Definition
	// Parallel is how many runs Serve carries out at once; 0: 2.
	Parallel int
	// AgentsElsewhere: a host of package gamma carries out steps for a model.
	AgentsElsewhere bool
	// Trouble is told, by Serve, of a run that can't be carried on for now, and
	// of a database that can't be used for now (run is ""). It may be called
	// from several goroutines, and must not call Close. nil: nobody listens.
	Trouble func(run string, err error)
}

// Host has a data directory open. Open makes it; all calls of another one fail.
// All methods may be called from several goroutines.
type Host struct {
	catalog  *catalog.Catalog
	db       store.Store
	life     *host.Life
	runs     *host.Runs
	agents   bool // steps for a model are carried out elsewhere
	parallel int
	wake     chan struct{} // Serve looks again

	mu     sync.Mutex
	closed bool
	end    context.CancelFunc // of everything that is under way
	ended  context.Context
	busy   sync.WaitGroup // calls that are under way
}

// Open opens a data directory. All that is wrong with the workflows is in one
// error: a nil one, two of one name. ctx is for opening only. Close the host.
func Open(ctx context.Context, o Options) (*Host, error) {
	var own []catalog.Make
	for _, d := range o.Workflows {
		own = append(own, func() (*workflow.Definition, error) { return d, nil })
	}
	have, err := catalog.New(own, false)
	if err != nil {
		return nil, err
	}
	if o.Parallel < 0 || o.Parallel > 64 {
		return nil, fmt.Errorf("option Parallel is %d: want 1 to 64, or 0 for 2", o.Parallel)
	}
	if o.Dir == "" {
		return nil, errors.New("option Dir is empty: give the product's data directory")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	db, life, err := catalog.Open(ctx, dir)
	if err != nil {
		return nil, public("", err)
	}
	h := &Host{catalog: have, db: db, life: life, agents: o.AgentsElsewhere, parallel: o.Parallel, wake: make(chan struct{}, 1)}
	if h.parallel == 0 {
		h.parallel = 2
	}
	h.ended, h.end = context.WithCancel(context.WithoutCancel(ctx))
	conf := host.Config{Store: db, Holder: life.Holder(), Dead: life.Dead, Env: catalog.Env,
		Find: func(d store.Definition) (*workflow.Definition, error) { return have.Stored(d, "program") }}
	if o.Trouble != nil {
		conf.Trouble = func(run string, err error) { o.Trouble(run, public(run, err)) }
	}
	left := &away{runs: map[string]string{}, open: func() ([]store.Info, error) { return db.Select(h.ended, store.Which{Open: true}) }}
	conf.Elsewhere, conf.Steps = left.list, left
	conf.Wake = h.wake
	h.runs = host.NewRuns(conf)
	return h, nil
}

// Close ends Serve and Watch, waits for all calls that are under way, and closes
// the database. Runs that are carried out are parked for any host. It waits for
// Serve, so a Trouble that calls it never returns. When it is called again, it
// has nothing to do; it may then return before the first call has.
func (h *Host) Close() error {
	if h == nil || h.end == nil {
		return errNotOpen
	}
	h.mu.Lock()
	before := h.closed
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.busy.Wait()
	if before {
		return nil
	}
	return errors.Join(h.life.Close(), h.db.Close())
}

// enter begins a call. Its context ends with the host, too. Call leave.
func (h *Host) enter(ctx context.Context) (within context.Context, leave func(), err error) {
	if h == nil || h.end == nil {
		return nil, nil, errNotOpen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, ErrClosed
	}
	h.busy.Add(1)
	within, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.ended, cancel)
	return within, func() { stop(); cancel(); h.busy.Done() }, nil
}

// Place says on what a run works and what it is called. The zero value is a new
// run on the process's current folder.
type Place struct {
	// Key makes starting safe to repeat: the same workflow with the same key is
	// one run, with the input it was given first. "": always a new one.
	Key string
	// Workspace is the folder in which the run's commands run; "": the current
	// one.
	Workspace string
}

// Start stores a run and returns its id. It is carried out by whoever serves the
// directory. The errors: *InputError; ErrUnknown; ErrAgentSteps; ErrSession;
// ErrUnavailable; ErrClosed.
func Start[In any](ctx context.Context, h *Host, flow *workflow.Flow[In], input In, at Place) (id string, err error) {
	if flow == nil {
		return "", errors.New("the workflow is nil: give what Define made")
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return "", fmt.Errorf("input: %w", err)
	}
	return h.start(ctx, flow.Definition(), raw, at)
}

func (h *Host) start(ctx context.Context, d *workflow.Definition, input workflow.JSON, at Place) (string, error) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	source, err := h.source(d)
	if err != nil {
		return "", err
	}
	r := host.Request{Definition: d, Source: source, Input: input, Workspace: at.Workspace, NoSteps: !h.agents}
	if r.Workspace, err = filepath.Abs(at.Workspace); err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	if err := runner.CheckWorkspace(r.Workspace); err != nil {
		return "", err
	}
	if at.Key != "" {
		r.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte("gamma:"+source+"\n"+at.Key)).String()
	}
	id, err := h.runs.Start(ctx, r)
	h.look()
	return id, public(id, err)
}

// source is that of a workflow which the host has.
func (h *Host) source(d *workflow.Definition) (string, error) {
	for _, e := range h.catalog.All() {
		if e.Name != d.Graph.Name {
			continue
		}
		if mine, err := e.Make(); err == nil && host.Describe(mine, e.Source).Key == host.Describe(d, e.Source).Key {
			return e.Source, nil
		}
	}
	return "", fmt.Errorf("workflow %s: %w", d.Graph.Name, ErrUnknown)
}

// Serve carries out the runs of the directory and fires their timers until ctx
// ends or the host is closed; then what is under way is parked, and goes on with
// the next Serve. The error is that of a database that can't be used at all, as
// ErrGone, or ErrClosed. After it nobody here carries a run on: end what waits
// for one, as the example does.
func (h *Host) Serve(ctx context.Context) error {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return public("", h.runs.Work(ctx, h.parallel))
}

// look has Serve look for what is queued, at once.
func (h *Host) look() {
	select {
	case h.wake <- struct{}{}:
	default: // it is about to look
	}
}
