package deploy

import (
	w "github.com/gamma-harness/gamma/workflow"
)

// Notes are release notes, which a model writes.
type Notes struct {
	Text string `json:"text"`
}

// WriteNotes makes a workflow with a step for a model.
func WriteNotes() (*w.Flow[Release], error) {
	in := w.Input[Release]()
	write := w.Agent("write", func(c *w.Ctx) string { return "Write release notes for " + in.Of(c).Version }, w.Submit[Notes]())
	done := w.Compute("done", func(c *w.Ctx) (Notes, error) { return write.Of(c), nil })
	return w.Define("notes", in, write, w.Description("Have a model write release notes."), w.Then(write, done))
}

// NotesWorkflow is what gamma.Main takes.
func NotesWorkflow() (*w.Definition, error) {
	flow, err := WriteNotes()
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
