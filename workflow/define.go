package workflow

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// defaultMaxSteps bounds a run whose definition doesn't say.
const defaultMaxSteps = 100

// reservedNames can't name a workflow, since commands have them.
func reservedNames() []string {
	return []string{"answer", "cancel", "list", "pause", "resume", "status"}
}

// Define joins nodes to a workflow: its name, its input, the node with which it
// begins, then edges, exits and settings. The error is a *DefinitionError with
// all that is wrong.
func Define[In any](name string, in *InputOf[In], entry Target, parts ...Part) (*Flow[In], error) {
	h := &home{name}
	j := &joined{home: h, byID: map[string]*spec{}, calls: map[string]callback{},
		graph: &Graph{Format: Format, Name: name, Nodes: []Node{}, Edges: []Edge{}, MaxSteps: defaultMaxSteps}}
	j.checkName(name)
	inputSpec := &spec{}
	j.graph.Input = schemaOf[In](inputSpec, "input")
	j.problems = append(j.problems, inputSpec.problems...)
	if in == nil {
		j.problem("", "input", "it isn't set; use Input")
		in = &InputOf[In]{}
	}
	for i, check := range in.checks {
		if check == nil {
			j.problem("", "input", "check %d: %s", i+1, nilFunction)
		}
	}
	j.calls["input"] = inputCall(in)
	j.decode = decodes[In]
	if s := j.take(entry, "", "entry"); s != nil {
		j.graph.Start = s.node.ID
	}
	for _, p := range parts {
		if p == nil {
			j.problem("", "parts", "one of them is nil")
			continue
		}
		p.join(j)
	}
	def := j.finish()
	if len(j.problems) > 0 {
		return nil, &DefinitionError{name, j.problems}
	}
	return &Flow[In]{def, h, j.exits}, nil
}

// inputCall checks the input and fills in what the checks add.
func inputCall[In any](in *InputOf[In]) callback {
	return func(_ *Ctx, arg JSON) (JSON, error) {
		var v In
		if err := json.Unmarshal(arg, &v); err != nil {
			return nil, fmt.Errorf("input: it is no %T: %w", v, err)
		}
		for _, check := range in.checks {
			var err error
			if v, err = check(v); err != nil {
				return nil, fmt.Errorf("input: %w", err)
			}
		}
		return stored(v)
	}
}

func (j *joined) problem(node, field, format string, args ...any) {
	j.problems = append(j.problems, Problem{node, field, fmt.Sprintf(format, args...)})
}

func (j *joined) checkName(name string) {
	if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`).MatchString(name) {
		j.problem("", "name", "%q is no name; want a letter, then letters, digits, _ or -, 64 characters at most", name)
	}
	if slices.Contains(reservedNames(), name) {
		j.problem("", "name", "%q is reserved, since a command has it", name)
	}
}

// finish checks the whole, flattens what is included, and makes the definition.
func (j *joined) finish() *Definition {
	p := &program{calls: map[string]callback{}, types: map[string]func(JSON) error{"": j.decode}, mounts: map[string]Program{}}
	j.checkExits()
	for _, s := range j.nodes {
		id := s.node.ID
		if why := badID(id); why != "" {
			j.problem(id, "id", "%s", why)
		}
		j.problems = append(j.problems, s.problems...)
		j.checkNode(s)
		j.graph.Nodes = append(j.graph.Nodes, s.node)
		p.types[id] = s.decode
		for field, f := range s.calls {
			j.addCall(p, id+"."+field, f)
		}
		if s.include != nil && s.include.def != nil {
			j.mount(s)
			p.mounts[id] = s.include.def.Program
		}
	}
	for name, f := range j.calls {
		j.addCall(p, name, f)
	}
	for _, s := range j.nodes {
		if s.include == nil {
			continue
		}
		for _, e := range s.include.exits {
			if e.check != nil {
				j.addCall(p, exitID(s.node.ID, e.name)+".exit", e.check)
			}
		}
	}
	slices.Sort(j.graph.Calls)
	j.checkReach()
	j.checkFailureWays()
	return &Definition{Graph: j.graph, Program: p, Revision: j.revision}
}

func (j *joined) addCall(p *program, name string, f callback) {
	p.calls[name] = f
	j.graph.Calls = append(j.graph.Calls, name)
}
