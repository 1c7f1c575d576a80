package workflow

import (
	"encoding/json"
	"fmt"
	"time"
)

// spec is a node in the making.
type spec struct {
	node     Node
	calls    map[string]callback // by field
	schema   JSON                // of the output, nil if it isn't known
	decode   func(JSON) error    // into the type of the output, nil if it isn't known
	choices  []string            // of decisions: every one needs a lane
	include  *included
	problems []Problem
	home     *home // the definition that took the node
}

// call sets what answers a callback. set is false for a function that is nil.
func (s *spec) call(field string, set bool, c callback) {
	if !set {
		s.problem(field, "%s", nilFunction)
		return
	}
	s.calls[field] = c
}

const nilFunction = "the function is nil"

// home is what the nodes of one definition have in common.
type home struct{ name string }

func (s *spec) problem(field, format string, args ...any) {
	s.problems = append(s.problems, Problem{s.node.ID, field, fmt.Sprintf(format, args...)})
}

// Target is a node as an end of an edge.
type Target interface{ target() *spec }

// Output is a node whose output is a T.
type Output[T any] interface {
	Target
	outputs() T
}

// NodeOf is a node whose output is an Out, and the handle that reads it.
type NodeOf[Out any] struct{ s *spec }

func (n *NodeOf[Out]) target() *spec {
	if n == nil {
		return nil
	}
	return n.s
}

func (n *NodeOf[Out]) outputs() (out Out) { return out }

// Of returns the node's newest output. A node that reads before there is one
// fails, with both ids in its error.
func (n *NodeOf[Out]) Of(c *Ctx) Out { return read[Out](c, n.s.node.ID) }

// Last returns the node's newest output, and whether there is one.
func (n *NodeOf[Out]) Last(c *Ctx) (Out, bool) { return last[Out](c, n.s.node.ID) }

// Failure says how the node's newest attempt ended ("failed", "timed_out",
// "cancelled") and why. Both are "" if it ended well or there was none.
func (n *NodeOf[Out]) Failure(c *Ctx) (outcome, reason string) {
	outcome, reason = c.view.Outcome(n.s.node.ID)
	if outcome == "ok" {
		return "", ""
	}
	return outcome, reason
}

// NodeOption sets something that any node may have.
type NodeOption interface{ apply(*spec) }

type option func(*spec)

func (o option) apply(s *spec) { o(s) }

// Timeout ends an attempt as timed out after d. Without it the limit is 15
// minutes. Only time in which somebody worked on the run counts.
func Timeout(d time.Duration) NodeOption {
	return option(func(s *spec) {
		if d < time.Millisecond {
			s.problem("timeout", "%s is not a time that an attempt can take; NoTimeout lifts the limit", d)
		}
		s.node.TimeoutMs = d.Milliseconds()
	})
}

// NoTimeout lifts the limit of time.
func NoTimeout() NodeOption { return option(func(s *spec) { s.node.TimeoutMs = -1 }) }

// TimeoutOf computes the limit before the attempt; zero or less means none.
func TimeoutOf(f func(*Ctx) time.Duration) NodeOption {
	return option(func(s *spec) {
		s.call("timeout", f != nil, value(func(c *Ctx) int64 { return max(f(c).Milliseconds(), -1) }))
	})
}

// Backoff tries a failed attempt again: at most attempts in all, waiting first
// before the second and twice as long each time after. The waits are durable
// timers.
func Backoff(attempts int, first time.Duration) NodeOption {
	return option(func(s *spec) {
		if attempts < 2 || attempts > 100 {
			s.problem("retry", "%d attempts; want 2 to 100 in all", attempts)
		}
		if first < 0 || first > 30*24*time.Hour {
			s.problem("retry", "a first wait of %s; want 0 to 720h", first)
		}
		s.node.Retry = &Retry{attempts, first.Milliseconds()}
	})
}

// Once says that an action must not run twice: when a crash leaves its outcome
// unknown, it fails as "outcome_unknown" instead of being run again.
func Once() NodeOption { return option(func(s *spec) { s.node.Replay = "once" }) }

// StatusDetail is a line for people about what the node does.
func StatusDetail(text string) NodeOption {
	return option(func(s *spec) { s.node.StatusDetail = text })
}

func newSpec(id, nodeType string, opts []NodeOption) *spec {
	s := &spec{node: Node{ID: id, NodeType: nodeType}, calls: map[string]callback{}}
	for i, o := range opts {
		if o == nil {
			s.problem("options", "option %d is nil", i+1)
			continue
		}
		o.apply(s)
	}
	return s
}

// newNode makes a node with an output schema of its type.
func newNode[Out any](id, nodeType string, opts []NodeOption) *NodeOf[Out] {
	s := newSpec(id, nodeType, opts)
	s.schema = schemaOf[Out](s, "output")
	s.decode = keeps[Out]
	return &NodeOf[Out]{s}
}

// Compute is a Go function without effects: it may run again.
func Compute[Out any](id string, run func(*Ctx) (Out, error), opts ...NodeOption) *NodeOf[Out] {
	n := newNode[Out](id, TypeCompute, opts)
	n.s.call("run", run != nil, result(run))
	return n
}

// Action is a Go function with effects. An attempt runs once; one that a crash
// cut off is recorded as interrupted and a new attempt begins, unless Once.
func Action[Out any](id string, run func(*Ctx) (Out, error), opts ...NodeOption) *NodeOf[Out] {
	n := newNode[Out](id, TypeAction, opts)
	n.s.call("run", run != nil, result(run))
	return n
}

func result[Out any](run func(*Ctx) (Out, error)) callback {
	return func(c *Ctx, _ JSON) (JSON, error) {
		out, err := run(c)
		if err != nil {
			return nil, err
		}
		return stored(out)
	}
}

// Receipt is the output of Notify.
type Receipt struct {
	NotificationID string `json:"notificationId"`
	Session        string `json:"session"`
}

// Notify tells the session from which the run came, once. It starts no turn
// there.
func Notify(id string, message func(*Ctx) string, opts ...NodeOption) *NodeOf[Receipt] {
	n := newNode[Receipt](id, TypeNotify, opts)
	n.s.call("message", message != nil, value(message))
	return n
}

// Command is what Shell runs. Nothing is passed through a shell unless Command
// is one.
type Command struct {
	Command      string            `json:"command"`
	Args         []string          `json:"args,omitempty"`
	Dir          string            `json:"cwd,omitempty"` // below the workspace, or absolute; "" is the workspace
	Env          map[string]string `json:"env,omitempty"` // over the process's own
	Stdin        string            `json:"stdin,omitempty"`
	AllowNonZero bool              `json:"allowNonZeroExit,omitempty"` // another exit code than 0 is a result, not a failure
	TimeoutMs    int64             `json:"timeoutMs,omitempty"`        // below the node's own
	MaxChars     int               `json:"maxOutputChars,omitempty"`   // kept of each stream; 0 and above 1,000,000: 1,000,000
}

// ShellResult is how a command ended. It is stored with the attempt also when
// that failed.
type ShellResult struct {
	Command    string   `json:"command"`
	Args       []string `json:"args,omitempty"`
	ExitCode   int      `json:"exitCode"`         // 128+n when signal n ended it
	Signal     string   `json:"signal,omitempty"` // SIGTERM, …
	TimedOut   bool     `json:"timedOut,omitempty"`
	Stdout     string   `json:"stdout"`
	Stderr     string   `json:"stderr"`
	Truncated  bool     `json:"truncated,omitempty"` // a stream was longer than what is kept
	DurationMs int64    `json:"durationMs"`
}

// Shell runs one command in the workspace, in a process group of its own that
// is ended with the attempt. Without AllowNonZero another exit code than 0
// fails it. parse makes the output.
func Shell[Out any](id string, command func(*Ctx) Command, parse func(*Ctx, ShellResult) (Out, error), opts ...NodeOption) *NodeOf[Out] {
	n := newNode[Out](id, TypeAction, opts)
	n.s.node.Shell = true
	n.s.call("exec", command != nil, value(command))
	n.s.call("parse", parse != nil, func(c *Ctx, arg JSON) (JSON, error) {
		var r ShellResult
		if err := json.Unmarshal(arg, &r); err != nil {
			return nil, fmt.Errorf("result of the command: %w", err)
		}
		out, err := parse(c, r)
		if err != nil {
			return nil, err
		}
		return stored(out)
	})
	return n
}

// Lines makes updates of what a command prints: f gets each line of standard
// output and says whether it is one. The command waits when many updates wait to
// be stored. They end with the command's time: what wasn't stored then is left
// out.
func Lines(f func(c *Ctx, line string) (Update, bool)) NodeOption {
	return option(func(s *spec) {
		s.call("updates", f != nil, func(c *Ctx, arg JSON) (JSON, error) {
			var line string
			if err := json.Unmarshal(arg, &line); err != nil {
				return nil, err
			}
			u, ok := f(c, line)
			if !ok {
				return JSON("null"), nil
			}
			return encode(u)
		})
	})
}

// Batch is what CommandBatch runs: at most 64 items with 4 MiB of JSON, up to 8
// at once. Of each stream its share of 20 MiB of JSON is kept, 160 KiB of 64
// items, unless MaxChars is less.
type Batch struct {
	Items          []BatchItem `json:"items"`
	MaxConcurrency int         `json:"maxConcurrency,omitempty"` // 1 to 8; 0 is 1
}

// BatchItem is one command of a batch. Its failure is a result, not the node's
// failure.
type BatchItem struct {
	ID        string   `json:"id"` // [A-Za-z0-9][A-Za-z0-9._:-]{0,63}, once in the batch
	Command   string   `json:"command"`
	Args      []string `json:"args,omitempty"`
	Dir       string   `json:"cwd,omitempty"`
	TimeoutMs int64    `json:"timeoutMs"` // 1 to 3,600,000
	MaxChars  int      `json:"maxOutputChars,omitempty"`
}

// BatchResult has the results in the order of the items.
type BatchResult struct {
	Items []BatchItemResult `json:"items"`
}

// BatchItemResult is how one command ended.
type BatchItemResult struct {
	ID      string       `json:"id"`
	Outcome string       `json:"outcome"`         // succeeded | failed | timedOut | cancelled
	Error   string       `json:"error,omitempty"` // at most 2,000 characters
	Result  *ShellResult `json:"result,omitempty"`
}

// CommandBatch runs commands beside each other.
func CommandBatch(id string, batch func(*Ctx) Batch, opts ...NodeOption) *NodeOf[BatchResult] {
	n := newNode[BatchResult](id, TypeAction, opts)
	n.s.node.Batch = true
	n.s.call("exec", batch != nil, value(batch))
	return n
}

// Waited is the output of Delay.
type Waited struct {
	Millis int64 `json:"millis"`
}

// Delay waits as long as f says. The timer is a row: no process is needed while
// it runs, and any can go on when it has passed.
func Delay(id string, f func(*Ctx) time.Duration, opts ...NodeOption) *NodeOf[Waited] {
	n := newNode[Waited](id, TypeAction, opts)
	n.s.node.Delay = true
	n.s.call("delay", f != nil, value(func(c *Ctx) int64 { return max(f(c).Milliseconds(), 0) }))
	return n
}

// Checkpoint waits until somebody answers with a value of the type Out, which
// is its output. summary says what is asked.
func Checkpoint[Out any](id string, summary func(*Ctx) string, opts ...NodeOption) *NodeOf[Out] {
	n := newNode[Out](id, TypeCheckpoint, opts)
	n.s.node.ExpectedOutput = marshal(Expected{Kind: ExpectAnswer, Schema: n.s.schema})
	n.s.call("summary", summary != nil, value(summary))
	return n
}
