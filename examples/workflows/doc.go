// Package workflows holds the example workflows. Each file is one; run it from
// a checkout with
//
//	go run ./cmd/gamma run example:NAME
//
// and see what each is for with "gamma run --list". The first ones need no
// model: their steps are commands, small Go functions, timers and people. Those
// with steps for a model show both ways in which such a step ends: by a
// submission, which is checked, and by what is said to the user.
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
		{"recommend", Recommend},
		{"summary-check", SummaryCheck},
		{"triage", Triage},
		{"two-turn", TwoTurn},
	}
}
