package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// still is a session that takes no event.
type still struct {
	state  session.State
	enter  chan struct{} // nil: who looks isn't counted
	let    chan struct{}
	closed chan struct{}
}

func (s *still) Send(context.Context, session.Event) (session.Reply, error) {
	return session.Reply{}, errors.New("it takes nothing")
}

func (s *still) View(f func(*session.State)) error {
	if s.enter != nil {
		s.enter <- struct{}{}
		<-s.let
	}
	f(&s.state)
	return nil
}

func (s *still) Done() <-chan struct{} { return s.closed }

// at is a session whose run belongs to an attempt.
func at(x *Steps, id, attempt string) *Live {
	s := &still{closed: make(chan struct{})}
	if attempt != "" {
		s.state.Run = &session.Run{Step: &transcript.Step{Attempt: attempt, Completion: transcript.CompleteSubmit}}
	}
	l := NewLive(id, 1)
	x.Sessions.Add(l, s)
	return l
}

func stepOf(run, attempt, session string) runner.Step {
	return runner.Step{Run: run, Attempt: attempt, Session: session, There: true, Completion: transcript.CompleteSubmit,
		Accept: func(workflow.JSON) error { return nil }, Waits: func(bool) error { return nil }}
}

// soon is a context for what mustn't wait for anything.
func soon(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(stop)
	return ctx
}

// TestW31_ALateSubmissionWaitsForNothing: what is submitted for a step that
// isn't the session's own, or that is known to be over, is refused at once.
func TestW31_ALateSubmissionWaitsForNothing(t *testing.T) {
	const own, other = "r/x#1", "r/y#2"
	refused := func(t *testing.T, x *Steps, l *Live, attempt string, meanwhile func()) {
		t.Helper()
		ctx := soon(t)
		end := make(chan error, 1)
		go func() { end <- x.Submit(ctx, l, attempt, nil) }()
		meanwhile()
		if err := <-end; err == nil || !strings.Contains(err.Error(), "no step waits") || ctx.Err() != nil {
			t.Errorf("%v, %v", err, ctx.Err())
		}
	}
	for _, c := range []struct {
		name, attempt string
		meanwhile     func(x *Steps, l *Live, done func())
	}{
		{"of another attempt", other, func(*Steps, *Live, func()) {}},
		{"of no attempt", "mistyped", func(*Steps, *Live, func()) {}},
		{"the run has gone on", own, func(x *Steps, _ *Live, _ func()) { x.moved("r", other) }},
		{"the run has ended", own, func(x *Steps, _ *Live, _ func()) { x.moved("r", "") }},
		{"another step has begun", own, func(x *Steps, l *Live, _ func()) {
			f, r := x.join(t.Context(), l, 1, stepOf("r", other, "S"))
			t.Cleanup(func() { x.leave(f, r) })
		}},
		{"nobody carries the run on", own, func(_ *Steps, _ *Live, done func()) { done() }},
	} {
		t.Run("W31 "+c.name, func(t *testing.T) {
			x := &Steps{Sessions: NewSessions()}
			l := at(x, "S", own)
			done := x.Coming("r")
			refused(t, x, l, c.attempt, func() { c.meanwhile(x, l, done) })
			done()
			if len(x.coming) != 0 {
				t.Errorf("%d promises remain", len(x.coming))
			}
		})
	}
	t.Run("W31 the session's own step is waited for", func(t *testing.T) {
		x := &Steps{Sessions: NewSessions()}
		l := at(x, "S", own)
		defer x.Coming("r")()
		end := make(chan error, 1)
		go func() { end <- x.Submit(soon(t), l, own, nil) }()
		x.moved("r", own)
		f, r := x.join(t.Context(), l, 1, stepOf("r", own, "S"))
		defer x.leave(f, r)
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

// TestW41_ASessionHasNoSayInAnothersStep: neither by submit nor by update, and
// it isn't told of it.
func TestW41_ASessionHasNoSayInAnothersStep(t *testing.T) {
	x := &Steps{Sessions: NewSessions()}
	mine, other := at(x, "S", ""), at(x, "T", "")
	for _, attempt := range []string{"r/b#2", "r/a#1"} {
		f, r := x.join(t.Context(), mine, 1, stepOf("r", attempt, "S"))
		defer x.leave(f, r)
	}
	for name, err := range map[string]error{
		"submit": x.Submit(soon(t), other, "r/a#1", nil),
		"update": x.Publish(soon(t), other, "r/a#1", "", workflow.Update{}),
	} {
		if err == nil || strings.Contains(err.Error(), "r/b#2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := x.Submit(soon(t), mine, "r/a#1", nil); err != nil {
		t.Error(err)
	}
	if err := x.Submit(soon(t), mine, "r/c#3", nil); err == nil || !strings.Contains(err.Error(), "open here: r/a#1, r/b#2") {
		t.Errorf("its own ones: %v", err)
	}
}

// TestW30_AnAttemptEndsBeforeTheNextBegins: who asks again while the old attempt
// is about to speak doesn't speak beside it, and nothing is done after Step has
// returned.
func TestW30_AnAttemptEndsBeforeTheNextBegins(t *testing.T) {
	x := &Steps{Sessions: NewSessions()}
	door := &still{enter: make(chan struct{}), let: make(chan struct{}), closed: make(chan struct{})}
	l := NewLive("S", 1)
	x.Sessions.Add(l, door)
	s := stepOf("r", "r/x#1", "S")
	first, caller := x.join(t.Context(), l, 1, s)
	<-door.enter // it looks
	left := make(chan struct{})
	go func() {
		x.leave(first, caller)
		close(left)
	}()
	<-first.left
	second, next := x.join(t.Context(), l, 1, s)
	if second == first {
		t.Fatal("it has joined what nobody waits for")
	}
	select {
	case <-door.enter:
		t.Fatal("two attempts look at once")
	case <-left:
		t.Fatal("it has left, and its attempt goes on")
	case <-time.After(20 * time.Millisecond):
	}
	door.let <- struct{}{}
	<-left
	<-door.enter
	end := make(chan struct{})
	go func() { x.leave(second, next); close(end) }()
	door.let <- struct{}{}
	<-end
	if n := len(x.ending) + len(x.attempts); n != 0 {
		t.Errorf("%d attempts remain", n)
	}
}
