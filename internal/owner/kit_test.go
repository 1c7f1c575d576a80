package owner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

const (
	sessionID = "0193-test"
	childHome = "OWNER_TEST_HOME" // set: this process is an owner that serves until it is killed
)

func TestMain(m *testing.M) {
	if home := os.Getenv(childHome); home != "" {
		serveAsChild(home)
	}
	goleak.VerifyTestMain(m)
}

// serveAsChild owns a session and says so on standard output.
func serveAsChild(home string) {
	o := open(1, echo)
	if err := o.serve(Config{Home: home}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

// startChild starts another process that owns the session.
func startChild(t *testing.T, home string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childHome+"="+home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child said %q (%v)", line, err)
	}
	return cmd
}

// memory is a Store that keeps entries.
type memory struct {
	mu      sync.Mutex
	entries []transcript.Entry
}

func (m *memory) Append(es []transcript.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, es...)
	return nil
}

func (m *memory) WriteTodo([]byte) error { return nil }

func (m *memory) all() ([]transcript.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[:len(m.entries):len(m.entries)], nil
}

// arrivals counts the arrivals with this id.
func (m *memory) arrivals(aid string) int {
	all, _ := m.all()
	n := 0
	for _, e := range all {
		if a, ok := e.Body.(*transcript.Arrive); ok && a.AID == aid {
			n++
		}
	}
	return n
}

type modelFunc func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error)

func (f modelFunc) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	return f(ctx, req, emit)
}

type toolsFunc func(ctx context.Context, c session.ToolCall, update func(string)) session.Output

func (f toolsFunc) Run(ctx context.Context, c session.ToolCall, update func(string)) session.Output {
	return f(ctx, c, update)
}

// owned is a session that this process owns and serves.
type owned struct {
	*Server
	agent  *agent.Agent
	store  *memory
	feed   *Feed
	tools  toolsFunc
	permit func(string, json.RawMessage) session.Judgement
	idle   chan transcript.Reason // gets each end of a run
	seen   func(agent.Published)  // called with each update, after the feed
}

const mark = "MARKMARKMARKMARK"

// open brings an empty session to life; nobody listens yet.
func open(epoch int, model modelFunc, with ...func(*owned)) *owned {
	o := &owned{store: &memory{}, feed: NewFeed(epoch, mark), idle: make(chan transcript.Reason, 100),
		permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}
	o.store.entries = []transcript.Entry{
		{ID: transcript.ID{Epoch: epoch, Seq: 1}, V: 1, Body: &transcript.Open{Segment: epoch, Why: transcript.OpenStart}},
		{ID: transcript.ID{Epoch: epoch, Seq: 2}, V: 1, Body: &transcript.Session{Session: sessionID, Variant: "base", Mark: mark}}}
	for _, f := range with {
		f(o)
	}
	o.start(model)
	return o
}

func (o *owned) start(model modelFunc) {
	object := json.RawMessage(`{"type":"object"}`)
	box, err := session.NewToolbox([]llm.Tool{{Name: "bash", Schema: object}, {Name: "read", Schema: object}})
	if err != nil {
		panic(err)
	}
	prefix, err := session.NewPrefix("base", box)
	if err != nil {
		panic(err)
	}
	all, _ := o.store.all()
	s, err := session.Fold(all)
	if err != nil {
		panic(err)
	}
	o.agent = agent.Start(agent.Config{State: s, Store: o.store, Model: model, Tools: o.tools, Publish: o.publish,
		Env: func(now time.Time) session.Env {
			return session.Env{Now: now, Tools: box, Prefix: prefix, Facts: session.FactsNow{Date: "2026-11-30"},
				Permit: o.permit}
		}})
}

func (o *owned) publish(p agent.Published) {
	o.feed.Publish(p)
	if o.seen != nil {
		o.seen(p)
	}
	if p.Type == session.AgentSettled && !p.Settle.More {
		o.idle <- p.Settle.Reason
	}
}

// serve listens; cfg names the home and what is unusual.
func (o *owned) serve(cfg Config) (err error) {
	cfg.ID, cfg.Feed, cfg.Entries = sessionID, o.feed, o.store.all
	if cfg.Session == nil {
		cfg.Session = o.agent
	}
	o.Server, err = Serve(cfg)
	return err
}

// live opens and serves a session in a home of its own, and dials it.
func live(t *testing.T, model modelFunc, with ...func(*owned)) (*owned, *Client) {
	t.Helper()
	o := open(1, model, with...)
	t.Cleanup(func() { o.agent.Close(time.Minute) })
	if err := o.serve(Config{Home: shortHome(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o, reach(t, o)
}

// shortHome is a data directory whose socket paths need no shortening.
func shortHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "own")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return home
}

func reach(t *testing.T, o *owned) *Client {
	t.Helper()
	c, err := Dial(o.cfg.Home, sessionID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// echo answers at once.
func echo(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	return say("answer"), nil
}

func say(text string) *llm.Response {
	return &llm.Response{Stop: llm.StopEnd, Parts: []llm.Part{{Type: llm.TextPart, Text: text}}}
}

// raw is a request as any program could make it.
type raw struct {
	method, path, body string
	kind               string // content type; "" is application/json, "-" none
	token              string // "" is the right one, "-" none
}

// do sends a raw request and returns the answer and its body.
func (o *owned) do(t *testing.T, r raw) (*http.Response, wire.Failure) {
	t.Helper()
	token, err := Token(o.cfg.Home)
	if err != nil {
		t.Fatal(err)
	}
	path := r.path
	if !strings.HasPrefix(path, "/") {
		path = "/sessions/" + sessionID + "/" + path
	}
	req, err := http.NewRequestWithContext(t.Context(), r.method, "http://gamma"+path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	switch r.token {
	case "":
		req.Header.Set("Authorization", "Bearer "+token)
	case "-":
	default:
		req.Header.Set("Authorization", r.token)
	}
	switch r.kind {
	case "":
		req.Header.Set("Content-Type", "application/json")
	case "-":
	default:
		req.Header.Set("Content-Type", r.kind)
	}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", o.Path())
	}}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var f wire.Failure
	if resp.StatusCode >= 400 {
		if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || f.Error.Code == "" || f.Error.Message == "" {
			t.Errorf("%s %s: status %d without a whole error: %+v (%v)", r.method, r.path, resp.StatusCode, f, err)
		}
	}
	return resp, f
}
