package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Completion says how an agent step ends: by Submit or by AssistantMessage.
type Completion[Out any] struct{ set func(*spec) }

// Agent is a step for a model.
func Agent[Out any](id string, prompt func(*Ctx) string, completion Completion[Out], opts ...NodeOption) *NodeOf[Out] {
	n := newNode[Out](id, TypeAgent, opts)
	n.s.call("prompt", prompt != nil, value(prompt))
	if completion.set == nil {
		n.s.problem("completion", "give Submit or AssistantMessage")
		return n
	}
	completion.set(n.s)
	return n
}

// SubmitOption is Validate.
type SubmitOption[Out any] struct{ set func(*spec) }

// Submit ends a step with a submitted value, checked by the JSON Schema of its
// type. What is refused is told to the model, and the step stays open.
func Submit[Out any](opts ...SubmitOption[Out]) Completion[Out] {
	return Completion[Out]{func(s *spec) {
		s.node.ExpectedOutput = marshal(Expected{Kind: ExpectSubmit, Schema: s.schema})
		if len(opts) > 1 {
			s.problem("validate", "given twice")
		}
		for i, o := range opts {
			if o.set == nil {
				s.problem("completion", "option %d of Submit isn't set; use Validate", i+1)
				continue
			}
			o.set(s)
		}
	}}
}

// Validate refuses a submission with the error that f returns.
func Validate[Out any](f func(*Ctx, Out) error) SubmitOption[Out] {
	return SubmitOption[Out]{func(s *spec) {
		s.call("validate", f != nil, func(c *Ctx, arg JSON) (JSON, error) {
			var out Out
			if err := json.Unmarshal(arg, &out); err != nil {
				return nil, fmt.Errorf("the submission is no %T: %w", out, err)
			}
			if err := f(c, out); err != nil {
				return nil, err
			}
			return stored(out)
		})
	}}
}

// MessageOption is MaxChars or MaxCharsOf.
type MessageOption struct{ set func(*spec, *Expected) }

// AssistantMessage ends a step with the model's visible answer, whose exact
// text is the output. It is shown to people as it is written, so it is never
// asked for again.
func AssistantMessage(opts ...MessageOption) Completion[string] {
	return Completion[string]{func(s *spec) {
		e := Expected{Kind: ExpectAssistant}
		if len(opts) > 1 {
			s.problem("maxChars", "given twice")
		}
		for i, o := range opts {
			if o.set == nil {
				s.problem("maxChars", "option %d of AssistantMessage isn't set; use MaxChars or MaxCharsOf", i+1)
				continue
			}
			o.set(s, &e)
		}
		s.node.ExpectedOutput = marshal(e)
	}}
}

// MaxChars fails a step whose answer has more than n UTF-16 units.
func MaxChars(n int) MessageOption {
	return MessageOption{func(s *spec, e *Expected) {
		if n <= 0 {
			s.problem("maxChars", "%d is not a positive integer; leave it out for no limit", n)
		}
		e.MaxChars = n
	}}
}

// MaxCharsOf computes the limit before the prompt. What is no positive integer
// fails the attempt before anything is asked.
func MaxCharsOf(f func(*Ctx) int) MessageOption {
	return MessageOption{func(s *spec, e *Expected) {
		e.DynamicMaxChars = true
		s.call("maxChars", f != nil, value(f))
	}}
}

// Decided is the output of Decision.
type Decided[C ~string] struct {
	Route  C      `json:"route"`
	Reason string `json:"reason"`
}

// DecisionNode is a model's choice.
type DecisionNode[C ~string] struct{ *NodeOf[Decided[C]] }

// target makes a DecisionNode that isn't set yet no node at all.
func (n *DecisionNode[C]) target() *spec {
	if n == nil {
		return nil
	}
	return n.NodeOf.target()
}

// Decision asks a model to choose. It is an agent step that submits a Decided.
func Decision[C ~string](id string, question func(*Ctx) string, choices ...C) *DecisionNode[C] {
	keys := keysOf(choices)
	n := newNode[Decided[C]](id, TypeAgent, nil)
	checkChoices(n.s, keys)
	n.s.choices = keys
	n.s.schema = withEnum(n.s.schema, "route", keys)
	n.s.node.ExpectedOutput = marshal(Expected{Kind: ExpectSubmit, Schema: n.s.schema})
	n.s.call("prompt", question != nil, value(func(c *Ctx) string {
		return question(c) + "\n\nChoose one route: " + strings.Join(keys, ", ") + ". Give the reason."
	}))
	return &DecisionNode[C]{n}
}

func keysOf[C ~string](choices []C) []string {
	out := make([]string, len(choices))
	for i, c := range choices {
		out[i] = string(c)
	}
	return out
}

func checkChoices(s *spec, keys []string) {
	if len(keys) == 0 {
		s.problem("choices", "there are none")
	}
	seen := map[string]bool{}
	for _, k := range keys {
		if !isChoice(k) {
			s.problem("choices", "%q is no key; want a letter or _, then letters, digits, _ or -, 128 characters at most", k)
		}
		if seen[k] {
			s.problem("choices", "%q is there twice", k)
		}
		seen[k] = true
	}
}
