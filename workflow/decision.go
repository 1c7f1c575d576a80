package workflow

import (
	"fmt"
	"slices"
	"time"
)

// Request is what a person is asked.
type Request struct {
	Title   string `json:"title"`
	Text    string `json:"text,omitempty"`
	Subject any    `json:"subject,omitempty"` // what is decided on; not shown in channels outside
}

// Option is one of the answers that a person can give.
type Option[C ~string] struct {
	Key    C
	Label  string
	Prompt string // if set, the answer has a text, and this asks for it
}

// Answered is the output of HumanDecision.
type Answered[C ~string] struct {
	Choice C      `json:"choice"`
	Text   string `json:"text,omitempty"`
}

// HumanNode is a person's choice.
type HumanNode[C ~string] struct{ *NodeOf[Answered[C]] }

// target makes a HumanNode that isn't set yet no node at all.
func (n *HumanNode[C]) target() *spec {
	if n == nil {
		return nil
	}
	return n.NodeOf.target()
}

// HumanOption is After.
type HumanOption[C ~string] struct{ set func(*spec) }

// HumanDecision asks a person to choose. The run waits without a process. The
// first answer wins; a model can never give it.
func HumanDecision[C ~string](id, audience string, request func(*Ctx) Request, options []Option[C], opts ...HumanOption[C]) *HumanNode[C] {
	n := newNode[Answered[C]](id, TypeCheckpoint, nil)
	s := n.s
	human := &HumanRequest{Audience: audience}
	labels := map[string]bool{}
	for _, o := range options {
		s.choices = append(s.choices, string(o.Key))
		human.Choices = append(human.Choices, Choice{string(o.Key), o.Label, o.Prompt})
		if o.Label == "" {
			s.problem("choices", "%q has no label", o.Key)
		}
		if labels[o.Label] {
			s.problem("choices", "the label %q is there twice", o.Label)
		}
		labels[o.Label] = true
	}
	checkChoices(s, s.choices)
	if audience == "" {
		s.problem("audience", "it is empty")
	}
	s.node.HumanDecision = human
	s.schema = withEnum(s.schema, "choice", s.choices)
	s.node.ExpectedOutput = marshal(Expected{Kind: ExpectAnswer, Schema: s.schema})
	s.call("request", request != nil, value(request))
	for i, o := range opts {
		if o.set == nil {
			s.problem("options", "option %d isn't set; use After", i+1)
			continue
		}
		o.set(s)
	}
	return &HumanNode[C]{n}
}

// After answers with a choice when nobody did in time.
func After[C ~string](d time.Duration, choice C) HumanOption[C] {
	return HumanOption[C]{func(s *spec) {
		h := s.node.HumanDecision
		if h.TimeoutMs != 0 {
			s.problem("timeout", "After is given twice")
		}
		if d < time.Millisecond {
			s.problem("timeout", "%s is not a time to wait", d)
		}
		if !slices.Contains(s.choices, string(choice)) {
			s.problem("timeout", "its answer %q is none of the choices", choice)
		}
		for _, c := range h.Choices {
			if c.Key == string(choice) && c.Prompt != "" {
				s.problem("timeout", "its answer %q needs a text, which nobody gives", choice)
			}
		}
		h.TimeoutMs, h.Default = d.Milliseconds(), string(choice)
	}}
}

// isChoice reports whether a text can be a choice's key.
func isChoice(s string) bool {
	return len(s) > 0 && len(s) <= 128 && isID(s)
}

// isID reports whether a text can be the id of a node.
func isID(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// badID says what is wrong with the id of a node, exit or include, or "".
func badID(id string) string {
	switch {
	case !isID(id):
		return fmt.Sprintf("%q is no id; want a letter or _, then letters, digits, _ or -", id)
	case len(id) > 128:
		return fmt.Sprintf("%q has more than 128 characters", id)
	case len(id) >= 2 && id[:2] == "__":
		return fmt.Sprintf("%q begins with __, which is reserved", id)
	case slices.Contains([]string{"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"}, id):
		return fmt.Sprintf("%q is reserved, since it means something else in TypeScript", id)
	}
	return ""
}
