package host

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gamma-harness/gamma/internal/session"
)

// Session is a live session: a door to the goroutine that owns it.
type Session interface {
	Send(context.Context, session.Event) (session.Reply, error)
	View(func(*session.State)) error
	Done() <-chan struct{} // closed when it has ended
}

// Sessions knows which sessions live in this process. It is safe for
// concurrent use.
type Sessions struct {
	mu   sync.Mutex
	live map[string]*Live
}

// Live is a session that lives here, under the lease with this token.
type Live struct {
	ID    string
	Token int64

	ready  chan struct{} // closed when door is set
	door   Session
	gone   chan struct{} // closed when it is about to end, or won't live
	end    func()        // closes gone
	mu     sync.Mutex
	change chan struct{}
}

// ErrGone: a session that was about to live here won't.
var ErrGone = errors.New("the session doesn't live here")

// NewSessions knows of none.
func NewSessions() *Sessions { return &Sessions{live: map[string]*Live{}} }

// NewLive is a session that is about to live here under the lease with this
// token. Its owner calls Changed whenever a run of the session begins or
// settles.
func NewLive(id string, token int64) *Live {
	gone := make(chan struct{})
	return &Live{ID: id, Token: token, ready: make(chan struct{}), gone: gone, end: sync.OnceFunc(func() { close(gone) }), change: make(chan struct{})}
}

// Add says that a session lives here now and is reached by door.
func (s *Sessions) Add(l *Live, door Session) {
	l.door = door
	close(l.ready)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[l.ID] = l
}

// Remove says that a session is about to end here, or won't live: who waits for
// that waits no longer.
func (s *Sessions) Remove(l *Live) {
	l.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[l.ID] == l {
		delete(s.live, l.ID)
	}
}

// IDs lists the sessions that live here.
func (s *Sessions) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.live))
	for id := range s.live {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// Get returns a session that lives here, nil if it doesn't.
func (s *Sessions) Get(id string) *Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// Send hands the session an event. Of a session that is about to live it waits
// until that does; ErrGone: it won't.
func (l *Live) Send(ctx context.Context, ev session.Event) (session.Reply, error) {
	if err := l.lives(ctx); err != nil {
		return session.Reply{}, err
	}
	return l.door.Send(ctx, ev)
}

// View runs f with the session's state, in its goroutine. It waits as Send does.
func (l *Live) View(f func(*session.State)) error {
	if err := l.lives(context.Background()); err != nil {
		return err
	}
	return l.door.View(f)
}

// lives waits until there is a door. One that is there stays the way in: it
// tells itself that its session has ended.
func (l *Live) lives(ctx context.Context) error {
	select {
	case <-l.ready:
		return nil
	default:
	}
	select {
	case <-l.ready:
		return nil
	case <-l.gone:
		return ErrGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Changed wakes who waits for the session. It never waits itself, so the
// session's goroutine may call it.
func (l *Live) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.change)
	l.change = make(chan struct{})
}

// Idle waits until nothing runs in the session.
func (l *Live) Idle(ctx context.Context) error {
	for {
		change := l.next()
		busy := false
		if err := l.View(func(s *session.State) { busy = s.Busy() && !s.Interrupted() }); err != nil || !busy {
			return err
		}
		select {
		case <-change:
		case <-l.door.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// next is closed at the next change. Who looks at the session's state after
// having called it misses none.
func (l *Live) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.change
}
