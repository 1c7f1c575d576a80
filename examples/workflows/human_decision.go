package workflows

import (
	"strings"

	w "github.com/gamma-harness/gamma/workflow"
)

// Task is what shall be done.
type Task struct {
	Task string `json:"task" jsonschema:"what shall be done, in a sentence"`
}

// Plan is what a person is asked to approve.
type Plan struct {
	Steps []string `json:"steps"`
	Notes string   `json:"notes,omitempty"`
}

// Verb is a person's choice.
type Verb string

// The choices.
const (
	Yes    Verb = "yes"
	No     Verb = "no"
	Replan Verb = "replan"
)

// HumanDecision asks a person to approve a plan; "replan" takes a text and
// plans again. The run waits for the answer without a process.
func HumanDecision() (*w.Definition, error) {
	var approve *w.HumanNode[Verb]
	in := w.Input[Task]()
	plan := w.Compute("plan", func(c *w.Ctx) (Plan, error) {
		p := Plan{Steps: strings.Split(in.Of(c).Task, ", then ")}
		if a, ok := approve.Last(c); ok {
			p.Notes = a.Text
		}
		return p, nil
	})
	approve = w.HumanDecision("approve", "operator",
		func(c *w.Ctx) w.Request {
			p := plan.Of(c)
			text := "- " + strings.Join(p.Steps, "\n- ")
			if p.Notes != "" {
				text += "\n\nYou asked for: " + p.Notes
			}
			return w.Request{Title: "Approve the recommended plan", Text: text, Subject: p}
		},
		[]w.Option[Verb]{{Key: Yes, Label: "Go on"}, {Key: No, Label: "Stop"},
			{Key: Replan, Label: "Plan again", Prompt: "What should change?"}})
	approved := w.Compute("approved", func(c *w.Ctx) (Plan, error) { return plan.Of(c), nil })
	stopped := w.Compute("stopped", func(c *w.Ctx) (string, error) { return "Stopped by a person.", nil })
	flow, err := w.Define("human-decision", in, plan,
		w.Description("Plan, and ask a person to approve: the plan, a stop, or another plan."),
		w.Title(func(c *w.Ctx) string { return in.Of(c).Task }),
		w.Then(plan, approve),
		w.Route(approve, w.Lanes[Verb]{Yes: approved, No: stopped, Replan: plan}),
		w.MaxSteps(40))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
