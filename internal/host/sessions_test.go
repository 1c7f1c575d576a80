package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
)

// Nobody waits for ever for a session that doesn't come to live.
func TestW37_ASessionThatWontLive(t *testing.T) {
	sessions := host.NewSessions()
	t.Run("the caller gives up", func(t *testing.T) {
		l := host.NewLive("S", 1)
		ctx, stop := context.WithCancelCause(t.Context())
		gone := errors.New("parked")
		stop(gone)
		if _, err := l.Send(ctx, session.Resumes{}); !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
	})
	t.Run("its owner gives up", func(t *testing.T) {
		l := host.NewLive("S", 1)
		sent, seen := make(chan error), make(chan error)
		go func() {
			_, err := l.Send(t.Context(), session.Resumes{})
			sent <- err
		}()
		go func() { seen <- l.View(func(*session.State) {}) }()
		sessions.Remove(l)
		sessions.Remove(l)
		if err := <-sent; !errors.Is(err, host.ErrGone) {
			t.Errorf("%v", err)
		}
		if err := <-seen; !errors.Is(err, host.ErrGone) {
			t.Errorf("%v", err)
		}
	})
}
