package host

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// prompt is what a step tells its session: the author's prompt, a line, and the
// contract by which the step completes. A reminder is the contract alone.
func prompt(s runner.Step, kind string) session.Prompts {
	text := s.Prompt + "\n\n---\n" + contract(s)
	switch kind {
	case transcript.StepReminder:
		text = "The workflow step is still open: nothing was submitted, or what was submitted was refused.\n\n---\n" + contract(s)
	case transcript.StepResume:
		text = "The workflow step was stopped and goes on now. Its prompt again:\n\n" + text
	}
	return session.Prompts{Step: transcript.Step{Run: s.Run, Workflow: s.Workflow, Node: s.Node, Attempt: s.Attempt, Kind: kind,
		Completion: s.Completion, MaxChars: s.MaxChars}, Text: text}
}

// contract says how the step completes.
func contract(s runner.Step) string {
	if s.Completion == transcript.CompleteAssistant {
		text := "Reply with a normal assistant message.\nDo not call the workflow tool to complete this step.\nYour visible reply becomes the workflow step output."
		if s.MaxChars > 0 {
			text += fmt.Sprintf("\nUse at most %d characters.", s.MaxChars)
		}
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This is step %s of the workflow %s, attempt %s.\n", s.Node, s.Workflow, s.Attempt)
	fmt.Fprintf(&b, "When it is done, call the tool workflow once, with this shape:\n%s\n", call(map[string]any{"action": "submit", "attempt": s.Attempt, "output": "…"}))
	if schema := strings.TrimSpace(string(s.Expect)); schema != "" && schema != "null" {
		fmt.Fprintf(&b, "The output must fit this JSON Schema:\n%s\n", schema)
	}
	b.WriteString("A call that is refused says why: correct the output and submit again. When it is accepted, end your turn.")
	return b.String()
}

// call is an example of the tool's arguments.
func call(args map[string]any) string {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // plain texts
	}
	return string(b)
}
