package host

import (
	"context"
	"encoding/json"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// Tool carries out the calls of the workflow tool.
type Tool struct {
	Steps *Steps // nil: no steps are carried out here
	Here  *Live  // the session that calls
}

// args are the arguments of a call.
type args struct {
	Action  string        `json:"action"`
	Attempt string        `json:"attempt"`
	Output  workflow.JSON `json:"output"`
}

// Run carries out a call. What goes wrong is told to the model.
func (t *Tool) Run(_ context.Context, call session.ToolCall, _ func(string)) session.Output {
	var a args
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return toolError(err.Error())
	}
	if a.Action == "submit" && t.Steps != nil {
		return t.submit(a)
	}
	return toolError("the action " + a.Action + " isn't available here")
}

func (t *Tool) submit(a args) session.Output {
	if a.Attempt == "" {
		a.Attempt = t.attempt()
	}
	if a.Attempt == "" || len(a.Output) == 0 {
		return toolError("submit needs output, and an open step of a workflow whose output it is")
	}
	if err := t.Steps.Submit(a.Attempt, a.Output); err != nil {
		return toolError("not accepted: " + err.Error() + "\nThe step is still open.")
	}
	return session.Output{Outcome: transcript.OutcomeOK, Text: "Accepted as the output of the step. End your turn now.",
		Submitted: &transcript.Submission{Attempt: a.Attempt, Output: json.RawMessage(a.Output)}}
}

// attempt is the one that the session's run belongs to.
func (t *Tool) attempt() (id string) {
	if t.Here == nil {
		return ""
	}
	err := t.Here.View(func(s *session.State) {
		if s.Run != nil && s.Run.Step != nil {
			id = s.Run.Step.Attempt
		}
	})
	if err != nil {
		return "" // the session has ended, and with it the call
	}
	return id
}

func toolError(text string) session.Output {
	return session.Output{Outcome: transcript.OutcomeError, Text: "error: " + text}
}
