package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Flow is a definition with the type of its input, so that another workflow
// can include it.
type Flow[In any] struct {
	def   *Definition
	home  *home
	exits []*exitSpec
}

// Definition returns what can be run.
func (f *Flow[In]) Definition() *Definition { return f.def }

// exitSpec is a declared exit.
type exitSpec struct {
	name   string
	from   *spec
	check  callback
	faulty bool // one of its checks is nil
	home   *home
}

// field names the exit in a Problem.
func (e *exitSpec) field() string { return "exit " + shown(e.name) }

// Exit is a named way out of a workflow that others include, with an output of
// the type T.
type Exit[T any] struct{ e *exitSpec }

// ExitAt makes a node an exit: a run that ends there has left by it. The checks
// refuse an output with their error, which fails the exit.
func ExitAt[T any](name string, from Output[T], checks ...func(*Ctx, T) error) *Exit[T] {
	e := &exitSpec{name: name, from: specOf(from)}
	for _, check := range checks {
		e.faulty = e.faulty || check == nil
	}
	if len(checks) > 0 {
		e.check = func(c *Ctx, arg JSON) (JSON, error) {
			var v T
			if err := json.Unmarshal(arg, &v); err != nil {
				return nil, fmt.Errorf("exit %s: the output is no %T: %w", name, v, err)
			}
			for _, check := range checks {
				if err := check(c, v); err != nil {
					return nil, fmt.Errorf("exit %s: %w", name, err)
				}
			}
			return stored(v)
		}
	}
	return &Exit[T]{e}
}

func (x *Exit[T]) exit() *exitSpec {
	if x == nil {
		return nil
	}
	return x.e
}

func (x *Exit[T]) join(j *joined) {
	if x.exit() == nil {
		j.problem("", "parts", "an exit isn't set; use ExitAt")
		return
	}
	x.e.home = j.home
	if x.e.faulty {
		j.problem("", x.e.field(), "one of its checks is nil")
	}
	if x.e.from == nil {
		j.problem("", x.e.field(), "its node isn't set")
		return
	}
	j.take(specTarget{x.e.from}, "", x.e.field())
	j.exits = append(j.exits, x.e)
}

type specTarget struct{ s *spec }

func (t specTarget) target() *spec { return t.s }

// left is what an exit node stores.
type left struct {
	Exit   string `json:"exit"`
	Output JSON   `json:"output"`
}

// Of returns what the included workflow left with, if it left by this exit.
func (x *Exit[T]) Of(c *Ctx, m *IncludeNode) (T, bool) {
	var v T
	id := m.s.node.ID
	if x.e.home != m.s.include.home {
		panic(&ReadError{c.node, id, fmt.Sprintf("exit %s belongs to another workflow", x.e.name)})
	}
	l := read[left](c, id)
	if l.Exit != x.e.name {
		return v, false
	}
	if err := json.Unmarshal(l.Output, &v); err != nil {
		panic(&ReadError{c.node, id, fmt.Sprintf("exit %s gave no %T: %v", x.e.name, v, err)})
	}
	return v, true
}

// included is the workflow behind an include node.
type included struct {
	def   *Definition
	home  *home
	exits []*exitSpec
}

// IncludeNode is another workflow as a node.
type IncludeNode struct{ s *spec }

func (n *IncludeNode) target() *spec {
	if n == nil {
		return nil
	}
	return n.s
}

// Include enters another workflow with an input, and leaves it by Exits. The
// included nodes see only their own outputs since the last entry.
func Include[In any](id string, child *Flow[In], input func(*Ctx) In) *IncludeNode {
	s := newSpec(id, TypeEnter, nil)
	s.node.Mount = id
	s.include = &included{}
	if child == nil || child.def == nil {
		s.problem("include", "the included workflow isn't set (did its Define fail?)")
		return &IncludeNode{s}
	}
	s.include = &included{child.def, child.home, child.exits}
	if len(child.exits) == 0 {
		s.problem("include", "workflow %s has no exits, so it can't be included", child.def.Graph.Name)
	}
	for i := range child.def.Graph.Nodes {
		if n := &child.def.Graph.Nodes[i]; child.def.Graph.Edge(n.ID) == nil && n.NodeType != TypeEnter && child.exitOf(n.ID) == nil {
			s.problem("include", "workflow %s can end at its node %s, which is no exit", child.def.Graph.Name, n.ID)
		}
	}
	s.call("input", input != nil, value(input))
	return &IncludeNode{s}
}

func (f *Flow[In]) exitOf(node string) *exitSpec {
	for _, e := range f.exits {
		if e.from.node.ID == node {
			return e
		}
	}
	return nil
}

// ExitHandle is an exit of any type.
type ExitHandle interface{ exit() *exitSpec }

// Leave are the ways of Exits, one for each exit.
type Leave map[ExitHandle]Target

// Exits goes on from an included workflow by the exit that it took. Each exit
// needs its way.
func Exits(from *IncludeNode, ways Leave) Part {
	return part(func(j *joined) {
		s := j.take(from, "", "exits")
		if s == nil {
			return
		}
		by := map[string]ExitHandle{}
		for h := range ways {
			var e *exitSpec
			if h != nil {
				e = h.exit()
			}
			switch {
			case e == nil:
				j.problem(s.node.ID, "exits", "an exit isn't set")
			case e.home != s.include.home:
				j.problem(s.node.ID, "exits", "exit %s belongs to another workflow", shown(e.name))
			default:
				by[e.name] = h
			}
		}
		for _, e := range s.include.exits {
			if by[e.name] == nil {
				j.problem(s.node.ID, "exits", "exit %s has no way on", e.name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(by)) {
			if t := j.take(ways[by[name]], s.node.ID, "exits"); t != nil {
				j.edge(Edge{From: exitID(s.node.ID, name), To: t.node.ID})
			}
		}
	})
}

// exitID is the id of the node behind an exit of an included workflow.
func exitID(mount, name string) string { return mount + "/__exit_" + name }

// mount adds the nodes of an included workflow.
func (j *joined) mount(s *spec) {
	child := s.include.def
	if child == nil {
		return
	}
	at, g := s.node.ID, child.Graph
	in := func(id string) string { return at + "/" + id }
	for _, n := range g.Nodes {
		n.ID = in(n.ID)
		if n.Mount != "" {
			n.Mount = in(n.Mount)
		}
		j.graph.Nodes = append(j.graph.Nodes, n)
	}
	j.graph.Edges = append(j.graph.Edges, Edge{From: at, To: in(g.Start)})
	for _, e := range g.Edges {
		cases := map[string]string(nil)
		if e.Cases != nil {
			cases = map[string]string{}
			for k, to := range e.Cases {
				cases[k] = in(to)
			}
		}
		if e.To != "" {
			e.To = in(e.To)
		}
		j.graph.Edges = append(j.graph.Edges, Edge{in(e.From), e.To, e.On, cases})
	}
	for _, x := range g.Exits {
		id := exitID(at, x.Name)
		j.graph.Nodes = append(j.graph.Nodes, Node{ID: id, NodeType: TypeExit, Exit: x.Name, Mount: at})
		j.graph.Edges = append(j.graph.Edges, Edge{From: in(x.From), To: id})
	}
	if j.graph.Mounts == nil {
		j.graph.Mounts = map[string]Mount{}
	}
	j.graph.Mounts[at] = Mount{g.Name, g.MaxSteps}
	for path, m := range g.Mounts {
		j.graph.Mounts[in(path)] = m
	}
	for _, c := range g.Calls {
		if c != "title" && c != "present" { // those of an included workflow have no use
			j.graph.Calls = append(j.graph.Calls, in(c))
		}
	}
}
