package workflows

import (
	w "github.com/gamma-harness/gamma/workflow"
)

// Reply is a short answer.
type Reply struct {
	Answer string `json:"answer"`
}

// Echo is the smallest workflow with a model: one step, whose output is
// submitted as data and checked by its schema.
func Echo() (*w.Definition, error) {
	in := w.Input[Task]()
	reply := w.Agent("reply", func(c *w.Ctx) string { return "Answer concisely: " + in.Of(c).Task }, w.Submit[Reply]())
	flow, err := w.Define("echo", in, reply,
		w.Description("Have a model answer, as checked data: the smallest workflow with a step for a model."))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
