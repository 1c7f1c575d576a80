package owner

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// Session is the live session that a Server speaks for. *agent.Agent is one.
//
// Send returns when the event's commit is on disk, with what the session says
// to it. An error means that the session takes nothing more, or that ctx
// ended before it took the event.
//
// View runs f with the present state where the state is owned. An error means
// that the session has ended.
type Session interface {
	Send(context.Context, session.Event) (session.Reply, error)
	View(f func(*session.State)) error
}

// Config is what a Server needs.
type Config struct {
	Home    string // the data directory; it exists
	ID      string // of the session
	Session Session
	Feed    *Feed // gets the session's updates, from its first one on
	// Entries reads the session's entries in log order, for receipts.
	Entries func() ([]transcript.Entry, error)
	Log     *slog.Logger // dropped clients and faults; nil: nowhere
}

// Limits of a connection.
const (
	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second
	idleTime   = time.Minute
	stallTime  = 10 * time.Second // that a client may let a write of events wait
	closeTime  = time.Second      // that requests get to end when the server closes
	headerSize = 16 << 10
)

// Server is the socket of a live session.
type Server struct {
	cfg     Config
	place   place
	socket  fs.FileInfo
	token   [sha256.Size]byte // its digest
	uid     int               // who may speak
	stall   time.Duration
	http    *http.Server
	closing chan struct{}
	close   sync.Once
	served  sync.WaitGroup
}

// Serve makes the socket and answers until Close is called. The caller holds
// the session's lock.
func Serve(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, uid: os.Geteuid(), stall: stallTime, closing: make(chan struct{})}
	if s.cfg.Log == nil {
		s.cfg.Log = slog.New(slog.DiscardHandler)
	}
	l, err := s.listen()
	if err != nil {
		return nil, fmt.Errorf("session %s: socket: %w", cfg.ID, err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerSize, ConnContext: withPeer, ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn)}
	s.served.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("the socket failed", "session", cfg.ID, "error", err)
		}
	})
	return s, nil
}

// listen binds the socket and puts it in its place.
func (s *Server) listen() (net.Listener, error) {
	p, err := placeOf(s.cfg.Home, s.cfg.ID)
	if err != nil {
		return nil, err
	}
	token, err := Token(p.home)
	if err != nil {
		return nil, err
	}
	if err := p.make(); err != nil {
		return nil, err
	}
	s.place, s.token = p, sha256.Sum256([]byte(token))
	if fi, err := os.Lstat(p.path); err == nil && fi.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is no socket: remove it", p.path)
	}
	l, err := bind(p.path)
	if err != nil {
		return nil, err
	}
	if s.socket, err = os.Lstat(p.path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// bind makes a socket that appears at path when it is ready, over whatever
// socket is there.
func bind(path string) (*net.UnixListener, error) {
	unready := path + bindSuffix
	if err := os.Remove(unready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: unready, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(unready, 0o600)
	if err == nil {
		err = os.Rename(unready, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(unready))
	}
	return l, nil
}

// Path returns the path of the socket, for people.
func (s *Server) Path() string { return s.place.path }

// Close removes the socket, ends the event streams with the reason closed and
// waits a second for other requests. It may be called more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		// Another owner's socket stays. Ours keeps its inode until the
		// listener is closed, so the two can't be taken for each other.
		if fi, err := os.Lstat(s.place.path); err == nil && os.SameFile(fi, s.socket) {
			if err := os.Remove(s.place.path); err != nil {
				s.cfg.Log.Warn("the socket could not be removed", "error", err)
			}
		}
		close(s.closing)
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close() // who still waits is cut off
		}
	})
	s.served.Wait()
}

// peerKey is the key of a connection's peer in its requests' contexts.
type peerKey struct{}

type peer struct {
	uid int
	err error
}

// withPeer notes who is at the other end of a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	p := peer{uid: -1, err: errors.New("not a unix socket")}
	if u, ok := c.(*net.UnixConn); ok {
		p.uid, p.err = peerUID(u)
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("a request failed", "panic", p, "stack", string(debug.Stack()))
			s.fail(w, refuse(http.StatusInternalServerError, wire.CodeInternal, "", "the request failed: %v", p))
		}
	}()
	if err := s.admit(r); err != nil {
		s.fail(w, err)
		return
	}
	rt, arg, err := s.route(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	if r.Method != rt.method {
		w.Header().Set("Allow", rt.method)
		s.fail(w, refuse(http.StatusMethodNotAllowed, wire.CodeMethod, "", "%s isn't possible here: use %s", r.Method, rt.method))
		return
	}
	if rt.stream {
		s.stream(w, r)
		return
	}
	body, err := rt.answer(s, r, arg)
	if err != nil {
		s.fail(w, err)
		return
	}
	status := http.StatusOK
	if r.Method == http.MethodPost {
		status = http.StatusAccepted
	}
	s.say(w, status, body)
}

// admit checks who speaks.
func (s *Server) admit(r *http.Request) error {
	switch p, _ := r.Context().Value(peerKey{}).(peer); {
	case p.err != nil:
		return refuse(http.StatusForbidden, wire.CodeForbidden, "", "the kernel doesn't say whose process this is: %v", p.err)
	case p.uid != s.uid:
		return refuse(http.StatusForbidden, wire.CodeForbidden, "", "a process of user %d may not speak to a session of user %d", p.uid, s.uid)
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	if !ok || subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
		return refuse(http.StatusUnauthorized, wire.CodeUnauthorized, "",
			"the token is missing or wrong: send the header Authorization: Bearer with the content of %s; if that file is newer than the session's owner, start the owner again", tokenPath(s.place.home))
	}
	return nil
}

// say sends an answer.
func (s *Server) say(w http.ResponseWriter, status int, body any) {
	data, err := encode(body, s.cfg.Feed.mark)
	if err != nil {
		panic(err) // strings and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // who has gone doesn't read it
}

// fail sends a refusal.
func (s *Server) fail(w http.ResponseWriter, err error) {
	var r *refused
	if !errors.As(err, &r) {
		r = &refused{http.StatusInternalServerError, wire.Refusal{Code: wire.CodeInternal, Message: err.Error()}}
	}
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	s.say(w, r.status, wire.Failure{Error: r.Refusal})
}
