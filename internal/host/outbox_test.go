package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	w "github.com/gamma-harness/gamma/workflow"
)

// talk is a live session whose log is kept in memory.
type talk struct {
	*agent.Agent
	t       *testing.T
	id      string
	epoch   int
	mu      sync.Mutex
	entries []transcript.Entry
	asked   []string // the newest message of each request
	queued  chan string
	settled chan struct{}
}

// open starts a session, or the next owner of one.
func (p *place) open(id string, before *talk) *talk {
	p.t.Helper()
	k := &talk{t: p.t, id: id, epoch: 1, queued: make(chan string, 100), settled: make(chan struct{}, 100)}
	if before != nil {
		before.Close(time.Minute)
		k.epoch, k.entries = before.epoch+1, before.entries
	}
	k.add(&transcript.Open{Segment: k.epoch, Why: transcript.OpenStart})
	if before == nil {
		k.add(&transcript.Session{Session: id, Variant: "base", Mark: "M"})
	}
	state, err := session.Fold(k.entries)
	if err != nil {
		p.t.Fatal(err)
	}
	box, err := session.NewToolbox([]llm.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}})
	if err != nil {
		p.t.Fatal(err)
	}
	prefix, err := session.NewPrefix("base", box)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.db.Own(p.t.Context(), id, int64(k.epoch)); err != nil {
		p.t.Fatal(err)
	}
	k.Agent = agent.Start(agent.Config{State: state, Store: k, Model: k, Publish: k.publish, Env: func(now time.Time) session.Env {
		return session.Env{Now: now, Tools: box, Prefix: prefix, Facts: session.FactsNow{Date: "2026-11-30"}}
	}})
	p.t.Cleanup(func() { k.Close(time.Minute) })
	return k
}

func (k *talk) add(b transcript.Body) {
	k.entries = append(k.entries, transcript.Entry{ID: transcript.ID{Epoch: k.epoch, Seq: len(k.entries) + 1}, V: 1, Body: b})
}

func (k *talk) Append(es []transcript.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries = append(k.entries, es...)
	return nil
}

func (k *talk) WriteTodo([]byte) error { return nil }

// Stream answers each request.
func (k *talk) Stream(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			b.WriteString(part.Text + "\n")
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, b.String())
	return &llm.Response{Stop: llm.StopEnd, Parts: []llm.Part{{Type: llm.TextPart, Text: "fine"}}}, nil
}

func (k *talk) publish(p agent.Published) {
	switch p.Type {
	case session.Queued:
		k.queued <- p.Inject
	case session.AgentSettled:
		k.settled <- struct{}{}
	}
}

// say lets a person speak.
func (k *talk) say(id string) {
	k.t.Helper()
	_, err := k.Send(k.t.Context(), session.Arrives{Arrive: transcript.Arrive{AID: id, Class: transcript.ClassPrompt, Human: true, Text: id}})
	if err != nil {
		k.t.Fatal(err)
	}
	<-k.queued
	<-k.settled
}

// requests are what the model was asked so far.
func (k *talk) requests() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.asked...)
}

// tell starts and drives a run of a session on a host with an outbox.
func (p *place) tell(o *host.Outbox, name, session string) string {
	p.t.Helper()
	h := p.host("h1")
	h.Outbox = o
	id, err := h.Start(p.t.Context(), host.Request{Definition: p.defs[name], Source: "test:" + name, Input: w.JSON(`{"word":"hi"}`), Workspace: p.dir, Session: session})
	if err != nil {
		p.t.Fatal(err)
	}
	p.drive(h, id)
	return id
}

// running runs an outbox as long as the test. It looks for the rows of others
// only as often as it is told.
func (p *place) running(poll time.Duration) *host.Outbox {
	ctx, stop := context.WithCancel(context.Background())
	o := host.NewOutbox(p.db, func(session string, err error) { p.t.Errorf("%s: %v", session, err) })
	o.Poll = poll
	done := make(chan struct{})
	go func() { o.Run(ctx); close(done) }()
	p.t.Cleanup(func() { stop(); <-done })
	return o
}

func (p *place) undelivered(session string) int {
	p.t.Helper()
	notes, err := p.db.Outbox(p.t.Context(), session)
	if err != nil {
		p.t.Fatal(err)
	}
	return len(notes)
}

func news(text string) *w.NodeOf[w.Receipt] {
	return w.Notify("news", func(*w.Ctx) string { return text })
}

func TestW17_ANotificationWaitsForWords(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("<b>done</b>"))
	o, k := p.running(time.Hour), p.open("S", nil)
	o.Open("S", 1, k)
	p.tell(o, "news", "S")
	if kind := <-k.queued; kind != session.WorkflowNote || len(k.requests()) != 0 {
		t.Fatalf("a %s was queued, %d requests", kind, len(k.requests()))
	}
	k.say("hello")
	r := k.requests()
	if len(r) != 1 || !strings.Contains(r[0], "<data from=\"workflow news › news\" mark=\"M\">\n&lt;b&gt;done&lt;/b&gt;\n</data>\nhello") {
		t.Errorf("got %q", r)
	}
}

func TestW19_AFailureStartsOneTurn(t *testing.T) {
	p := newPlace(t)
	p.define("bad", w.Compute("bad", func(*w.Ctx) (string, error) { return "", errors.New("<no>") }))
	o, k := p.running(time.Hour), p.open("S", nil)
	o.Open("S", 1, k)
	id := p.tell(o, "bad", "S")
	if kind := <-k.queued; kind != session.BackgroundResult {
		t.Fatalf("a %s was queued", kind)
	}
	<-k.settled
	want := "<data from=\"workflow bad\" mark=\"M\">\nWorkflow bad, run " + id + ".\n\nThe run has failed: node bad: &lt;no&gt;\n</data>"
	if r := k.requests(); len(r) != 1 || !strings.Contains(r[0], want) {
		t.Errorf("got %q", r)
	}
}

// An answer that ends the run is a visit; what it leads to is told, too.
func TestW19_WhatAVisitEndsIsTold(t *testing.T) {
	p := newPlace(t)
	g := w.Checkpoint[in]("gate", func(*w.Ctx) string { return "?" })
	p.define("gate", g, w.Switch(g, "$.word", w.Cases{"go": say("a", "x")}))
	o, k := p.running(time.Hour), p.open("S", nil)
	o.Open("S", 1, k)
	id := p.tell(o, "gate", "S")
	h := p.host("h2")
	h.Outbox = o
	r, _, err := p.db.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), id, flow.Answer{Decision: r.Open.Decision, Value: w.JSON(`{"word":"stop"}`), By: "me"}); err != nil {
		t.Fatal(err)
	}
	if kind := <-k.queued; kind != session.BackgroundResult {
		t.Errorf("a %s was queued", kind)
	}
	<-k.settled
}

// The first process dies between the session's write and the mark.
func TestW17_SentAgainItIsKnown(t *testing.T) {
	p := newPlace(t)
	p.define("bad", w.Compute("bad", func(*w.Ctx) (string, error) { return "", errors.New("no") }))
	p.tell(nil, "bad", "S")
	k := p.open("S", nil)
	first := host.NewOutbox(p.db, nil)
	first.Open("S", 1, dying{k})
	if err := first.Deliver(t.Context(), "S"); err == nil || p.undelivered("S") != 1 {
		t.Fatalf("%v, %d rows wait", err, p.undelivered("S"))
	}
	<-k.settled
	next := p.open("S", k)
	second := host.NewOutbox(p.db, nil)
	second.Open("S", 2, next)
	if err := second.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 0 {
		t.Fatalf("%v, %d rows wait", err, p.undelivered("S"))
	}
	if n := len(k.requests()) + len(next.requests()); n != 1 {
		t.Errorf("%d turns", n)
	}
}

// dying is an inbox whose process dies when the session has written.
type dying struct{ host.Inbox }

func (d dying) Send(ctx context.Context, ev session.Event) (session.Reply, error) {
	if _, err := d.Inbox.Send(ctx, ev); err != nil {
		return session.Reply{}, err
	}
	return session.Reply{}, errors.New("the process was killed")
}

// A process that has lost the session doesn't mark what nobody reads.
func TestD5_OnlyTheSessionsOwnerMarks(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	p.tell(nil, "news", "S")
	old := p.open("S", nil)
	o := host.NewOutbox(p.db, nil)
	o.Open("S", 1, old)
	if err := p.db.Own(t.Context(), "S", 2); err != nil {
		t.Fatal(err)
	}
	if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 1 {
		t.Fatalf("%v, %d rows wait", err, p.undelivered("S"))
	}
	o.Open("S", 2, p.open("S", old))
	o.Close("S", 1) // the old one's end doesn't close the new one
	if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 0 {
		t.Errorf("%v, %d rows wait", err, p.undelivered("S"))
	}
}

func TestW20_OnePresentationStartsOneTurn(t *testing.T) {
	p := newPlace(t)
	p.define("shown", say("a", "the <answer>"), w.Present(func(*w.Ctx) string { return "Tell it briefly." }))
	o, k := p.running(time.Hour), p.open("S", nil)
	o.Open("S", 1, k)
	p.tell(o, "shown", "S")
	<-k.settled
	r := k.requests()
	if len(r) != 1 || !strings.Contains(r[0], "Tell it briefly.\n\nThe result follows as data.\n</workflow_result>\n<data from=\"workflow shown\" mark=\"M\">\n\"the &lt;answer&gt;\"\n</data>") {
		t.Errorf("got %q", r)
	}
	if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 0 {
		t.Fatalf("%v, %d rows wait", err, p.undelivered("S"))
	}
}

func TestW20_APresentationIsDropped(t *testing.T) {
	p := newPlace(t)
	p.define("shown", say("a", "x"), w.Present(func(*w.Ctx) string { return "Tell it." }))
	p.define("next", say("a", "x"))
	t.Run("W20 a person has spoken", func(t *testing.T) {
		p.tell(nil, "shown", "S")
		k := p.open("S", nil)
		<-time.After(2 * time.Millisecond) // the clock that both are written by has gone on
		k.say("something else")
		p.dropped(t, "S", k, 1)
	})
	t.Run("W20 a newer run", func(t *testing.T) {
		p.tell(nil, "shown", "T")
		<-time.After(2 * time.Millisecond)
		p.tell(nil, "next", "T")
		p.dropped(t, "T", p.open("T", nil), 0)
	})
}

func (p *place) dropped(t *testing.T, session string, k *talk, requests int) {
	t.Helper()
	o := host.NewOutbox(p.db, nil)
	o.Open(session, 1, k)
	if err := o.Deliver(t.Context(), session); err != nil || p.undelivered(session) != 0 {
		t.Errorf("%v, %d rows wait", err, p.undelivered(session))
	}
	if n := len(k.requests()); n != requests {
		t.Errorf("%d requests, want %d", n, requests)
	}
}

// The author's words fail: that is no reason not to present, and no reason for
// the run not to end.
func TestW20_WithoutTheAuthorsWords(t *testing.T) {
	for name, words := range map[string]func(*w.Ctx) string{
		"panics": func(*w.Ctx) string { panic("no") },
		"blank":  func(*w.Ctx) string { return " \n" },
		"long":   func(*w.Ctx) string { return strings.Repeat("𝄞", 30_000) },
	} {
		p := newPlace(t)
		p.define("shown", say("a", strings.Repeat("x", 60_000)), w.Present(words))
		p.tell(nil, "shown", "S")
		notes, err := p.db.Outbox(t.Context(), "S")
		if err != nil || len(notes) != 1 {
			t.Fatalf("%s: %+v, %v", name, notes, err)
		}
		body, err := flow.ReadWords(notes[0].Body)
		if n := flow.Units(body.Text) + flow.Units(body.Result); err != nil || body.Text == "" || n > 50_000 || n < 49_900 {
			t.Errorf("%s: %d characters, %v: %.100q", name, n, err, body)
		}
	}
}

// Words of a run in a session that isn't here wait for its process.
func TestW17_RowsOfOtherProcessesAreFound(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	p.tell(nil, "news", "S")
	o := host.NewOutbox(p.db, nil)
	if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 1 {
		t.Fatalf("%v, %d rows wait", err, p.undelivered("S"))
	}
	run := p.running(time.Hour)
	k := p.open("S", nil)
	run.Open("S", 1, k) // going live looks for what waits
	<-k.queued
	run.Close("S", 1)
	p.running(time.Millisecond).Open("S", 1, k)
	p.tell(nil, "news", "S") // another process's commit is found by looking
	<-k.queued
}
