package workflows

import (
	w "github.com/gamma-harness/gamma/workflow"
)

// Facts is what a check found in a summary.
type Facts struct {
	Sound bool   `json:"sound" jsonschema:"whether the summary says nothing that the text doesn't"`
	Note  string `json:"note"`
}

// SummaryCheck has a model tell the user something, and then checks what was
// told: the second step gets the words exactly as the user saw them.
func SummaryCheck() (*w.Definition, error) {
	in := w.Input[Task]()
	summary := w.Agent("summary", func(c *w.Ctx) string { return "Summarise this for the user in two sentences: " + in.Of(c).Task },
		w.AssistantMessage(w.MaxChars(2000)))
	check := w.Agent("check", func(c *w.Ctx) string {
		return "Compare the summary with the text.\n\nText:\n" + in.Of(c).Task + "\n\nSummary:\n" + summary.Of(c)
	}, w.Submit[Facts]())
	flow, err := w.Define("summary-check", in, summary,
		w.Description("Have a model summarise a text for the user, then check what the user has read."),
		w.Then(summary, check))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
