package workflows

import (
	"time"

	w "github.com/gamma-harness/gamma/workflow"
)

// Pace says how long to wait.
type Pace struct {
	Seconds int `json:"seconds,omitempty" jsonschema:"how long to wait in the end; 2 if it isn't given"`
}

// DelayRetry tries a command that fails at first, again after a growing wait,
// and then waits for a while. Both waits are durable: kill the process, and the
// run goes on where it was.
func DelayRetry() (*w.Definition, error) {
	in := w.Input(func(p Pace) (Pace, error) {
		if p.Seconds <= 0 {
			p.Seconds = 2
		}
		return p, nil
	})
	flaky := w.Shell("flaky",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c",
				`echo try >> .gamma-tries; n=$(wc -l < .gamma-tries); echo "try $n"; test "$n" -ge 3`}}
		},
		func(c *w.Ctx, r w.ShellResult) (string, error) { return r.Stdout, nil },
		w.Backoff(5, 500*time.Millisecond),
		w.StatusDetail("fails twice, then works"))
	// A step of its own: flaky still has its tries if it is killed at the last one.
	tidy := w.Shell("tidy",
		func(*w.Ctx) w.Command { return w.Command{Command: "rm", Args: []string{"-f", ".gamma-tries"}} },
		func(*w.Ctx, w.ShellResult) (bool, error) { return true, nil })
	wait := w.Delay("wait", func(c *w.Ctx) time.Duration { return time.Duration(in.Of(c).Seconds) * time.Second })
	done := w.Compute("done", func(c *w.Ctx) (string, error) { return "It worked at last, and then we waited.", nil })
	flow, err := w.Define("delay-retry", in, flaky,
		w.Description("Retry a flaky command with growing waits, then wait on a durable timer."),
		w.Then(flaky, tidy), w.Then(tidy, wait), w.Then(wait, done))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
