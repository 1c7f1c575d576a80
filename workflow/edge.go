package workflow

import (
	"maps"
	"slices"
	"strings"
)

// Part is what Define joins: edges, exits and settings.
type Part interface{ join(*joined) }

type part func(*joined)

func (p part) join(j *joined) { p(j) }

// joined is a definition in the making.
type joined struct {
	graph    *Graph
	home     *home
	nodes    []*spec
	byID     map[string]*spec
	exits    []*exitSpec
	calls    map[string]callback // of the definition
	decode   func(JSON) error    // of the input
	revision string
	problems []Problem
}

// way is an edge before its ends are known to be sound.
func (j *joined) way(from Target, what string, on string, to map[string]Target) {
	f := j.take(from, "", what)
	if f == nil {
		return
	}
	e := Edge{From: f.wayOut(), On: on}
	if on != "" {
		e.Cases = map[string]string{}
		if len(to) == 0 {
			j.problem(f.node.ID, what, "it has no cases")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(to)) {
		t := j.take(to[key], f.node.ID, what)
		switch {
		case t == nil:
		case on == "":
			e.To = t.node.ID
		default:
			e.Cases[key] = t.node.ID
		}
	}
	if f.include != nil && what != "exits" {
		j.problem(f.node.ID, what, "an included workflow is left by its exits: use Exits")
		return
	}
	j.edge(e)
}

// edge adds an edge unless its node has one already.
func (j *joined) edge(e Edge) {
	if j.graph.Edge(e.From) != nil {
		j.problem(e.From, "edges", "it has more than one outgoing edge")
		return
	}
	j.graph.Edges = append(j.graph.Edges, e)
}

// wayOut is the id at which a node's edge begins.
func (s *spec) wayOut() string { return s.node.ID }

// take makes a node part of the definition. by names the node that leads to
// it, for the message.
func (j *joined) take(t Target, by, what string) *spec {
	s := specOf(t)
	switch {
	case s == nil:
		j.problem(by, what, "an end of the edge is no node (a handle that isn't set)")
		return nil
	case s.home != nil && s.home != j.home:
		j.problem(s.node.ID, what, "the handle belongs to workflow %s", shown(s.home.name))
		return nil
	case s.home == nil:
		s.home = j.home
		if other := j.byID[s.node.ID]; other != nil {
			j.problem(s.node.ID, "id", "two nodes have it")
		} else {
			j.byID[s.node.ID] = s
		}
		j.nodes = append(j.nodes, s)
	}
	return s
}

// specOf is the node behind a handle, nil if it isn't set. A type of an
// author's own around a handle may be empty too.
func specOf(t Target) (s *spec) {
	defer func() {
		if recover() != nil {
			s = nil
		}
	}()
	if t == nil {
		return nil
	}
	return t.target()
}

// Then goes from one node to another.
func Then(from, to Target) Part {
	return part(func(j *joined) { j.way(from, "then", "", map[string]Target{"": to}) })
}

// Cases are the ways of a Switch or an Outcome.
type Cases map[string]Target

// Switch goes by the value at a path of the node's output: "$.passed", or
// "$.verdict.kind". Strings, numbers and booleans are compared as text. A value
// without a case fails the run.
func Switch(from Target, path string, cases Cases) Part {
	return part(func(j *joined) {
		if s := specOf(from); s != nil {
			checkPath(j, s, path, cases)
		}
		j.way(from, "switch", path, cases)
	})
}

func checkPath(j *joined, s *spec, path string, cases Cases) {
	field, ok := strings.CutPrefix(path, "$.")
	if !ok {
		field, ok = strings.CutPrefix(path, "$output.")
	}
	if !ok {
		j.problem(s.node.ID, "switch", "path %q doesn't begin with $. or $output. (Outcome goes by how the attempt ended)", path)
		return
	}
	if missing := missingField(s.schema, field); missing != "" {
		j.problem(s.node.ID, "switch", "switch %s: its output has no field %s", shown(path), shown(missing))
		return
	}
	values, all, why := casesOf(schemaAt(s.schema, field))
	if why != "" {
		j.problem(s.node.ID, "switch", "switch %s: its value is %s, and only a text, a number or a boolean chooses a case", shown(path), why)
	}
	if values == nil {
		return
	}
	for _, v := range values {
		if _, ok := cases[v]; !ok && all {
			j.problem(s.node.ID, "switch", "switch %s: the value %s has no case", shown(path), shown(v))
		}
	}
	for _, c := range slices.Sorted(maps.Keys(cases)) {
		if !slices.Contains(values, c) {
			j.problem(s.node.ID, "switch", "switch %s: the case %s is none of its values: %s", shown(path), shown(c), shownAll(values))
		}
	}
}

// Outcome goes by how the attempt ended: "ok", "failed", "timed_out". It needs
// a case ok. A cancelled attempt goes nowhere.
func Outcome(from Target, cases Cases) Part {
	return part(func(j *joined) {
		id := ""
		if s := specOf(from); s != nil {
			id = s.node.ID
		}
		for _, k := range slices.Sorted(maps.Keys(cases)) {
			if k != "ok" && k != "failed" && k != "timed_out" {
				j.problem(id, "outcome", "%q is no outcome to go by; want ok, failed or timed_out", k)
			}
		}
		if cases["ok"] == nil {
			j.problem(id, "outcome", "there is no case ok")
		}
		j.way(from, "outcome", "$result.outcome", cases)
	})
}

// Lanes are the ways of a Route, one for each choice.
type Lanes[C ~string] map[C]Target

// Chooser is a node that chooses: a Decision or a HumanDecision.
type Chooser[C ~string] interface {
	Target
	chooses() (field string, zero C)
}

func (n *DecisionNode[C]) chooses() (field string, zero C) { return "route", "" }
func (n *HumanNode[C]) chooses() (field string, zero C)    { return "choice", "" }

// Route goes by a choice. Each choice needs its lane.
func Route[C ~string](from Chooser[C], lanes Lanes[C]) Part {
	return part(func(j *joined) {
		cases := Cases{}
		for k, t := range lanes {
			cases[string(k)] = t
		}
		s := specOf(from)
		if s == nil {
			j.way(nil, "route", "", nil)
			return
		}
		for _, c := range s.choices {
			if _, ok := cases[c]; !ok {
				j.problem(s.node.ID, "route", "the choice %s has no lane", shown(c))
			}
		}
		for _, c := range slices.Sorted(maps.Keys(cases)) {
			if !slices.Contains(s.choices, c) {
				j.problem(s.node.ID, "route", "%s is none of its choices", shown(c))
			}
		}
		field, _ := from.chooses()
		j.way(from, "route", "$."+field, cases)
	})
}

// MaxSteps bounds how many nodes a run may enter.
func MaxSteps(n int) Part {
	return part(func(j *joined) {
		if n < 1 {
			j.problem("", "maxSteps", "%d; want at least 1", n)
		}
		j.graph.MaxSteps = n
	})
}

// Title names a run for people, by its input.
func Title(f func(*Ctx) string) Part { return definitionCall("title", f != nil, value(f)) }

// Present asks the session from which the run came to present the result, in
// one turn, once the run has completed or waits for a person.
func Present(f func(*Ctx) string) Part { return definitionCall("present", f != nil, value(f)) }

func definitionCall(name string, set bool, c callback) Part {
	return part(func(j *joined) {
		if !set {
			j.problem("", name, "%s", nilFunction)
			return
		}
		if j.calls[name] != nil {
			j.problem("", name, "given twice")
		}
		j.calls[name] = c
	})
}

// Description says in a line what the workflow is for.
func Description(text string) Part {
	return part(func(j *joined) { j.graph.Description = text })
}

// Revision names the code of the callbacks. Raise it when a run that has begun
// must not go on with changed code.
func Revision(r string) Part {
	return part(func(j *joined) {
		if r == "" {
			j.problem("", "revision", "it is empty")
		}
		j.revision = r
	})
}
