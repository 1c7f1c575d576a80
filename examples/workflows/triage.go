package workflows

import (
	w "github.com/gamma-harness/gamma/workflow"
)

// Kind is what a model takes a message for.
type Kind string

// The kinds.
const (
	Bug      Kind = "bug"
	Question Kind = "question"
	Neither  Kind = "neither"
)

// Triage lets a model decide on the way: a question is answered, a bug becomes
// a report, and what is neither of them ends without a further call.
func Triage() (*w.Definition, error) {
	in := w.Input[Task]()
	kind := w.Decision("kind", func(c *w.Ctx) string { return "What is this message from a user?\n\n" + in.Of(c).Task },
		Bug, Question, Neither)
	report := w.Agent("report", func(c *w.Ctx) string {
		return "Write a bug report of this message:\n\n" + in.Of(c).Task + "\n\nIt was taken for a bug because: " + kind.Of(c).Reason
	}, w.Submit[Reply]())
	answer := w.Agent("answer", func(c *w.Ctx) string { return "Answer the user: " + in.Of(c).Task }, w.AssistantMessage())
	dropped := w.Compute("dropped", func(c *w.Ctx) (string, error) { return "Not for us: " + kind.Of(c).Reason, nil })
	flow, err := w.Define("triage", in, kind,
		w.Description("A model decides which way to go: a bug report, an answer to the user, or nothing."),
		w.Route(kind, w.Lanes[Kind]{Bug: report, Question: answer, Neither: dropped}))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
