package flow

import (
	"maps"
	"strings"

	"github.com/gamma-harness/gamma/workflow"
)

// Status is where a run stands.
type Status string

// The statuses.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting"
	Parked    Status = "parked"
	Completed Status = "completed"
	Failed    Status = "failed"
	TimedOut  Status = "timed_out"
	Cancelled Status = "cancelled"
)

// Ended reports whether nothing follows.
func (s Status) Ended() bool {
	return s == Completed || s == Failed || s == TimedOut || s == Cancelled
}

// The reasons of waiting and parked.
const (
	ForDecision   = "decision"
	ForCheckpoint = "checkpoint"
	ForDelay      = "delay"
	ForRetry      = "retry"
	ForPause      = "paused"
	ForSession    = "session"
	ForHost       = "host"
	ForOperator   = "operator"
)

// Outcome is how an attempt ended.
type Outcome string

// The outcomes. A timed out attempt has the word of its run's status.
const (
	OK              Outcome = "ok"
	FailedAttempt   Outcome = "failed"
	TimedOutAttempt Outcome = "timed_out"
	CancelledByUs   Outcome = "cancelled"
)

// Run is a workflow run. Times are Unix milliseconds, 0 is none.
type Run struct {
	ID        string
	Session   string // of origin; "" if there is none
	Status    Status
	Reason    string // of waiting and parked; of an ended run its code
	Message   string // why it is parked or has ended, for people
	Title     string
	Seq       int64 // of the newest commit
	Attempts  int
	Steps     int    // nodes entered, without enter and exit
	Next      string // the node to enter
	Tries     int    // failed tries of the node that is tried again; before the start: how often that was taken up
	Pause     bool   // wanted at the next boundary
	Turn      string // id of the successor turn that is owed
	Presented bool
	Wake      int64
	Result    string // the node whose output is the run's
	Tokens    int64  // updates that may be published, in thousandths
	TokensAt  int64
	Open      *Attempt
	Nodes     map[string]Visit // by node id; "" is the run's input
	Mounts    map[string]Inside
	News      map[string]News // by NewsKey
}

// Attempt is the open attempt.
type Attempt struct {
	ID       string `json:"id"`
	Node     string `json:"node"`
	At       int64  `json:"at"`
	Deadline int64  `json:"deadline,omitempty"`
	Left     int64  `json:"left,omitempty"` // of the deadline, while parked or waiting for the user
	Timed    bool   `json:"timed,omitempty"`
	Prepared bool   `json:"prepared,omitempty"`
	MaxChars int    `json:"maxChars,omitempty"`
	Prompt   string `json:"prompt,omitempty"` // SHA-256
	Decision string `json:"decision,omitempty"`
	Digest   string `json:"digest,omitempty"` // of the request
	Until    int64  `json:"until,omitempty"`
	Default  string `json:"default,omitempty"`
	Held     bool   `json:"held,omitempty"`
	Waits    bool   `json:"waits,omitempty"`   // for the user to speak; Left is what remains of its time
	There    bool   `json:"there,omitempty"`   // a submit step that was begun in the session of origin
	Resumes  int    `json:"resumes,omitempty"` // how often it was let go again after Escape
	Takes    int    `json:"takes,omitempty"`   // how often it was taken up from a lost host, one after the other
	Unbegun  bool   `json:"unbegun,omitempty"` // it was parked before it had an effect
}

// Visit is how the newest attempt of a node ended.
type Visit struct {
	Attempt  string
	Outcome  Outcome
	Code     string
	Message  string
	Seq      int64 // the commit that has the output
	Notified int   // notifications that the node has sent
}

// Inside is an included workflow's present invocation.
type Inside struct {
	Invocation int
	Steps      int
	Since      int64 // the commit in which it was entered
}

// News is the newest update of a type and key.
type News struct {
	Type, Key string
	Seq       int64
	Data      workflow.JSON
	Estimate  workflow.JSON // of progress
	History   []Sample
}

// NewsKey is the key of a run's News.
func NewsKey(typ, key string) string { return typ + " " + key }

// Clone copies the run as far as Apply changes it in place.
func (r *Run) Clone() *Run {
	c := *r
	if r.Open != nil {
		open := *r.Open
		c.Open = &open
	}
	c.Nodes, c.Mounts, c.News = maps.Clone(r.Nodes), maps.Clone(r.Mounts), maps.Clone(r.News)
	return &c
}

// ClaimBy says who may claim the run: "*" any host, a session's id, "" nobody.
func (r *Run) ClaimBy() string {
	switch {
	case r.Status == Queued, r.Status == Running, r.Status == Parked && r.Reason == ForHost:
		return "*"
	case r.Status == Parked && r.Reason == ForSession && !mutant("ClaimByAnybody"):
		return r.Session
	case r.Status == Parked && r.Reason == ForSession:
		return "*"
	}
	return ""
}

// Slot reports whether the run holds its session's only slot.
func (r *Run) Slot(g *Graph) bool {
	if r.Session == "" || r.Status.Ended() {
		return false
	}
	if r.Open != nil && (g.Node(r.Open.Node) == nil || g.Node(r.Open.Node).NodeType == workflow.TypeAgent) {
		return true // also of a definition that can't be read here
	}
	switch r.Status {
	case Running:
		return true
	case Parked:
		return r.Reason != ForOperator
	case Waiting:
		return r.Reason == ForDelay || r.Reason == ForRetry
	}
	return false
}

// Stands reports whether the run goes on only when somebody else does
// something: a person, or a host with its session. live says whether its
// session is live where that is asked; who only watches says yes.
func (r *Run) Stands(now int64, live bool) bool {
	switch r.Status {
	case Queued, Running:
		return false
	case Waiting:
		return r.Wake == 0 || r.Reason == ForDecision && now < r.Wake
	case Parked:
		return r.Reason != ForHost && !(r.Reason == ForSession && live)
	}
	return true
}

// started reports whether the run's input is normalised.
func (r *Run) started() bool {
	_, ok := r.Nodes[""]
	return ok
}

// Graph is a definition's graph with an index.
type Graph struct {
	*workflow.Graph
	nodes map[string]*workflow.Node
	edges map[string]*workflow.Edge
}

// Index indexes a graph, which must not change afterwards.
func Index(g *workflow.Graph) *Graph {
	out := &Graph{g, map[string]*workflow.Node{}, map[string]*workflow.Edge{}}
	for i := range g.Nodes {
		out.nodes[g.Nodes[i].ID] = &g.Nodes[i]
	}
	for i := range g.Edges {
		out.edges[g.Edges[i].From] = &g.Edges[i]
	}
	return out
}

// Unreadable is the graph of a definition that this version can't read: it has
// no nodes. A run of it can be shown, parked and cancelled.
func Unreadable(name string) *Graph { return Index(&workflow.Graph{Name: name}) }

// Node returns the node with an id, nil if there is none.
func (g *Graph) Node(id string) *workflow.Node { return g.nodes[id] }

// Edge returns the way on from a node, nil if it ends the run.
func (g *Graph) Edge(id string) *workflow.Edge { return g.edges[id] }

// mountOf is the path of the included workflow that a node belongs to; "" for
// the definition's own. An enter node belongs to who includes, an exit node to
// what is included.
func mountOf(node string) string {
	i := strings.LastIndexByte(node, '/')
	return node[:max(i, 0)]
}

// around are the paths of the included workflows around a node, the outermost
// first.
func around(node string) []string {
	var out []string
	for i, r := range node {
		if r == '/' {
			out = append(out, node[:i])
		}
	}
	return out
}
