package flow

import (
	"fmt"

	"github.com/gamma-harness/gamma/workflow"
)

// Fact is one thing that happened in a run; the package comment says which
// fields each kind has. The JSON is what is stored. Fields may be added; kinds
// that a build doesn't know stop the fold, since it can't know what they mean.
type Fact struct {
	Kind     string        `json:"kind"`
	Node     string        `json:"node,omitempty"`
	Attempt  string        `json:"attempt,omitempty"`
	At       int64         `json:"at,omitempty"` // a deadline, or the end of a wait
	Now      int64         `json:"now,omitempty"`
	Again    bool          `json:"again,omitempty"`
	Outcome  Outcome       `json:"outcome,omitempty"`
	Status   Status        `json:"status,omitempty"`
	Code     string        `json:"code,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Message  string        `json:"message,omitempty"`
	Title    string        `json:"title,omitempty"`
	Session  string        `json:"session,omitempty"`
	Decision string        `json:"decision,omitempty"`
	Digest   string        `json:"digest,omitempty"`
	Default  string        `json:"default,omitempty"`
	Choice   string        `json:"choice,omitempty"`
	By       string        `json:"by,omitempty"`
	Key      string        `json:"key,omitempty"`
	Input    bool          `json:"input,omitempty"`
	MaxChars int           `json:"maxChars,omitempty"`
	Tries    int           `json:"tries,omitempty"`
	Notice   string        `json:"notice,omitempty"` // id of an outbox row
	Text     string        `json:"text,omitempty"`
	Type     string        `json:"type,omitempty"`
	Data     workflow.JSON `json:"data,omitempty"`
	Estimate workflow.JSON `json:"estimate,omitempty"`
	Unbegun  bool          `json:"unbegun,omitempty"`
}

// The kinds of facts.
const (
	KindCreated       = "created"
	KindStarted       = "started"
	KindAttempt       = "attempt_started"
	KindPrepared      = "attempt_prepared"
	KindDeadlineMoved = "deadline_moved"
	KindTaken         = "taken_up"
	KindAsked         = "asked"
	KindDelayed       = "delayed"
	KindAnswered      = "answered"
	KindFinished      = "attempt_finished"
	KindRetry         = "retry_set"
	KindQueued        = "queued"
	KindPauseAsked    = "pause_asked"
	KindPaused        = "paused"
	KindHeld          = "held"
	KindUnheld        = "unheld"
	KindYielded       = "yielded"
	KindSpoke         = "spoke"
	KindResumed       = "resumed"
	KindParked        = "parked"
	KindUnparked      = "unparked"
	KindUpdated       = "updated"
	KindTurnOwed      = "turn_owed"
	KindTurnSettled   = "turn_settled"
	KindTurnDue       = "turn_due"
	KindPresent       = "present"
	KindEnded         = "ended"
)

// applier returns the function that folds a kind of fact; nil: the kind isn't
// known.
func applier(kind string) func(g *Graph, r *Run, f Fact) {
	switch kind {
	case KindCreated:
		return applyCreated
	case KindStarted:
		return applyStarted
	case KindAttempt:
		return applyAttempt
	case KindPrepared:
		return applyPrepared
	case KindDeadlineMoved:
		return applyDeadlineMoved
	case KindTaken:
		return applyTaken
	case KindAsked:
		return applyAsked
	case KindDelayed:
		return applyDelayed
	case KindAnswered:
		return applyAnswered
	case KindFinished:
		return applyFinished
	case KindRetry:
		return applyRetry
	case KindQueued:
		return applyQueued
	case KindPauseAsked, KindResumed:
		return applyPauseWish
	case KindPaused:
		return applyPaused
	case KindHeld, KindUnheld:
		return applyHeld
	case KindYielded, KindSpoke:
		return applyWaits
	case KindParked:
		return applyParked
	case KindUnparked:
		return applyUnparked
	case KindUpdated:
		return applyUpdated
	case KindTurnOwed, KindTurnSettled, KindTurnDue:
		return applyTurn
	case KindPresent:
		return func(_ *Graph, r *Run, _ Fact) { r.Presented = true }
	case KindEnded:
		return applyEnded
	}
	return nil
}

// Apply folds one fact of the commit with the number seq into the run. It
// changes r in place.
func Apply(g *Graph, r *Run, seq int64, f Fact) error {
	apply := applier(f.Kind)
	if apply == nil {
		return fmt.Errorf("run %s, commit %d: a fact of the kind %q, which this version doesn't know", r.ID, seq, f.Kind)
	}
	r.Seq = seq
	apply(g, r, f)
	return nil
}

// Stored is a commit as it is read from the store.
type Stored struct {
	Seq   int64
	Facts []Fact
}

// Fold folds a run from its commits.
func Fold(g *Graph, id string, log []Stored) (*Run, error) {
	r := empty(id)
	for _, s := range log {
		if s.Seq != r.Seq+1 {
			return nil, fmt.Errorf("run %s: commit %d follows commit %d", id, s.Seq, r.Seq)
		}
		for _, f := range s.Facts {
			if err := Apply(g, r, s.Seq, f); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func empty(id string) *Run {
	return &Run{ID: id, Nodes: map[string]Visit{}, Mounts: map[string]Inside{}, News: map[string]News{}}
}

func applyCreated(_ *Graph, r *Run, f Fact) {
	r.Status, r.Session = Queued, f.Session
	r.Tokens, r.TokensAt = burst, f.Now
}

func applyStarted(_ *Graph, r *Run, f Fact) {
	r.Title, r.Tries = f.Title, 0
	r.Nodes[""] = Visit{Outcome: OK, Seq: r.Seq}
}

func applyAttempt(g *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Next, r.Wake = Running, "", "", 0
	r.Attempts++
	r.Open = &Attempt{ID: f.Attempt, Node: f.Node, At: f.Now, Deadline: f.At}
	if n := g.Node(f.Node); n != nil && n.Synthetic() || f.Again {
		return
	}
	r.Steps++
	for _, m := range around(f.Node) {
		in := r.Mounts[m]
		in.Steps++
		r.Mounts[m] = in
	}
}

func applyPrepared(_ *Graph, r *Run, f Fact) {
	r.Open.Prepared, r.Open.Deadline, r.Open.MaxChars, r.Open.Prompt, r.Open.Takes = true, f.At, f.MaxChars, f.Digest, 0
	r.Open.There = f.Session != ""
}

func applyTaken(_ *Graph, r *Run, f Fact) {
	if r.Open == nil {
		r.Tries = f.Tries
		return
	}
	r.Open.Takes = f.Tries
}

func applyDeadlineMoved(_ *Graph, r *Run, f Fact) {
	r.Open.Deadline, r.Open.Timed = f.At, true
}

func applyAsked(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Wake = Waiting, f.Reason, f.At
	r.Open.Decision, r.Open.Digest, r.Open.Until, r.Open.Default = f.Decision, f.Digest, f.At, f.Default
}

func applyDelayed(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Wake = Waiting, ForDelay, f.At
	if mutant("TimerForgotten") {
		r.Wake = 0
	}
	r.Open.Until = f.At
}

func applyAnswered(_ *Graph, r *Run, f Fact) {
	if f.Input {
		r.Nodes[""] = Visit{Outcome: OK, Seq: r.Seq}
	}
}

func applyFinished(g *Graph, r *Run, f Fact) {
	v := Visit{Attempt: f.Attempt, Outcome: f.Outcome, Code: f.Code, Message: f.Message, Seq: r.Seq, Notified: r.Nodes[f.Node].Notified}
	if f.Notice != "" {
		v.Notified++
	}
	r.Nodes[f.Node] = v
	r.Open, r.Wake, r.Result = nil, 0, f.Node
	if f.Outcome != CancelledByUs {
		r.Tries = 0
	}
	if n := g.Node(f.Node); n != nil && n.NodeType == workflow.TypeEnter && f.Outcome == OK {
		in := r.Mounts[n.Mount]
		r.Mounts[n.Mount] = Inside{Invocation: in.Invocation + 1, Since: r.Seq}
	}
}

func applyRetry(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Wake, r.Next, r.Tries = Waiting, ForRetry, f.At, f.Node, f.Tries
}

func applyQueued(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Next, r.Wake, r.Message = Queued, "", f.Node, 0, ""
}

func applyPauseWish(_ *Graph, r *Run, f Fact) { r.Pause = f.Kind == KindPauseAsked }

func applyPaused(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Next, r.Wake = Waiting, ForPause, f.Node, 0
}

func applyHeld(_ *Graph, r *Run, f Fact) {
	r.Open.Held = f.Kind == KindHeld
	if r.Open.Held {
		r.Status, r.Reason, r.Open.Takes = Waiting, ForPause, 0
		return
	}
	r.Open.Resumes++
	r.Status, r.Reason = Running, ""
}

func applyWaits(_ *Graph, r *Run, f Fact) {
	open := r.Open
	open.Waits = f.Kind == KindYielded
	switch {
	case mutant("YieldKeepsClock"):
	case open.Waits && open.Deadline > 0:
		open.Left, open.Deadline = max(open.Deadline-f.Now, 1), 0
	case !open.Waits && open.Left > 0:
		open.Left, open.Deadline = 0, f.Now+open.Left
	}
}

func applyParked(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Message, r.Wake = Parked, f.Reason, f.Message, 0
	if r.Open == nil {
		if !r.started() {
			r.Tries = 0
		}
		return
	}
	r.Open.Takes, r.Open.Unbegun = 0, r.Open.Unbegun || f.Unbegun
	if r.Open.Deadline > 0 {
		r.Open.Left = max(r.Open.Deadline-f.Now, 1)
	}
}

func applyUnparked(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Message = Queued, "", ""
	if r.Open == nil {
		return
	}
	r.Status = Running
	if r.Open.Left > 0 && (!r.Open.Waits || mutant("UnparkStartsClock")) {
		r.Open.Deadline, r.Open.Left = f.Now+r.Open.Left, 0
	}
}

func applyTurn(_ *Graph, r *Run, f Fact) {
	r.Turn = ""
	if f.Kind == KindTurnOwed {
		r.Turn = f.Notice
	}
}

func applyEnded(_ *Graph, r *Run, f Fact) {
	r.Status, r.Reason, r.Message, r.Next, r.Wake, r.Open = f.Status, f.Code, f.Message, "", 0, nil
	if f.Status != Completed {
		r.Result = ""
	}
	r.Pause = false
}
