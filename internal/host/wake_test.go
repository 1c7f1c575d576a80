package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
)

// TestW40_WorkIsWoken: a host that waits for its next look takes up a start at
// once.
func TestW40_WorkIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.define("one", say("a", "x"))
		conf := p.host("h1").Config
		wake, done := make(chan struct{}, 1), make(chan time.Time, 9)
		conf.Wake = wake
		conf.Observe = func(_ string, _ *flow.Run, c *flow.Commit) {
			if c.Next.Status.Ended() {
				done <- time.Now()
			}
		}
		h := host.NewRuns(conf)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Work(ctx, 1) }()
		synctest.Wait() // it has found nothing
		from := time.Now()
		p.start(h, "one")
		wake <- struct{}{}
		if took := (<-done).Sub(from); took >= time.Second {
			t.Errorf("it was taken up after %s", took)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
