package owner

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// route is what stands behind /sessions/ID/.
type route struct {
	method string
	arg    bool // one more element follows in the path
	stream bool
	answer func(s *Server, r *http.Request, arg string) (any, error)
}

func routes(name string) (route, bool) {
	switch name {
	case "injections":
		return route{method: http.MethodPost, answer: (*Server).inject}, true
	case "prompt":
		return route{method: http.MethodPost, answer: (*Server).prompt}, true
	case "steer":
		return route{method: http.MethodPost, answer: (*Server).steer}, true
	case "abort":
		return route{method: http.MethodPost, answer: (*Server).abort}, true
	case "resume":
		return route{method: http.MethodPost, answer: (*Server).resume}, true
	case "approvals":
		return route{method: http.MethodPost, arg: true, answer: (*Server).approve}, true
	case "state":
		return route{method: http.MethodGet, answer: (*Server).state}, true
	case "receipts":
		return route{method: http.MethodGet, arg: true, answer: (*Server).receipt}, true
	case "events":
		return route{method: http.MethodGet, stream: true}, true
	}
	return route{}, false
}

// route finds the route of a request.
func (s *Server) route(r *http.Request) (rt route, arg string, err error) {
	path := strings.Split(r.URL.EscapedPath(), "/") // "", sessions, ID, NAME, arg?
	if len(path) < 4 || len(path) > 5 || path[0] != "" || path[1] != "sessions" {
		return rt, "", s.noPath(r)
	}
	if path[2] != s.cfg.ID {
		return rt, "", refuse(http.StatusNotFound, wire.CodeNotFound, "", "session %q isn't served here; this is the socket of session %s", path[2], s.cfg.ID)
	}
	rt, ok := routes(path[3])
	if !ok || rt.arg != (len(path) == 5) {
		return rt, "", s.noPath(r)
	}
	if rt.arg {
		if arg, err = url.PathUnescape(path[4]); err != nil || arg == "" {
			return rt, "", s.noPath(r)
		}
	}
	return rt, arg, nil
}

func (s *Server) noPath(r *http.Request) error {
	return refuse(http.StatusNotFound, wire.CodeNotFound, "",
		"no path %q; there are /sessions/%s/ with injections, prompt, steer, abort, resume, approvals/ID, state, events and receipts/ID", r.URL.Path, s.cfg.ID)
}

func (s *Server) inject(r *http.Request, _ string) (any, error) {
	var in wire.Injection
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	a, err := injected(in)
	if err != nil {
		return nil, err
	}
	return s.arrive(r, a)
}

func (s *Server) prompt(r *http.Request, _ string) (any, error) {
	a, err := s.speak(r, transcript.ClassPrompt)
	a.Live = true
	return a, err
}

func (s *Server) steer(r *http.Request, _ string) (any, error) {
	return s.speak(r, transcript.ClassSteer)
}

func (s *Server) speak(r *http.Request, class transcript.Class) (wire.Accepted, error) {
	var in wire.Prompt
	if err := decode(r, &in); err != nil {
		return wire.Accepted{}, err
	}
	if in.ID == "" {
		in.ID = rand.Text()
	}
	a, err := spoken(in, class)
	if err != nil {
		return wire.Accepted{}, err
	}
	return s.arrive(r, a)
}

func (s *Server) arrive(r *http.Request, a transcript.Arrive) (wire.Accepted, error) {
	reply, err := s.send(r, session.Arrives{Arrive: a})
	return wire.Accepted{Entry: reply.ID.String(), Again: reply.Again}, err
}

func (s *Server) abort(r *http.Request, _ string) (any, error) {
	return s.command(r, session.Aborts{By: "user"})
}

func (s *Server) resume(r *http.Request, _ string) (any, error) {
	return s.command(r, session.Resumes{By: "user"})
}

func (s *Server) command(r *http.Request, ev session.Event) (any, error) {
	var none wire.Nothing
	if err := decode(r, &none); err != nil {
		return nil, err
	}
	_, err := s.send(r, ev)
	return none, err
}

func (s *Server) approve(r *http.Request, arg string) (any, error) {
	var in wire.Decision
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	id, err := transcript.ParseID(arg)
	if err != nil {
		return nil, refuse(http.StatusNotFound, wire.CodeNotFound, "", "no approval %q in session %s", arg, s.cfg.ID)
	}
	if in.Choice != string(transcript.ApprovalAllow) && in.Choice != string(transcript.ApprovalDeny) {
		return nil, badField("choice", "choice is %q; want allow or deny", in.Choice)
	}
	if len(in.Reason) > maxReason {
		return nil, badField("reason", "reason has %d bytes; at most %d are taken", len(in.Reason), maxReason)
	}
	reply, err := s.send(r, session.Approves{Ask: id, Choice: transcript.Choice(in.Choice), By: "user", Reason: in.Reason, Digest: in.Digest})
	return wire.Accepted{Entry: reply.ID.String()}, err
}

// maxReason is how many bytes a person's reason may have.
const maxReason = 4096

// send hands an event to the session.
func (s *Server) send(r *http.Request, ev session.Event) (session.Reply, error) {
	reply, err := s.cfg.Session.Send(r.Context(), ev)
	switch {
	case err != nil:
		return reply, notLive(err)
	case reply.Err == nil:
		return reply, nil
	case reply.Err.Code == "bad_arrival":
		return reply, badField("id", "%s", reply.Err.Message)
	}
	return reply, refuse(http.StatusConflict, reply.Err.Code, "", "%s", reply.Err.Message)
}

func notLive(err error) error {
	return refuse(http.StatusServiceUnavailable, wire.CodeNotLive, "", "the session takes nothing more: %v", err)
}

func (s *Server) state(*http.Request, string) (any, error) {
	out := wire.SessionState{Queue: []wire.Waiting{}, Approvals: []wire.Approval{}}
	now := time.Now().UTC()
	err := s.cfg.Session.View(func(st *session.State) {
		out.Status, out.Tasks = string(st.Status(now)), *tasksOf(&st.Tasks)
		if st.Run != nil {
			out.Run = st.Run.ID.String()
		}
		for _, c := range st.Asks() {
			out.Approvals = append(out.Approvals, askedOf(c.AskID.String(), c.Ask, c.Arguments))
		}
		for _, a := range st.Queue {
			out.Queue = append(out.Queue, wire.Waiting{ID: a.AID, Kind: a.Inject, Class: string(a.Class), Entry: a.ID.String()})
		}
		// Updates are published in the goroutine that this runs in, so the
		// newest event is the one that led here.
		out.At = s.cfg.Feed.At()
	})
	if err != nil {
		return nil, notLive(err)
	}
	return out, nil
}

func (s *Server) receipt(_ *http.Request, aid string) (any, error) {
	entries, err := s.cfg.Entries()
	if err != nil {
		return nil, err
	}
	r, ok := session.ReceiptOf(entries, aid)
	if !ok {
		return nil, refuse(http.StatusNotFound, wire.CodeNotFound, "", "nothing with the id %q has arrived in session %s", aid, s.cfg.ID)
	}
	return wire.Receipt{ID: aid, State: string(r.State), Arrival: r.Arrival.String(), Entry: r.Entry.String()}, nil
}
