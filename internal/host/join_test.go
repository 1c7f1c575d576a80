package host

import (
	"context"
	"testing"

	"github.com/gamma-harness/gamma/internal/runner"
)

// A caller whose step is to end when it joins says so before the attempt
// begins. A park ends no step.
func TestW32_AStepIsToEndFromTheStart(t *testing.T) {
	for cause, want := range map[string]string{"timeout": "timeout", "cancel": "cancel", "escape": "escape", "park": ""} {
		l := NewLive("S", 1) // nothing is carried out before it lives
		ctx, end := context.WithCancelCause(t.Context())
		end(runner.Ending(cause))
		x := &Steps{Sessions: NewSessions()}
		f, r := x.join(ctx, l, 1, runner.Step{Attempt: "r/say#1"})
		if _, got := f.now(); got != want {
			t.Errorf("%s: it is to end for %q", cause, got)
		}
		x.Sessions.Remove(l)
		<-f.done
		x.leave(f, r)
	}
}
