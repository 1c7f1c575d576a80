package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// Config is what a host needs.
type Config struct {
	Store  store.Store
	Holder string // names this process
	// Find returns the definition that a run began with, by its key; an error
	// says what to do about a missing one.
	Find func(d store.Definition) (*workflow.Definition, error)
	// Live lists the sessions that are live here; nil: none.
	Live  func() []string
	Steps runner.StepExecutor // nil: agent steps aren't carried out here
	// Elsewhere lists the runs whose session another process has, as its
	// executor found (runner.InUseError), as long as that is so: they aren't
	// claimed. nil: that is never known.
	Elsewhere func() []string
	// Dormant lists sessions that don't live here, but that Carries brings here
	// when a run is claimed that waits for one; nil: there are none.
	Dormant func() []string
	// Wanted lists the runs that somebody here is about to carry on, or does:
	// those of one session begin in the order in which they were made. nil: that
	// isn't known.
	Wanted func() []string
	Env    func(workspace string) []string
	// Dead reports whether a holder's process is known to be dead; nil: that is
	// never known.
	Dead func(holder string) bool
	// Trouble is told of a run that couldn't be carried on, so that one such
	// run doesn't keep Work from the others, and once of a store that can't be
	// used for now ("": it isn't about one run); nil: nobody listens.
	Trouble func(run string, err error)
	// Carries is told of a run that this host is about to carry out under a
	// claim. left is called when it doesn't any more, while it still has the
	// claim unless that was lost: whoever claims the run next finds what was held
	// for it free. One run may be carried out twice for a while, when a claim was
	// lost to this host itself. Nil: nobody listens.
	Carries func(run string) (left func())
	// Outbox delivers what runs tell the sessions of this process; nil: that is
	// left to others.
	Outbox *Outbox
	// Wake ends Work's wait for the next look at what is queued; nil: nobody does.
	Wake <-chan struct{}
	// Observe is told of each commit that this host makes while it holds a
	// claim; nil: nobody listens.
	Observe func(run string, before *flow.Run, c *flow.Commit)
}

// Runs carries out workflow runs.
type Runs struct{ Config }

// NewRuns makes a host.
func NewRuns(c Config) *Runs { return &Runs{c} }

// Identity is the identity of a definition's code.
type Identity struct {
	Source   string `json:"source"` // builtin:NAME, example:NAME, …
	Revision string `json:"revision"`
}

// Describe makes what is stored of a definition.
func Describe(d *workflow.Definition, source string) store.Definition {
	revision := d.Revision
	if revision == "" {
		revision = "1"
	}
	identity, err := json.Marshal(Identity{source, revision})
	if err != nil {
		panic(err) // two strings
	}
	out := store.Definition{Name: d.Graph.Name, Snapshot: d.Graph.Snapshot(), Identity: string(identity)}
	sum := sha256.Sum256([]byte(string(out.Snapshot) + "\n" + out.Identity))
	out.Key = hex.EncodeToString(sum[:])
	return out
}

// Request is a run to be started.
type Request struct {
	ID         string // "": a new UUIDv7
	Definition *workflow.Definition
	Source     string
	Input      workflow.JSON
	Session    string // of origin; "": none
	Workspace  string
	NoSteps    bool // a workflow with a step for a model is refused, as by a host without Steps
}

// Check says why a run can't be started, nil if it can. What is wrong with its
// input is found here as far as its schema tells.
func (r Request) Check() error {
	if need := r.Definition.Graph.NeedsSession(); len(need) > 0 && r.Session == "" {
		why := ErrNoSession
		if r.Definition.Graph.Node(need[0]).NodeType == workflow.TypeNotify {
			why = ErrNoOrigin
		}
		return &NodeError{r.Definition.Graph.Name, need[0], why}
	}
	if !utf8.Valid(r.Input) || len(r.Input) > maxInput {
		return &InputError{r.Definition.Graph.Name, []string{fmt.Sprintf("it has %d bytes; at most %d bytes of UTF-8 are allowed", len(r.Input), maxInput)}}
	}
	broken, err := workflow.Violations(r.Definition.Graph.Input, r.Input)
	if err != nil {
		return fmt.Errorf("workflow %s: input: %w", r.Definition.Graph.Name, err)
	}
	if len(broken) > 0 {
		return &InputError{r.Definition.Graph.Name, broken}
	}
	if err := workflow.Decodes(r.Definition.Program, "", r.Input); err != nil {
		return &InputError{r.Definition.Graph.Name, []string{err.Error()}}
	}
	return nil
}

// maxInput is how many bytes an input may have.
const maxInput = 16 << 20

// InputError is an input that breaks its schema.
type InputError struct {
	Workflow string
	Broken   []string
}

func (e *InputError) Error() string {
	text := "workflow " + e.Workflow + ": the input doesn't fit"
	for _, b := range e.Broken {
		text += "\n- " + b
	}
	return text
}

// What a node needs that a run wouldn't have.
var (
	// ErrNoSession: of an assistant step, a session of origin.
	ErrNoSession = errors.New(flow.NoSession)
	// ErrNoOrigin: of a notification, the same.
	ErrNoOrigin = errors.New("a notification requires an origin session")
	// ErrNoSteps: of a step for a model, a host that carries such steps out.
	ErrNoSteps = errors.New("it is a step for a model, and this process carries out none")
)

// NodeError says which node of a workflow keeps it from being started.
type NodeError struct {
	Workflow, Node string
	Err            error
}

func (e *NodeError) Error() string {
	return "workflow " + e.Workflow + ": node " + e.Node + ": " + e.Err.Error()
}

func (e *NodeError) Unwrap() error { return e.Err }

// noSteps says that the workflow has a step for a model, nil if it has none.
func (r Request) noSteps() error {
	for i := range r.Definition.Graph.Nodes {
		if n := &r.Definition.Graph.Nodes[i]; n.NodeType == workflow.TypeAgent {
			return &NodeError{r.Definition.Graph.Name, n.ID, ErrNoSteps}
		}
	}
	return nil
}

// Start stores a run, queued for any host. The same id twice is one run.
func (h *Runs) Start(ctx context.Context, r Request) (string, error) {
	if err := r.Check(); err != nil {
		return "", err
	}
	if h.Steps == nil || r.NoSteps {
		if err := r.noSteps(); err != nil {
			return "", err
		}
	}
	if r.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return "", fmt.Errorf("id of the run: %w", err)
		}
		r.ID = id.String()
	}
	now := time.Now().UnixMilli()
	_, err := h.Store.Enqueue(ctx, store.New{Commit: flow.Create(r.ID, r.Session, now), Definition: Describe(r.Definition, r.Source),
		Workspace: r.Workspace, Input: r.Input, Now: now})
	if errors.Is(err, store.ErrExists) {
		return r.ID, nil
	}
	if err != nil {
		return "", fmt.Errorf("start of workflow %s: %w", r.Definition.Graph.Name, err)
	}
	return r.ID, nil
}

// patient calls the store until it can be used, or ctx ends.
func (h *Runs) patient(ctx context.Context, run string, call func() error) error {
	for n := 0; ; n++ {
		err := call()
		if !errors.Is(err, store.ErrTryLater) || ctx.Err() != nil {
			return err
		}
		if n == 0 && h.Trouble != nil {
			h.Trouble(run, err)
		}
		t := time.NewTimer(runner.Wait(n))
		select {
		case <-ctx.Done():
			t.Stop()
			return err
		case <-t.C:
		}
	}
}

// by lists who this host may claim for.
func (h *Runs) by() []string {
	out := []string{"*"}
	if h.Live != nil {
		out = append(out, h.Live()...)
	}
	return out
}

func (h *Runs) hunt(run string) store.Hunt {
	now := time.Now()
	var not []string
	if h.Elsewhere != nil {
		not = h.Elsewhere()
	}
	by := h.by()
	if h.Dormant != nil {
		by = append(by, h.Dormant()...)
	}
	var wanted []string
	if h.Wanted != nil {
		wanted = h.Wanted()
	}
	return store.Hunt{Run: run, By: by, Not: not, Wanted: wanted, Holder: h.Holder, Now: now.UnixMilli(), LeaseUntil: now.Add(crashpoint.Quick(runner.Lease)).UnixMilli()}
}

// carry carries out a run that was claimed, and returns how it stands then. A
// broken invariant of the engine ends the run's turn here, not the process.
// waits, if it is set, is called when a step of it waits for the user.
func (h *Runs) carry(ctx context.Context, c store.Claimed, waits func()) (run *flow.Run, err error) {
	left := func() {}
	if h.Carries != nil {
		left = sync.OnceFunc(h.Carries(c.Run))
	}
	defer h.steps().Coming(c.Run)()
	defer left()
	defer func() {
		if r := recover(); r != nil {
			run, err = nil, fmt.Errorf("run %s: panic: %v", c.Run, r)
		}
	}()
	if run, err = h.carryOn(ctx, c, left, waits); errors.Is(err, runner.ErrLost) {
		h.over(ctx, c.Run)
	}
	return run, err
}

func (h *Runs) carryOn(ctx context.Context, c store.Claimed, left, waits func()) (*flow.Run, error) {
	cl := &claim{host: h, run: c.Run, token: c.Token, kept: true, left: left, waits: waits}
	out, err := h.claimed(ctx, c, cl)
	if cl.kept && (err == nil || errors.Is(err, runner.ErrLost)) { // a lost one stays lost
		left()
		released := h.patient(ctx, c.Run, func() error {
			return h.Store.Release(context.WithoutCancel(ctx), c.Run, c.Token, time.Now().UnixMilli())
		})
		if err == nil {
			err = released
		}
	}
	return out, err
}

// claimed carries out a run under its claim.
func (h *Runs) claimed(ctx context.Context, c store.Claimed, cl *claim) (*flow.Run, error) {
	var run *flow.Run
	var info store.Info
	var stored store.Definition
	var given workflow.JSON
	err := h.patient(ctx, c.Run, func() (err error) {
		if run, info, err = h.Store.Load(ctx, c.Run); err != nil {
			return err
		}
		if stored, err = h.Store.Definition(ctx, info.Definition); err != nil {
			return fmt.Errorf("definition %s: %w", info.Definition, err)
		}
		given, err = h.Store.Given(ctx, c.Run)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	var why error
	var def *workflow.Definition
	if cl.graph, why = GraphOf(stored); why == nil {
		def, why = h.Find(stored)
	}
	if why == nil {
		why = runner.CheckWorkspace(info.Workspace)
	}
	if why != nil {
		return cl.park(ctx, run, c.LeaseWas, why.Error())
	}
	conf := runner.Config{Graph: cl.graph, Program: def.Program, Run: run, Input: given, Claim: cl, Until: time.Now().Add(crashpoint.Quick(runner.Lease)),
		Claimed: flow.Claim{LeaseWas: c.LeaseWas, Lost: c.Lost}, Session: h.live(run.Session), Workspace: info.Workspace, Steps: h.Steps}
	if h.Env != nil {
		conf.Env = h.Env(info.Workspace)
	}
	cl.told(run)
	conf.Observe = func(before *flow.Run, commit *flow.Commit) {
		cl.told(commit.Next)
		if h.Observe != nil {
			h.Observe(c.Run, before, commit)
		}
	}
	if h.Trouble != nil {
		conf.Trouble = func(err error) { h.Trouble(c.Run, err) }
	}
	return runner.Drive(ctx, conf)
}

func (h *Runs) live(session string) bool {
	for _, s := range h.by()[1:] {
		if s == session {
			return true
		}
	}
	return false
}

// Work claims and carries out runs until its context ends, at most parallel at
// once, and fires timers. One whose step waits for the user isn't counted from
// then on: people may take days. Runs that are carried out then are parked. A run that
// can't be carried on keeps its claim, so that it is tried again only when the
// lease has run out. A store that can't be used for now is waited for. The error
// is that of one that can't be used at all.
func (h *Runs) Work(ctx context.Context, parallel int) error {
	slots := make(chan struct{}, parallel)
	var carried sync.WaitGroup
	defer carried.Wait()
	tick := time.NewTicker(pollRuns)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case slots <- struct{}{}:
		}
		var c *store.Claimed
		err := h.patient(ctx, "", func() (err error) {
			c, err = h.next(ctx)
			return err
		})
		if err != nil || c == nil {
			<-slots
			if err != nil && ctx.Err() == nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			case <-h.Wake:
			}
			continue
		}
		free := sync.OnceFunc(func() { <-slots })
		carried.Go(func() {
			defer free()
			if _, err := h.carry(ctx, *c, free); err != nil && !errors.Is(err, runner.ErrLost) && h.Trouble != nil {
				h.Trouble(c.Run, err)
			}
		})
	}
}

// pollRuns is how often a host without work looks for some.
const pollRuns = time.Second

// next claims a run, after whatever time has come for was done.
func (h *Runs) next(ctx context.Context) (*store.Claimed, error) {
	if err := h.fireDue(ctx); err != nil {
		return nil, err
	}
	if err := h.bury(ctx); err != nil {
		return nil, err
	}
	c, err := h.Store.Claim(ctx, h.hunt(""))
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return c, nil
}

// fireDue fires the timers whose time has come.
func (h *Runs) fireDue(ctx context.Context) error {
	due, err := h.Store.Due(ctx, time.Now().UnixMilli(), 100)
	if err != nil {
		return fmt.Errorf("timers: %w", err)
	}
	for _, id := range due {
		err := h.visit(ctx, id, flow.Fire{}, nil)
		var refused *flow.Refusal
		if err != nil && !errors.As(err, &refused) && !errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrSlot) {
			return fmt.Errorf("timer of run %s: %w", id, err)
		}
	}
	return nil
}

// bury ends the claims of holders whose processes are dead.
func (h *Runs) bury(ctx context.Context) error {
	if h.Dead == nil {
		return nil
	}
	now := time.Now().UnixMilli()
	holders, err := h.Store.Holders(ctx, now)
	if err != nil {
		return fmt.Errorf("holders: %w", err)
	}
	for _, holder := range holders {
		if holder == h.Holder || !h.Dead(holder) {
			continue
		}
		if _, err := h.Store.Expire(ctx, holder, now); err != nil {
			return fmt.Errorf("claims of %s: %w", holder, err)
		}
	}
	return nil
}
