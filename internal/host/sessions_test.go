package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	w "github.com/gamma-harness/gamma/workflow"
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

// Whoever claims the run next finds the session free, so it is left while the
// claim is still held: when the run ends, waits, is parked, or couldn't be
// carried on.
func TestW40_TheSessionIsLeftBeforeTheClaim(t *testing.T) {
	for name, c := range map[string]struct {
		entry w.Target
		stop  bool
	}{
		"ends":              {say("a", "x"), false},
		"waits":             {gate("g"), false},
		"parked":            {slow("s"), true},
		"not carried on":    {nil, false},
		"ends with failure": {w.Compute("bad", func(*w.Ctx) (string, error) { return "", errors.New("no") }), false},
	} {
		t.Run("W40 "+name, func(t *testing.T) {
			p := newPlace(t)
			if c.entry != nil {
				p.define("it", c.entry)
			} else {
				p.define("it", say("a", "x"))
			}
			h := p.host("h")
			id := p.start(h, "it")
			if c.entry == nil { // its definition isn't here any more
				p.define("it", say("b", "y"))
			}
			carried, left := 0, 0
			h.Carries = func(run string) func() {
				carried++
				return func() {
					left++
					if _, i, err := p.db.Load(t.Context(), run); err != nil || i.Holder != "h" || i.LeaseUntil <= time.Now().UnixMilli() {
						t.Errorf("the claim was given back first: %q until %d, %v", i.Holder, i.LeaseUntil, err)
					}
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.stop {
				go func() { p.until("s"); stop() }()
			}
			if _, err := h.Drive(ctx, id, nil); err != nil {
				t.Error(err)
			}
			if carried == 0 || left != carried {
				t.Errorf("carried %d times, left %d times", carried, left)
			}
		})
	}
}

// A step that is to end before it is asked for isn't prompted: it may have no
// prompt then.
func TestW32_AStepThatIsToEndIsNotPrompted(t *testing.T) {
	p := newPlace(t)
	q := p.process("h", p.script("  - text: never\n"))
	h := q.open("")
	ctx, end := context.WithCancelCause(t.Context())
	end(runner.Ending(transcript.CauseEscape))
	for n := range 50 {
		s := runner.Step{Run: "r", Workflow: "say", Node: "say", Attempt: fmt.Sprintf("r/say#%d", n), Session: h.id, Completion: "assistant"}
		if o, err := q.steps.Step(ctx, s); err != nil || o.Stop != "aborted" || o.Cause != "escape" {
			t.Errorf("%+v, %v", o, err)
		}
	}
	check(t, q.told(h.id), "")
}
