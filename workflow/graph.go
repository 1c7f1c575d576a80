package workflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// JSON is one value of JSON text.
type JSON = json.RawMessage

// Format is the version of the snapshot that this package writes.
const Format = 1

// Definition is a workflow: its graph and the code behind it.
type Definition struct {
	Graph    *Graph
	Program  Program
	Revision string // of the code; "" counts as "1"
}

// Program answers the callbacks of a graph. It is the only door to an
// author's code.
//
// Call returns the callback's JSON value. arg is what the callback is about
// (a submission, the result of a command), null if nothing. Outcomes: the
// value; an error, which fails the node and is told to people; after ctx has
// ended the answer isn't waited for.
type Program interface {
	Call(ctx context.Context, name string, v View, arg JSON) (JSON, error)
}

// Decoder is a Program that knows the types of its nodes' outputs, and of its
// input (node ""). Decode says why a value can't be one; of a node that it
// doesn't know it says nothing. It has no effects.
type Decoder interface {
	Decode(node string, value JSON) error
}

// View is what a callback sees of its run: nodes by their local names.
type View struct {
	Input JSON
	// Output returns the newest output of a node that has one.
	Output func(node string) (JSON, bool)
	// Outcome says how the newest attempt of a node ended and why, "" if it
	// has none.
	Outcome func(node string) (outcome, reason string)
	// Publish stores an update; nil where none may be published. It returns
	// when the update is stored, which holds back a publisher that is too
	// fast.
	Publish func(Update) error
}

// Update is a durable piece of news of a running step; the newest of each type
// and key is kept.
type Update struct {
	Type string `json:"type"` // [a-z][a-z0-9.-]{0,63}
	Key  string `json:"key"`  // [A-Za-z0-9][A-Za-z0-9._:/-]{0,127}
	Data JSON   `json:"data"` // an object, at most 64 KiB
}

// Graph is the part of a definition that is data.
type Graph struct {
	Format      int              `json:"format"`
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Start       string           `json:"start"`
	Input       JSON             `json:"input,omitempty"` // JSON Schema
	Nodes       []Node           `json:"nodes"`
	Edges       []Edge           `json:"edges"`
	Exits       []ExitFrom       `json:"exits,omitempty"`
	Mounts      map[string]Mount `json:"mounts,omitempty"` // by path
	MaxSteps    int              `json:"maxSteps"`
	Calls       []string         `json:"calls"` // names of all callbacks, sorted
}

// The node types. Enter and exit come only from Include.
const (
	TypeAgent      = "agent"
	TypeCompute    = "compute"
	TypeNotify     = "notify"
	TypeAction     = "action"
	TypeCheckpoint = "checkpoint"
	TypeEnter      = "enter"
	TypeExit       = "exit"
)

// Node is one node of a graph.
type Node struct {
	ID             string        `json:"id"`
	NodeType       string        `json:"nodeType"`
	ExpectedOutput JSON          `json:"expectedOutput,omitempty"` // of agents and plain checkpoints; see Expected
	TimeoutMs      int64         `json:"timeoutMs,omitempty"`      // 0: the default; -1: none
	StatusDetail   string        `json:"statusDetail,omitempty"`
	Replay         string        `json:"replay,omitempty"` // once
	Retry          *Retry        `json:"retry,omitempty"`
	Delay          bool          `json:"delay,omitempty"`
	Shell          bool          `json:"shell,omitempty"`
	Batch          bool          `json:"batch,omitempty"`
	HumanDecision  *HumanRequest `json:"humanDecision,omitempty"`
	Answer         string        `json:"answer,omitempty"` // input: the answer is also the run's input from then on
	Exit           string        `json:"exit,omitempty"`   // of exit nodes: the exit's name
	Mount          string        `json:"mount,omitempty"`  // of enter and exit nodes: the mount's path
}

// Retry says how often a failed attempt is tried again.
type Retry struct {
	Attempts  int   `json:"attempts"` // in all
	BackoffMs int64 `json:"backoffMs"`
}

// HumanRequest is what is known of a person's decision before it is asked.
type HumanRequest struct {
	Audience  string   `json:"audience"`
	Choices   []Choice `json:"choices"`
	TimeoutMs int64    `json:"timeoutMs,omitempty"`
	Default   string   `json:"default,omitempty"`
}

// Choice is one of the answers that a person can give.
type Choice struct {
	Key    string `json:"key"`
	Label  string `json:"label"`
	Prompt string `json:"prompt,omitempty"` // asks for a text with the choice
}

// Edge is the way on from a node: To, or by the value at On one of Cases.
type Edge struct {
	From  string            `json:"from"`
	To    string            `json:"to,omitempty"`
	On    string            `json:"on,omitempty"`
	Cases map[string]string `json:"cases,omitempty"`
}

// ExitFrom is an exit of a definition.
type ExitFrom struct {
	Name string `json:"name"`
	From string `json:"from"`
}

// Mount is an included workflow.
type Mount struct {
	Name     string `json:"name"`
	MaxSteps int    `json:"maxSteps"` // of one invocation
}

// The kinds of expected outputs.
const (
	ExpectSubmit    = "submit"            // of an agent: a submitted value, checked by Schema
	ExpectAssistant = "assistant-message" // of an agent: its visible answer
	ExpectAnswer    = "answer"            // of a checkpoint
)

// Expected is the content of Node.ExpectedOutput, which may also be a string
// that describes the output in words.
type Expected struct {
	Kind            string `json:"kind"`
	Schema          JSON   `json:"schema,omitempty"`
	MaxChars        int    `json:"maxChars,omitempty"`        // UTF-16 units; 0: no limit
	DynamicMaxChars bool   `json:"dynamicMaxChars,omitempty"` // asked of NODE.maxChars
}

// Expect returns what a node's output must be; of a description in words, and
// of nothing at all, a submission of any value.
func (n *Node) Expect() Expected {
	e := Expected{}
	if len(n.ExpectedOutput) == 0 || json.Unmarshal(n.ExpectedOutput, &e) != nil {
		return Expected{Kind: ExpectSubmit}
	}
	return e
}

// Assistant reports whether a node's output is the model's visible answer.
func (n *Node) Assistant() bool {
	return n.NodeType == TypeAgent && n.Expect().Kind == ExpectAssistant
}

// Synthetic reports whether a node is the way into or out of an included
// workflow.
func (n *Node) Synthetic() bool { return n.NodeType == TypeEnter || n.NodeType == TypeExit }

// Node returns the node with an id, nil if there is none.
func (g *Graph) Node(id string) *Node {
	for i := range g.Nodes {
		if g.Nodes[i].ID == id {
			return &g.Nodes[i]
		}
	}
	return nil
}

// Edge returns the way on from a node, nil if it ends the run.
func (g *Graph) Edge(from string) *Edge {
	for i := range g.Edges {
		if g.Edges[i].From == from {
			return &g.Edges[i]
		}
	}
	return nil
}

// Has reports whether the program answers a callback.
func (g *Graph) Has(call string) bool {
	_, ok := slices.BinarySearch(g.Calls, call)
	return ok
}

// NeedsSession reports the nodes that need the session from which the run
// came: assistant nodes and notifications.
func (g *Graph) NeedsSession() []string {
	var out []string
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Assistant() || n.NodeType == TypeNotify {
			out = append(out, n.ID)
		}
	}
	return out
}

// Snapshot is the graph as it is stored.
func (g *Graph) Snapshot() []byte { return marshal(g) }

// Digest is the SHA-256 of the snapshot, in hex.
func (g *Graph) Digest() string {
	sum := sha256.Sum256(g.Snapshot())
	return hex.EncodeToString(sum[:])
}

// ReadSnapshot reads a stored graph. A newer format and unknown fields are
// refused, since the digest of what is read must be that of what was written.
func ReadSnapshot(b []byte) (*Graph, error) {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("workflow snapshot: %w", err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("workflow snapshot: format %d; this version reads format %d", head.Format, Format)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	g := &Graph{}
	if err := d.Decode(g); err != nil {
		return nil, fmt.Errorf("workflow snapshot: %w", err)
	}
	if !bytes.Equal(g.Snapshot(), b) {
		return nil, fmt.Errorf("workflow snapshot: reading it back gives other bytes, so it wasn't written by this format")
	}
	return g, nil
}

// marshal writes JSON without HTML escaping. It panics on what can't be
// written, which a graph has no place for.
func marshal(v any) []byte {
	b, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("workflow: %T can't be written as JSON: %v", v, err))
	}
	return b
}

func encode(v any) (JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Problem is one mistake in a definition. Node is "" where it is about the
// definition as a whole.
type Problem struct {
	Node, Field, Reason string
}

// DefinitionError lists all mistakes of a definition.
type DefinitionError struct {
	Workflow string
	Problems []Problem
}

func (e *DefinitionError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		node := ""
		if p.Node != "" {
			node = "node " + shown(p.Node) + ": "
		}
		lines[i] = fmt.Sprintf("workflow %s: %s%s: %s", shown(e.Workflow), node, p.Field, p.Reason)
	}
	return strings.Join(lines, "\n")
}
