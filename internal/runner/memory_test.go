package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a claim whose store is the process. It checks that each commit
// follows the one before and that the run is the fold of its facts.
type memory struct {
	t       *testing.T
	g       *flow.Graph
	mu      sync.Mutex
	run     *flow.Run
	log     []flow.Stored
	commits []*flow.Commit
	outputs map[int64]workflow.JSON
	signals []runner.Signal
	lost    bool
	renewed int
	before  func(c *flow.Commit) // called before each commit, if set
	changed chan struct{}        // gets a value, if there is room, after each commit
}

func (m *memory) Commit(_ context.Context, before *flow.Run, c *flow.Commit, consumed []string) (time.Time, error) {
	if m.before != nil {
		m.before(c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost || before.Seq != m.run.Seq {
		return time.Time{}, runner.ErrLost
	}
	b, err := json.Marshal(c.Facts)
	if err != nil {
		return time.Time{}, err
	}
	s := flow.Stored{Seq: c.Next.Seq}
	if err := json.Unmarshal(b, &s.Facts); err != nil {
		return time.Time{}, err
	}
	m.run, m.log, m.commits = c.Next, append(m.log, s), append(m.commits, c)
	m.outputs[c.Next.Seq] = c.Output
	for _, id := range consumed {
		m.drop(id)
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
	return time.Now().Add(runner.Lease), nil
}

func (m *memory) drop(id string) {
	for i, s := range m.signals {
		if s.ID == id {
			m.signals = append(m.signals[:i:i], m.signals[i+1:]...)
			return
		}
	}
}

func (m *memory) Renew(context.Context) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost {
		return time.Time{}, runner.ErrLost
	}
	m.renewed++
	return time.Now().Add(runner.Lease), nil
}

func (m *memory) Output(_ context.Context, seq int64) (workflow.JSON, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if out := m.outputs[seq]; out != nil {
		return out, nil
	}
	return nil, fmt.Errorf("commit %d has no output", seq)
}

func (m *memory) Signals(context.Context) ([]runner.Signal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]runner.Signal(nil), m.signals...), nil
}

func (m *memory) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(id)
	return nil
}

func (m *memory) leave(id string, ev flow.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signals = append(m.signals, runner.Signal{ID: id, Event: ev})
}

// newest returns the newest fact of a kind.
func (m *memory) newest(kind string) flow.Fact {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.log) - 1; i >= 0; i-- {
		for j := len(m.log[i].Facts) - 1; j >= 0; j-- {
			if f := m.log[i].Facts[j]; f.Kind == kind {
				return f
			}
		}
	}
	return flow.Fact{}
}

// drive is a run in a folder of its own.
type drive struct {
	*memory
	conf runner.Config
}

type value struct {
	N    int    `json:"n,omitempty"`
	Text string `json:"text,omitempty"`
}

// prepare makes a run of a workflow that begins with entry.
func prepare(t *testing.T, session string, entry workflow.Target, parts ...workflow.Part) *drive {
	t.Helper()
	f, err := workflow.Define("test", workflow.Input[value](), entry, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return prepareFlow(t, session, f.Definition())
}

func prepareFlow(t *testing.T, session string, def *workflow.Definition) *drive {
	t.Helper()
	g := flow.Index(def.Graph)
	m := &memory{t: t, g: g, run: flow.Create("r", session, time.Now().UnixMilli()).Next, outputs: map[int64]workflow.JSON{}, changed: make(chan struct{}, 100)}
	return &drive{m, runner.Config{Graph: g, Program: def.Program, Input: workflow.JSON(`{"n":1}`), Claim: m, Session: session != "",
		Workspace: t.TempDir(), Env: os.Environ()}}
}

// begin carries the run out until ctx ends or nothing is owed.
func (d *drive) begin(ctx context.Context) (*flow.Run, error) {
	d.conf.Run, d.conf.Until = d.run, time.Now().Add(runner.Lease)
	return runner.Drive(ctx, d.conf)
}

// carry carries the run out to its end.
func (d *drive) carry() *flow.Run {
	d.t.Helper()
	r, err := d.begin(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// result is the output of the run.
func (d *drive) result() string {
	return string(d.outputs[d.run.Nodes[d.run.Result].Seq])
}
