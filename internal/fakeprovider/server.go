package fakeprovider

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// Dialect is an API that the server speaks.
type Dialect string

// The dialects.
const (
	Responses Dialect = "responses"
	Chat      Dialect = "chat"
)

// maxBody bounds a request body, in bytes.
const maxBody = 256 << 20

// Options are the server's switches; the zero value is the strict default.
type Options struct {
	// Key is the bearer token that requests must have; "" takes any or none.
	Key string
	// NoDeveloper: Chat doesn't know the role developer.
	NoDeveloper bool
	// Models are listed by GET /models; default "fake".
	Models []string
	// Fault, if set, is asked for each accepted request; a fault that it
	// returns is served in place of the script and counts as an error served.
	Fault func(*Request) *Fault
	// Verdict, if set, is told of each request before it is answered, by the
	// goroutine that answers it.
	Verdict func(Verdict)
	// Light: bodies and headers aren't kept, for a server that runs for long.
	Light bool
}

// Verdict is what the server makes of a request.
type Verdict struct {
	Request Request // without its body if the server is light
	Path    string
	Status  int      // of the answer
	Refusal *Refusal // nil: it keeps all rules
	Break   *Break   // nil: it extends the last one, or is its session's first
}

// Request is a recorded request.
type Request struct {
	Number  int // from 1, in the order of arrival
	At      time.Time
	Dialect Dialect
	Header  http.Header
	Body    []byte
	Model   string
	Session string // digest of the first message; "" if the body couldn't be read
	Turns   int    // assistant turns that it holds
	For     string // the script's sequence: turn, step:NODE, or compaction for a request without tools
	// Position in the script; -1 if the request was refused.
	Position int
}

// Refusal is a request that broke a rule.
type Refusal struct {
	Request int // its number
	Rule    string
	Message string
}

// Break is a request that doesn't extend the last one of its session.
type Break struct {
	Session  string
	Request  int    // its number
	Previous int    // the number of the request that it should extend
	What     string // "system", "tools" or "messages"
	Item     int    // of messages: the first one that differs, from 0
}

// Server plays a script. It is safe for concurrent use.
type Server struct {
	script *llm.Script
	opts   Options
	mux    *http.ServeMux

	mu        sync.Mutex
	count     int // of the requests
	requests  []Request
	refusals  []Refusal
	breaks    []Break
	sessions  map[string]*session
	summaries map[string]int  // places of requests without tools, by their body
	served    map[string]bool // raw items that may come back as they are
}

// session is what the server remembers of a conversation.
type session struct {
	last   *conversation
	number int    // of the request with last
	seq    string // the sequence of last
	errors []mishap
	said   int            // 1 if last was answered, 0 if by an error
	gone   map[string]int // turns that requests held before they broke off, by sequence
}

// mishap is a request that was answered by an error.
type mishap struct {
	seq   string
	turns int // of its sequence
}

// New returns a server that plays the script.
func New(script *llm.Script, o Options) *Server {
	s := &Server{script: script, opts: o, mux: http.NewServeMux(),
		sessions: map[string]*session{}, served: map[string]bool{}, summaries: map[string]int{}}
	for _, prefix := range []string{"/v1", ""} {
		s.mux.HandleFunc("POST "+prefix+"/responses", s.serve(Responses, parseResponses))
		s.mux.HandleFunc("POST "+prefix+"/chat/completions", s.serve(Chat, parseChat))
		s.mux.HandleFunc("GET "+prefix+"/models", s.models)
	}
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.tell(Verdict{Path: r.URL.Path, Status: http.StatusNotFound,
			Refusal: &Refusal{Rule: "route", Message: r.Method + " isn't answered here; the routes are POST /v1/responses, POST /v1/chat/completions and GET /v1/models"}})
	}
	s.mux.ServeHTTP(w, r)
}

// tell reports a verdict.
func (s *Server) tell(v Verdict) {
	if s.opts.Verdict != nil {
		s.opts.Verdict(v)
	}
}

// Requests returns the requests so far, refused ones too.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refusals returns the requests that broke a rule.
func (s *Server) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// Breaks returns the requests that don't extend the last one of their session.
func (s *Server) Breaks() []Break {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.breaks)
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if v := s.checkKey(r); v != nil {
		s.tell(Verdict{Path: r.URL.Path, Status: http.StatusUnauthorized, Refusal: &Refusal{Rule: v.rule, Message: v.message}})
		writeError(w, http.StatusUnauthorized, v)
		return
	}
	s.tell(Verdict{Path: r.URL.Path, Status: http.StatusOK})
	names := s.opts.Models
	if len(names) == 0 {
		names = []string{"fake"}
	}
	list := []map[string]any{}
	for _, n := range names {
		list = append(list, map[string]any{"id": n, "object": "model", "created": 0, "owned_by": "gamma"})
	}
	w.Header().Set("Content-Type", "application/json")
	// The client may have gone; there is nobody to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
}

// serve returns the handler of a dialect.
func (s *Server) serve(d Dialect, parse func(*Server, []byte) (*conversation, *violation)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			writeError(w, http.StatusBadRequest, &violation{rule: "json", message: "the body can't be read: " + err.Error()})
			return
		}
		req := Request{At: time.Now(), Dialect: d, Header: r.Header.Clone(), Body: body, Position: -1}
		status := http.StatusUnauthorized
		v := s.checkKey(r)
		var c *conversation
		if v == nil {
			status = http.StatusBadRequest
			c, v = parse(s, body)
		}
		if v != nil {
			refusal := s.refuse(&req, v)
			s.tell(Verdict{req, r.URL.Path, status, &refusal, nil})
			writeError(w, status, v)
			return
		}
		s.answer(w, r, &req, c, s.accept(&req, c))
	}
}

func (s *Server) checkKey(r *http.Request) *violation {
	got, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.opts.Key == "" || subtle.ConstantTimeCompare([]byte(got), []byte(s.opts.Key)) == 1 {
		return nil
	}
	return &violation{rule: "key", code: "invalid_api_key", message: "Incorrect API key provided."}
}

func (s *Server) refuse(req *Request, v *violation) Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(req)
	r := Refusal{req.Number, v.rule, v.message}
	if !s.opts.Light {
		s.refusals = append(s.refusals, r)
	}
	return r
}

// record numbers a request and keeps it. s.mu is held.
func (s *Server) record(req *Request) {
	s.count++
	req.Number = s.count
	if s.opts.Light {
		req.Body, req.Header = nil, nil
		return
	}
	s.requests = append(s.requests, *req)
}

// accept records a request that keeps all rules, and what it breaks off.
func (s *Server) accept(req *Request, c *conversation) (broken *Break) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Model, req.Session, req.Turns = c.model, c.session(), c.turns
	ses := s.sessions[req.Session]
	if ses == nil {
		ses = &session{gone: map[string]int{}}
		s.sessions[req.Session] = ses
	}
	if ses.last != nil {
		if what, item := c.extends(ses.last); what != "" {
			broken = &Break{Session: req.Session, Previous: ses.number, What: what, Item: item}
			if earlier, _ := ses.last.extends(c); earlier != "" { // no repetition of an older one
				ses.breakOff(s.sequences(ses.last), s.sequences(c))
			}
		}
	}
	req.For = s.sequence(c.kind())
	at := ses.gone[req.For] + s.sequences(c)[req.For]
	req.Position = at
	for _, e := range ses.errors {
		if e.seq == req.For && e.turns <= at {
			req.Position++
		}
	}
	ses.seq = req.For
	if c.toolless() && slices.ContainsFunc(s.script.Steps, func(st llm.Step) bool { return st.For == "compaction" }) {
		s.summarise(req)
	}
	s.record(req)
	if broken != nil {
		broken.Request = req.Number
		s.breaks = append(s.breaks, *broken)
	}
	ses.last, ses.number, ses.said = c, req.Number, 1
	return broken
}

// sequence is the script's sequence for a kind of turns.
func (s *Server) sequence(kind string) string {
	if llm.IsStepKind(kind) && !s.script.Has(kind) {
		return "turn"
	}
	return kind
}

// sequences counts the turns of a request by sequence.
func (s *Server) sequences(c *conversation) map[string]int {
	out := map[string]int{}
	for kind, n := range c.kinds {
		out[s.sequence(kind)] += n
	}
	return out
}

// breakOff notes the turns that a request no longer holds.
func (ses *session) breakOff(had, has map[string]int) {
	had[ses.seq] += ses.said
	for seq, n := range had {
		ses.gone[seq] += max(0, n-has[seq])
	}
}

// summarise gives a request without tools its place among those of its kind:
// an equal one has the place of the first.
func (s *Server) summarise(req *Request) {
	key := string(req.Body)
	if _, known := s.summaries[key]; !known {
		s.summaries[key] = len(s.summaries)
	}
	req.For, req.Position = "compaction", s.summaries[key]
}

// failed notes that the request was answered by an error.
func (s *Server) failed(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[req.Session]
	ses.errors, ses.said = append(ses.errors, mishap{ses.seq, ses.gone[ses.seq] + s.sequences(ses.last)[ses.seq]}), 0
}

// remember notes a raw item that the client may send back unchanged.
func (s *Server) remember(item []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[string(item)] = true
}

func (s *Server) wasServed(item []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[string(item)]
}

// answer serves the fault or the step of the script.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req *Request, c *conversation, broken *Break) {
	verdict := Verdict{*req, r.URL.Path, http.StatusOK, nil, broken}
	if s.opts.Fault != nil {
		if f := s.opts.Fault(req); f != nil {
			s.failed(req)
			s.tell(verdict)
			for _, item := range f.Items {
				s.remember(item)
			}
			f.play(w, r)
			return
		}
	}
	step, err := s.script.Pick(req.For, "", req.Position, c.newest)
	if err != nil {
		verdict.Status, verdict.Refusal = http.StatusBadRequest, &Refusal{req.Number, "script", err.Error()}
		s.tell(verdict)
		writeError(w, http.StatusBadRequest, &violation{rule: "script", code: "script", message: err.Error()})
		return
	}
	if step.Error != nil {
		verdict.Status = step.Error.Status
	}
	s.tell(verdict)
	if !wait(r.Context(), step.DelayMs) {
		return
	}
	if e := step.Error; e != nil {
		s.failed(req)
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(e.RetryAfter.Seconds()+0.999)))
		}
		writeError(w, e.Status, &violation{code: e.Code, message: orDefault(e.Message, "a scripted error")})
		return
	}
	out := newStream(w, r, req, step)
	if req.Dialect == Chat {
		out.chat()
	} else {
		out.responses(s)
	}
	if step.Finish == llm.FinishCut && r.Context().Err() == nil {
		s.failed(req)
	}
}
