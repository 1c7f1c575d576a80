package workflow

import (
	"strings"
)

// checkNode finds what doesn't fit a node's type.
func (j *joined) checkNode(s *spec) {
	n := &s.node
	once := n.Replay == "once"
	if once && (n.NodeType != TypeAction || n.Delay) {
		j.problem(n.ID, "once", "only an action, a shell command or a batch has effects that must not be repeated")
	}
	if n.Retry != nil {
		switch {
		case n.Assistant():
			j.problem(n.ID, "retry", "the answer of an assistant step is visible, so it is never asked for again")
		case n.NodeType == TypeCheckpoint || n.NodeType == TypeNotify || n.Delay:
			j.problem(n.ID, "retry", "a %s is not tried again", word(n))
		case once:
			j.problem(n.ID, "retry", "Once and Backoff exclude each other")
		}
	}
	if s.calls["updates"] != nil && !n.Shell {
		j.problem(n.ID, "updates", "only a shell command has lines")
	}
	if s.calls["timeout"] != nil && n.TimeoutMs != 0 {
		j.problem(n.ID, "timeout", "it is given twice")
	}
	if s.include != nil && s.include.def != nil && !j.leaves(n.ID) {
		j.problem(n.ID, "exits", "the included workflow has no way on: give Exits")
	}
}

func word(n *Node) string {
	if n.Delay {
		return "delay"
	}
	return n.NodeType
}

// leaves reports whether an included workflow has a way on.
func (j *joined) leaves(mount string) bool {
	for _, e := range j.graph.Edges {
		if strings.HasPrefix(e.From, mount+"/__exit_") {
			return true
		}
	}
	return false
}

func (j *joined) checkExits() {
	names, nodes := map[string]bool{}, map[string]bool{}
	for _, e := range j.exits {
		if why := badID(e.name); why != "" {
			j.problem("", e.field(), "%s", why)
		}
		id := e.from.node.ID
		if names[e.name] {
			j.problem("", e.field(), "two exits have this name")
		}
		if nodes[id] {
			j.problem(id, e.field(), "the node is an exit already")
		}
		if j.graph.Edge(id) != nil {
			j.problem(id, e.field(), "the node has an outgoing edge, so no run ends there")
		}
		if e.from.include != nil {
			j.problem(id, e.field(), "an included workflow is no exit; make a node behind it")
		}
		names[e.name], nodes[id] = true, true
		j.graph.Exits = append(j.graph.Exits, ExitFrom{e.name, id})
	}
}

// checkReach finds nodes that no run can enter.
func (j *joined) checkReach() {
	g := j.graph
	seen := map[string]bool{}
	todo := []string{g.Start}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] || id == "" {
			continue
		}
		seen[id] = true
		if e := g.Edge(id); e != nil {
			todo = append(todo, e.To)
			for _, to := range e.Cases {
				todo = append(todo, to)
			}
		}
	}
	for _, s := range j.nodes {
		if !seen[s.node.ID] {
			j.problem(s.node.ID, "edges", "it can't be reached from %s", shown(g.Start))
		}
	}
}

// checkFailureWays refuses a way for failures from nodes that only wait.
func (j *joined) checkFailureWays() {
	for _, e := range j.graph.Edges {
		if !strings.HasPrefix(e.On, "$result.") {
			continue
		}
		if n := j.graph.Node(e.From); n != nil && n.Synthetic() {
			j.problem(e.From, "outcome", "an included workflow is left by its exits")
		}
	}
}
