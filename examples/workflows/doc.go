// Package workflows holds the example workflows. Each file is one; run it from
// a checkout with
//
//	go run ./cmd/gamma run example:NAME
//
// and see what each is for with "gamma run --list". Most need no model: the
// steps are commands, small Go functions, timers and people. Those that do
// (assistant-reply, echo, model-decision, recommend, summary-check, two-turn) run
// offline with the model that scripts/NAME.yaml plays:
//
//	go run ./cmd/gamma run echo "What is a monad?" --model script:examples/workflows/scripts/echo.yaml
package workflows

import "github.com/gamma-harness/gamma/workflow"

// Example is one example workflow.
type Example struct {
	Name string
	Make func() (*workflow.Definition, error)
}

// All lists the examples.
func All() []Example {
	return []Example{
		{"assistant-reply", AssistantReply},
		{"branch", Branch},
		{"command-batch", CommandBatch},
		{"delay-retry", DelayRetry},
		{"echo", Echo},
		{"fix-loop", FixLoop},
		{"human-decision", HumanDecision},
		{"include", Include},
		{"model-decision", ModelDecision},
		{"progress", Progress},
		{"recommend", Recommend},
		{"summary-check", SummaryCheck},
		{"two-turn", TwoTurn},
	}
}
