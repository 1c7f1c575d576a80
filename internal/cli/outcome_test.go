package cli

import (
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// TestC2_AnInterruptedRunNeedsNobody: but for a copy's step, which goes on in
// the original. Why a run was interrupted is for people to read, nothing more.
func TestC2_AnInterruptedRunNeedsNobody(t *testing.T) {
	for _, c := range []struct {
		run    session.Run
		status string
		code   int
	}{
		{session.Run{Reason: transcript.Interrupted}, "done", exitDone},
		{session.Run{Reason: transcript.Interrupted, Detail: "its end is lost"}, "done", exitDone},
		{session.Run{Reason: transcript.Interrupted, Detail: "it goes on elsewhere", Copied: true}, "needs_human", exitHuman},
	} {
		if status, code := outcome(&c.run); status != c.status || code != c.code {
			t.Errorf("%+v: %s, %d", c.run, status, code)
		}
	}
}
