package tool

import (
	"context"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool/shell"
)

// bash runs a command, or does something with a job.
func (s *Set) bash(ctx context.Context, call session.ToolCall, update func(string)) (session.Output, error) {
	a, err := decodeBash(call.Args)
	if err != nil {
		return session.Output{}, err
	}
	if a.command != "" {
		if err := s.places.here(); err != nil {
			return session.Output{}, err
		}
	}
	timeout := time.Duration(a.timeout * float64(time.Second))
	var r shell.Result
	switch {
	case a.action == "read":
		r = s.shell.Read(a.job)
	case a.action == "wait":
		r = s.shell.Await(ctx, a.job, timeout)
	case a.action == "kill":
		r = s.shell.Kill(ctx, a.job)
	case a.background:
		r = s.shell.Start(call.ID, a.command, timeout)
	default:
		r = s.shell.Run(ctx, call.ID, a.command, timeout, update)
	}
	out := session.Output{Outcome: outcomeOK, Text: r.Text, Details: details(r.Details)}
	if r.Failed {
		out.Outcome = outcomeError
	}
	return out, nil
}
