package cli

import (
	"context"
	"fmt"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// gate lets a call of a workflow's step through when its run is certain to be
// claimed here.
type gate struct {
	*toolbox
	here  *host.Live // nil: no workflow runs reach the session
	steps *host.Steps
}

// Run carries out a call.
func (g gate) Run(ctx context.Context, call session.ToolCall, update func(string)) session.Output {
	if g.here == nil || g.steps == nil {
		return g.toolbox.Run(ctx, call, update)
	}
	attempt := ""
	err := g.here.View(func(s *session.State) {
		if s.Run != nil && s.Run.Step != nil {
			attempt = s.Run.Step.Attempt
		}
	})
	if err == nil && attempt != "" {
		err = g.steps.Sure(ctx, attempt)
	}
	if err != nil {
		return session.Output{Outcome: transcript.OutcomeError, Text: fmt.Sprintf("error: not run: the step was stopped before this call began: %v", err)}
	}
	return g.toolbox.Run(ctx, call, update)
}
