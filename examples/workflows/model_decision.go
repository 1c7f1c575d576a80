package workflows

import (
	w "github.com/gamma-harness/gamma/workflow"
)

// Way is what a model can choose.
type Way string

// The ways.
const (
	Clear   Way = "clear"
	Unclear Way = "unclear"
)

// ModelDecision lets a model choose the way on. A task that is clear is
// answered; otherwise a person is asked what is meant.
func ModelDecision() (*w.Definition, error) {
	in := w.Input[Task]()
	classify := w.Decision("classify", func(c *w.Ctx) string {
		return "Is this task clear enough to be done without a question?\n\n" + in.Of(c).Task
	}, Clear, Unclear)
	answer := w.Agent("answer", func(c *w.Ctx) string { return "Answer concisely: " + in.Of(c).Task }, w.Submit[Reply]())
	question := w.Checkpoint[Reply]("question", func(c *w.Ctx) string { return "What is meant? " + classify.Of(c).Reason })
	flow, err := w.Define("model-decision", in, classify,
		w.Description("Have a model decide whether a task is clear: then it answers, else it asks you."),
		w.Route(classify, w.Lanes[Way]{Clear: answer, Unclear: question}))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
