package runner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/internal/runner"
	w "github.com/gamma-harness/gamma/workflow"
)

// broken is a program that panics when the node is computed, after a while.
type broken struct {
	w.Program
	after time.Duration
	calls atomic.Int32
}

func (b *broken) Call(ctx context.Context, name string, v w.View, arg w.JSON) (w.JSON, error) {
	if name != "think.run" {
		return b.Program.Call(ctx, name, v, arg)
	}
	if b.calls.Add(1); b.after > 0 {
		<-time.After(b.after)
	}
	panic("a fault of ours")
}

// TestR4_ABrokenComputationEndsDriving: whoever drives then, Drive's caller
// gets the panic, and nothing is done under its claim any more.
func TestR4_ABrokenComputationEndsDriving(t *testing.T) {
	for _, after := range []time.Duration{0, 9 * time.Millisecond, 20 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			d := computing(t, 0, false)
			b := &broken{Program: d.conf.Program, after: after}
			d.conf.Program = b
			var got any
			func() {
				defer func() { got = recover() }()
				_, _ = d.begin(t.Context())
			}()
			if fmt.Sprint(got) != "a fault of ours" {
				t.Errorf("after %s: recovered %v", after, got)
			}
			commits := len(d.commits)
			<-time.After(10 * runner.Lease)
			if n := b.calls.Load(); n != 1 || len(d.commits) != commits {
				t.Errorf("after %s: %d calls, %d commits behind Drive's end", after, n, len(d.commits)-commits)
			}
		})
	}
}
