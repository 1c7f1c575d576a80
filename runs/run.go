package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// Status is where a run stands.
type Status string

// The statuses. The last four are ends.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting" // for a person, or a time
	Parked    Status = "parked"  // for a host, or the operator
	Completed Status = "completed"
	Failed    Status = "failed"
	TimedOut  Status = "timed_out"
	Cancelled Status = "cancelled"
)

// Ended reports whether nothing follows.
func (s Status) Ended() bool { return flow.Status(s).Ended() }

// Run is how a run stands.
type Run struct {
	ID, Workflow, Workspace string
	Title                   string // as the workflow made it
	Status                  Status
	// Reason, of Waiting: decision, checkpoint, delay, retry, paused; of Parked:
	// host, session, operator; of an ended run a code.
	Reason   string
	Message  string // why it is parked or has ended, for people
	Node     string // that is open; "": none
	Steps    int
	Version  int64     // grows with each change
	Wake     time.Time // when it goes on by itself; zero: not by time
	Created  time.Time
	Updated  time.Time
	Question *Question // nil: it asks nobody
}

// Question is what a run asks of a person.
type Question struct {
	ID       string // goes into the Answer
	Node     string
	Request  json.RawMessage // as the author made it: title, text, subject
	Audience string          // of a decision
	Choices  []Choice        // of a decision; none: any value that fits Schema
	Schema   json.RawMessage // of a checkpoint's answer
	Until    time.Time       // then a default is taken; zero: it waits for ever
}

// Choice is one of the answers to a decision.
type Choice struct {
	Key, Label string
	Prompt     string // asks for a text, which the answer needs; "": it takes none
}

// Answer is an answer to a Question.
type Answer struct {
	Question string          // its id
	Choice   string          // of a decision: the key
	Text     string          // if the choice asks for one
	Value    json.RawMessage // of a checkpoint
	By       string          // who answers, for people; "": api
	// Key makes answering safe to repeat: the same answer with the same key
	// counts as given.
	Key string
}

// Get reads how a run stands. ErrNotFound, ErrUnavailable, ErrClosed.
func (h *Host) Get(ctx context.Context, id string) (Run, error) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return Run{}, err
	}
	defer leave()
	return h.get(ctx, id)
}

func (h *Host) get(ctx context.Context, id string) (Run, error) {
	r, info, err := h.db.Load(ctx, id)
	if err != nil {
		return Run{}, public(id, err)
	}
	out := runOf(info)
	if r.Status != flow.Waiting || r.Open == nil || r.Open.Decision == "" {
		return out, nil
	}
	d, err := h.db.Decision(ctx, r.Open.Decision)
	if err != nil {
		return out, public(id, fmt.Errorf("run %s: decision: %w", id, err))
	}
	stored, err := h.db.Definition(ctx, info.Definition)
	if err != nil {
		return out, public(id, fmt.Errorf("run %s: definition: %w", id, err))
	}
	q := &Question{ID: d.ID, Node: r.Open.Node, Request: json.RawMessage(d.Request), Until: timeOf(r.Open.Until)}
	out.Question = q
	g, _ := host.GraphOf(stored) // one that can't be read here has no nodes
	n := g.Node(r.Open.Node)
	if n == nil {
		return out, nil
	}
	if n.HumanDecision == nil {
		q.Schema = json.RawMessage(n.Expect().Schema)
		return out, nil
	}
	q.Audience = n.HumanDecision.Audience
	for _, c := range n.HumanDecision.Choices {
		q.Choices = append(q.Choices, Choice{c.Key, c.Label, c.Prompt})
	}
	return out, nil
}

func runOf(i store.Info) Run {
	return Run{ID: i.ID, Workflow: i.Workflow, Workspace: i.Workspace, Title: i.Title, Status: Status(i.Status), Reason: i.Reason,
		Message: i.Message, Node: i.Node, Steps: i.Steps, Version: i.Seq, Wake: timeOf(i.Wake), Created: timeOf(i.Created), Updated: timeOf(i.Updated)}
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// List lists up to limit runs, the newest first, without their questions; limit
// 0 is all. ErrUnavailable, ErrClosed.
func (h *Host) List(ctx context.Context, limit int) ([]Run, error) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list, err := h.db.Runs(ctx, limit)
	out := make([]Run, len(list))
	for i, info := range list {
		out[i] = runOf(info)
	}
	return out, public("", err)
}

// pollWatch is how often a run is looked at.
const pollWatch = 100 * time.Millisecond

// Watch yields how a run stands, at once and after each change, until it has
// ended; changes that follow each other fast may come as one. It reads the whole
// run ten times a second, so one Watch for each of many runs costs much: List
// reads them all at once. An error, which is the last that is yielded, is one of
// Get, or why ctx has ended. It doesn't end when Serve does; see the package
// comment.
func (h *Host) Watch(ctx context.Context, id string) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		tick := time.NewTicker(pollWatch)
		defer tick.Stop()
		for seen := int64(-1); ; {
			r, err := h.Get(ctx, id)
			switch {
			case errors.Is(err, errNotOpen):
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case err != nil && h.ended.Err() != nil:
				err = ErrClosed
			}
			if err != nil {
				yield(Run{}, err)
				return
			}
			if r.Version != seen && !yield(r, nil) || r.Status.Ended() {
				return
			}
			seen = r.Version
			select {
			case <-ctx.Done():
			case <-h.ended.Done():
			case <-tick.C:
			}
		}
	}
}

// Answer answers what a run asks. The first answer wins. *RefusedError;
// ErrNotFound, ErrUnavailable, ErrClosed.
func (h *Host) Answer(ctx context.Context, id string, a Answer) error {
	return h.send(ctx, id, flow.Answer{Decision: a.Question, Choice: a.Choice, Text: a.Text, Value: a.Value, By: by(a.By), Key: a.Key})
}

// Pause stops a run before its next step. who is told to people; "": api. The
// errors are those of Answer.
func (h *Host) Pause(ctx context.Context, id, who string) error {
	return h.send(ctx, id, flow.Pause{By: by(who)})
}

// Resume lets a run go on that is paused, or parked for the operator. The errors
// are those of Answer.
func (h *Host) Resume(ctx context.Context, id, who string) error {
	return h.send(ctx, id, flow.Resume{By: by(who)})
}

// Cancel ends a run; a command that runs is ended with it. The errors are those
// of Answer.
func (h *Host) Cancel(ctx context.Context, id, who string) error {
	return h.send(ctx, id, flow.Cancel{By: by(who)})
}

// send brings an event to a run. Whoever holds it takes it.
func (h *Host) send(ctx context.Context, id string, ev flow.Event) error {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	defer h.look()
	return public(id, h.runs.Send(ctx, id, ev))
}

// by names who acts through this package.
func by(who string) string {
	if who == "" {
		return "api"
	}
	return "api:" + who
}

// Output reads the output of a run that has completed. ErrNotEnded; *EndedError;
// an error of encoding/json if it is no T; ErrNotFound, ErrUnavailable,
// ErrClosed.
func Output[T any](ctx context.Context, h *Host, id string) (T, error) {
	var out T
	raw, err := h.output(ctx, id)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("run %s: its output is no %T: %w", id, out, err)
	}
	return out, nil
}

func (h *Host) output(ctx context.Context, id string) (json.RawMessage, error) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	r, _, err := h.db.Load(ctx, id)
	switch {
	case err != nil:
		return nil, public(id, err)
	case !r.Status.Ended():
		return nil, fmt.Errorf("run %s is %s: %w", id, r.Status, ErrNotEnded)
	case r.Status != flow.Completed:
		return nil, &EndedError{id, Status(r.Status), r.Reason, r.Message}
	}
	raw, err := h.db.Output(ctx, id, r.Nodes[r.Result].Seq)
	return json.RawMessage(raw), public(id, err)
}
