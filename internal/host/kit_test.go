package host_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool/workflowtool"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	w "github.com/gamma-harness/gamma/workflow"
)

// paced is a model whose answers are let through one by one, and that says
// when it is asked.
type paced struct {
	llm.Model
	asked chan *llm.Request // nil: nobody wants to know
	pass  chan struct{}     // nil: each answer comes at once
}

func (p *paced) Stream(ctx context.Context, r *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if p.asked != nil {
		select {
		case p.asked <- r:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if p.pass != nil {
		select {
		case <-p.pass:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return p.Model.Stream(ctx, r, emit)
}

// process is one gamma process: a host with the sessions that live in it.
type process struct {
	*place
	home     *disk.Home
	sessions *host.Sessions
	steps    *host.Steps
	runs     *host.Runs
	model    llm.Model
	started  []string
}

// script makes a model of steps.
func (p *place) script(steps string) llm.Model {
	p.t.Helper()
	s, err := llm.ParseScript("script.yaml", []byte("version: 1\nsteps:\n"+steps))
	if err != nil {
		p.t.Fatal(err)
	}
	return s.Model()
}

// process makes one that shares database and home with the others.
func (p *place) process(name string, model llm.Model, dead ...string) *process {
	p.t.Helper()
	home, err := disk.OpenHome(filepath.Join(p.dir, "home"))
	if err != nil {
		p.t.Fatal(err)
	}
	q := &process{place: p, home: home, sessions: host.NewSessions(), model: model}
	q.steps = &host.Steps{Sessions: q.sessions}
	q.runs = p.host(name, dead...)
	q.runs.Live, q.runs.Steps = q.sessions.IDs, q.steps
	return q
}

// liveSession is a session that lives in a process.
type liveSession struct {
	p     *process
	id    string
	disk  *disk.Session
	agent *agent.Agent
	here  *host.Live
	tool  *host.Tool
	done  bool
}

// Run is the session's tools.
type hands struct{ workflow *host.Tool }

func (h *hands) Run(ctx context.Context, c session.ToolCall, update func(string)) session.Output {
	return h.workflow.Run(ctx, c, update)
}

// open makes a session, or takes over the one with this id.
func (p *process) open(id string) *liveSession {
	p.t.Helper()
	box, err := session.NewToolbox([]llm.Tool{workflowtool.Declaration()})
	if err != nil {
		p.t.Fatal(err)
	}
	prefix, err := session.NewPrefix("base", box)
	if err != nil {
		p.t.Fatal(err)
	}
	h := &liveSession{p: p, id: id}
	if id == "" {
		h.id = uuid.Must(uuid.NewV7()).String()
	}
	h.disk, err = p.home.Open(h.id, transcript.OpenStart, transcript.Owner{PID: 1, Host: "test"}, "test", time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		header := transcript.Session{Session: h.id, Variant: "base", Mark: rand.Text()[:16], Model: "script", Workspace: p.dir, Digests: prefix.Digests}
		h.disk, err = p.home.Create(header, transcript.Owner{PID: 1, Host: "test"}, "test", time.Now())
	}
	if err != nil {
		p.t.Fatal(err)
	}
	state, err := session.Fold(h.disk.Entries)
	if err != nil {
		p.t.Fatal(err)
	}
	env := session.Env{Tools: box, Prefix: prefix, Facts: session.FactsNow{Date: "2026-11-30"},
		Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}
	h.here = host.NewLive(h.id, int64(state.Epoch))
	if err := p.db.Own(p.t.Context(), h.id, h.here.Token); err != nil {
		p.t.Fatal(err)
	}
	h.tool = &host.Tool{Here: h.here, Steps: p.steps, Workspace: p.dir, Runs: func(context.Context) (*host.Runs, error) { return p.runs, nil },
		Offers: p.offers, Started: func(run string) { p.started = append(p.started, run) }}
	h.agent = agent.Start(agent.Config{State: state, Store: h.disk, Keep: h.disk, Model: p.model, Tools: &hands{h.tool},
		Env: func(now time.Time) session.Env { e := env; e.Now = now; return e },
		Publish: func(u agent.Published) {
			if u.Type == session.AgentStart || u.Type == session.AgentSettled {
				h.here.Changed()
			}
		}})
	p.sessions.Add(h.here, h.agent)
	p.t.Cleanup(h.leave)
	return h
}

func (p *process) offers() ([]host.Offer, error) {
	var out []host.Offer
	for name, d := range p.defs {
		out = append(out, host.Offer{Name: name, Source: "test:" + name, Definition: d})
	}
	return out, nil
}

// leave ends the session as a process does that ends.
func (h *liveSession) leave() {
	if h.done {
		return
	}
	h.done = true
	h.p.sessions.Remove(h.here)
	h.agent.Close(time.Second)
	if err := h.disk.Close(); err != nil {
		h.p.t.Error(err)
	}
}

// begin starts a run of a definition with this session as origin ("" is none).
func (p *process) begin(name, session string) string {
	p.t.Helper()
	id, err := p.runs.Start(p.t.Context(), host.Request{Definition: p.defs[name], Source: "test:" + name, Input: w.JSON(`{"word":"hi"}`),
		Session: session, Workspace: p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// output is what a completed run ended with.
func (p *process) output(r *flow.Run) string {
	p.t.Helper()
	if r.Status != flow.Completed {
		p.t.Fatalf("run %s is %s (%s): %s", r.ID, r.Status, r.Reason, r.Message)
	}
	out, err := p.db.Output(p.t.Context(), r.ID, r.Nodes[r.Result].Seq)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(out)
}

// log reads a session as somebody else does.
func (p *process) log(id string) []transcript.Entry {
	p.t.Helper()
	l, err := p.home.Read(id)
	if err != nil {
		p.t.Fatal(err)
	}
	return l.Entries
}

// told lists what a session was told by steps and has said, a line each.
func (p *process) told(id string) string {
	p.t.Helper()
	var out []string
	for _, e := range p.log(id) {
		switch b := e.Body.(type) {
		case *transcript.Arrive:
			if b.Step != nil {
				_, node, _ := strings.Cut(b.Step.Attempt, "/")
				out = append(out, b.Step.Kind+" "+node)
			} else if b.Human {
				out = append(out, "user: "+b.Text)
			}
		case *transcript.Answer:
			if text := transcript.TextOf(b.Parts); text != "" {
				out = append(out, "says: "+text)
			}
		case *transcript.Result:
			out = append(out, "result: "+b.Text)
		case *transcript.Settled:
			out = append(out, "settled: "+string(b.Reason))
		}
	}
	return strings.Join(out, "\n")
}

// driven drives a run beside the test.
func (p *process) driven(ctx context.Context, id string) (wait func() *flow.Run) {
	type end struct {
		run *flow.Run
		err error
	}
	c := make(chan end, 1)
	go func() {
		r, err := p.runs.Drive(ctx, id, nil)
		c <- end{r, err}
	}()
	return func() *flow.Run {
		p.t.Helper()
		e := <-c
		if e.err != nil {
			p.t.Fatal(e.err)
		}
		return e.run
	}
}

type reply struct {
	Answer string `json:"answer"`
}

// ask is a prompt.
func ask(text string) func(*w.Ctx) string { return func(*w.Ctx) string { return text } }

// submits is a script's step that hands in an answer.
func submits(answer string) string {
	return "  - tools: [{name: workflow, args: {action: submit, output: {answer: " + answer + "}}}]\n"
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
