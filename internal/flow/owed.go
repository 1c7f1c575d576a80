package flow

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gamma-harness/gamma/workflow"
)

// EffectKind says what is to be done.
type EffectKind string

// The kinds of effects.
const (
	DoStart   EffectKind = "start"   // normalise the input, make the title → Started
	DoTimeout EffectKind = "timeout" // compute the timeout → Timed
	DoCompute EffectKind = "compute" // → Result; also enter, exit and the text of a notification
	DoRequest EffectKind = "request" // → Ask
	DoDelay   EffectKind = "delay"   // → Wait
	DoAction  EffectKind = "action"  // → Result; action, shell or batch
	DoPrepare EffectKind = "prepare" // → Prepared
	DoStep    EffectKind = "step"    // → StepDone
	DoPresent EffectKind = "present" // the words of the presentation → Presentation
)

// Effect is what the holder of a claim must be doing. An effect with an id that
// is running already is the same effect.
type Effect struct {
	ID      string
	Kind    EffectKind
	Node    *workflow.Node // nil of start and present
	Attempt string
}

// Owed returns the effect that a run wants, nil if it wants none.
func Owed(g *Graph, r *Run) *Effect {
	if presenting(r) {
		return &Effect{ID: r.ID + "/present", Kind: DoPresent}
	}
	if r.Status == Queued {
		if _, started := r.Nodes[""]; !started {
			return &Effect{ID: r.ID + "/start", Kind: DoStart}
		}
		return nil
	}
	if r.Status != Running || r.Open == nil {
		return nil
	}
	n := g.Node(r.Open.Node)
	kind := kindOf(n, r.Open)
	if n.NodeType != workflow.TypeAgent && g.Has(n.ID+".timeout") && !r.Open.Timed {
		kind = DoTimeout
	}
	return &Effect{ID: r.Open.ID + " " + string(kind), Kind: kind, Node: n, Attempt: r.Open.ID}
}

func kindOf(n *workflow.Node, open *Attempt) EffectKind {
	switch {
	case n.NodeType == workflow.TypeAgent && !open.Prepared:
		return DoPrepare
	case n.NodeType == workflow.TypeAgent:
		return DoStep
	case n.NodeType == workflow.TypeCheckpoint:
		return DoRequest
	case n.Delay:
		return DoDelay
	case n.NodeType == workflow.TypeAction:
		return DoAction
	}
	return DoCompute
}

// TextHash is the SHA-256 of a text's bytes, in hex.
func TextHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Scope is what the callbacks of a node may read: the nodes of their own
// definition since it was entered, by local name.
type Scope struct {
	g     *Graph
	run   *Run
	mount string
	since int64
}

// Reads returns the scope of a node's callbacks; of "" that of the definition's
// own.
func Reads(g *Graph, r *Run, node string) Scope {
	m := mountOf(node)
	return Scope{g, r, m, r.Mounts[m].Since}
}

// Input returns the commit with the input that the callbacks see.
func (s Scope) Input() (seq int64, ok bool) {
	v, ok := s.run.Nodes[s.mount]
	return v.Seq, ok && v.Outcome == OK
}

// Output returns the commit with the output of a node's newest attempt, if it
// has one. Of an included workflow it is what that left with.
func (s Scope) Output(local string) (seq int64, ok bool) {
	v, ok := s.visit(local)
	return v.Seq, ok && v.Outcome == OK
}

// Outcome says how a node's newest attempt ended, and why.
func (s Scope) Outcome(local string) (Outcome, string) {
	v, ok := s.visit(local)
	if !ok {
		return "", ""
	}
	return v.Outcome, v.Message
}

func (s Scope) visit(local string) (Visit, bool) {
	id := local
	if s.mount != "" {
		id = s.mount + "/" + local
	}
	n := s.g.Node(id)
	if n == nil {
		return Visit{}, false
	}
	if n.NodeType != workflow.TypeEnter {
		v, ok := s.run.Nodes[id]
		return v, ok && v.Seq >= s.since
	}
	var newest Visit
	for i := range s.g.Nodes {
		x := &s.g.Nodes[i]
		if x.NodeType != workflow.TypeExit || x.Mount != id {
			continue
		}
		if v := s.run.Nodes[x.ID]; v.Seq > newest.Seq {
			newest = v
		}
	}
	return newest, newest.Seq > 0 && newest.Seq >= s.since
}
