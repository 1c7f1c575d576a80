package workflows

import (
	w "github.com/gamma-harness/gamma/workflow"
)

// AssistantReply shows the other way in which a model's step ends: what the
// model says to the user is the output, exactly as it was said.
func AssistantReply() (*w.Definition, error) {
	in := w.Input[Task]()
	reply := w.Agent("reply", func(c *w.Ctx) string { return "Answer the user: " + in.Of(c).Task }, w.AssistantMessage(w.MaxChars(4000)))
	flow, err := w.Define("assistant-reply", in, reply,
		w.Description("Have a model answer the user: the visible answer is the output."))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
