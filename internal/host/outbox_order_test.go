package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	w "github.com/gamma-harness/gamma/workflow"
)

// What the session can't take now keeps its place before what comes after it.
func TestW17_TheOrderOfRowsIsKept(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	p.tell(nil, "news", "S")
	p.tell(nil, "news", "S")
	k := p.open("S", nil)
	o := host.NewOutbox(p.db, nil)
	o.Open("S", 1, &stubborn{Inbox: k})
	err := o.Deliver(t.Context(), "S")
	if err == nil || !strings.Contains(err.Error(), "outbox of session S") || !strings.Contains(err.Error(), "full") || p.undelivered("S") != 2 {
		t.Errorf("%v, %d rows wait", err, p.undelivered("S"))
	}
	if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 0 {
		t.Errorf("%v, %d rows wait", err, p.undelivered("S"))
	}
}

// A row that the session refuses keeps the others from nothing.
func TestW17_OneBadRowStopsNothing(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	p.tell(nil, "news", "S")
	p.tell(nil, "news", "S")
	o := host.NewOutbox(p.db, nil)
	o.Open("S", 1, &stubborn{Inbox: p.open("S", nil), refuses: true})
	if err := o.Deliver(t.Context(), "S"); err == nil || !strings.Contains(err.Error(), "no such") || p.undelivered("S") != 1 {
		t.Errorf("%v, %d rows wait", err, p.undelivered("S"))
	}
}

// Trouble is told once a row, however often it is tried.
func TestW17_TroubleIsToldOnce(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	p.tell(nil, "news", "S")
	ctx, stop := context.WithCancel(t.Context())
	told := make(chan error, 100)
	o := host.NewOutbox(p.db, func(_ string, err error) { told <- err })
	o.Poll = time.Millisecond
	tries := make(chan int)
	o.Open("S", 1, full{tries})
	done := make(chan struct{})
	go func() { o.Run(ctx); close(done) }()
	for range 3 {
		<-tries
	}
	stop()
	for open := true; open; {
		select {
		case <-tries:
		case <-done:
			open = false
		}
	}
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
}

// full is an inbox that takes nothing.
type full struct{ tries chan int }

func (f full) Send(context.Context, session.Event) (session.Reply, error) {
	f.tries <- 1
	return session.Reply{}, errors.New("the disk is full")
}

// TestW17_DeliveriesAtOnce: several who deliver at once send each row once, and
// none of them leaves a later one behind.
func TestW17_DeliveriesAtOnce(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	for range 4 {
		p.tell(nil, "news", "S")
	}
	o := host.NewOutbox(p.db, nil)
	in := &tallied{Inbox: p.open("S", nil)}
	o.Open("S", 1, in)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 0 {
				t.Errorf("%v, %d rows wait", err, p.undelivered("S"))
			}
		})
	}
	all.Wait()
	if n := in.n.Load(); n != 4 {
		t.Errorf("%d rows were sent", n)
	}
}

// tallied is an inbox that counts.
type tallied struct {
	host.Inbox
	n atomic.Int64
}

func (c *tallied) Send(ctx context.Context, ev session.Event) (session.Reply, error) {
	c.n.Add(1)
	return c.Inbox.Send(ctx, ev)
}

// TestW17_WhatAnotherMarkedStopsNothing: a row that was marked meanwhile isn't
// the loss of the session.
func TestW17_WhatAnotherMarkedStopsNothing(t *testing.T) {
	p := newPlace(t)
	p.define("news", news("done"))
	p.tell(nil, "news", "S")
	p.tell(nil, "news", "S")
	first, err := p.db.Outbox(t.Context(), "S")
	if err != nil || len(first) != 2 {
		t.Fatal(first, err)
	}
	k := p.open("S", nil)
	o := host.NewOutbox(p.db, nil)
	o.Open("S", 1, meanwhile{k, func() {
		if err := p.db.Deliver(t.Context(), first[0].ID, "S", 1, 1); err != nil && !errors.Is(err, store.ErrDelivered) {
			t.Error(err)
		}
	}})
	if err := o.Deliver(t.Context(), "S"); err != nil || p.undelivered("S") != 0 {
		t.Errorf("%v, %d rows wait", err, p.undelivered("S"))
	}
}

// meanwhile is an inbox while whose events something happens.
type meanwhile struct {
	host.Inbox
	do func()
}

func (m meanwhile) Send(ctx context.Context, ev session.Event) (session.Reply, error) {
	m.do()
	return m.Inbox.Send(ctx, ev)
}

// stubborn is an inbox that refuses what comes first.
type stubborn struct {
	host.Inbox
	n       int
	refuses bool
}

func (s *stubborn) Send(ctx context.Context, ev session.Event) (session.Reply, error) {
	if s.n++; s.n == 1 && s.refuses {
		return session.Reply{Err: &session.Refusal{Code: "invalid", Message: "no such thing"}}, nil
	} else if s.n == 1 {
		return session.Reply{}, errors.New("the disk is full")
	}
	return s.Inbox.Send(ctx, ev)
}

// TestW37_TheOriginSessionTakesAnAssistantStepUp: a host without the session
// leaves it alone, before anything is visible; the one that has it carries it
// out once.
func TestW37_TheOriginSessionTakesAnAssistantStepUp(t *testing.T) {
	p := newPlace(t)
	p.define("say", w.Agent("say", func(*w.Ctx) string { return "Say it." }, w.AssistantMessage()))
	detached := p.host("detached")
	detached.Steps = &once{}
	id, err := detached.Start(t.Context(), host.Request{Definition: p.defs["say"], Source: "test:say", Input: w.JSON(`{"word":"hi"}`), Workspace: p.dir, Session: "S"})
	if err != nil {
		t.Fatal(err)
	}
	r := p.drive(detached, id)
	log, err := p.db.Log(t.Context(), id, 0, 0)
	if err != nil || r.Status != flow.Parked || r.Reason != flow.ForSession || r.Open == nil || r.Open.Prepared {
		t.Fatalf("%s (%s), %+v, %v", r.Status, r.Reason, r.Open, err)
	}
	last := log[len(log)-1].Facts
	if n := len(last); n < 2 || last[n-2].Kind != flow.KindAttempt || last[n-1].Kind != flow.KindParked {
		t.Errorf("start and parking aren't one commit: %+v", last)
	}
	if again := p.drive(detached, id); again.Seq != r.Seq {
		t.Errorf("the detached host has made commit %d", again.Seq)
	}
	if err := p.db.Own(t.Context(), "S", 3); err != nil {
		t.Fatal(err)
	}
	origin := p.host("origin")
	steps := &once{}
	origin.Live, origin.Steps = func() []string { return []string{"S"} }, steps
	r = p.drive(origin, id)
	if r.Status != flow.Completed || steps.n != 1 || r.Nodes["say"].Attempt != id+"/say#1" {
		t.Errorf("%s: %s; %d prompts, %s", r.Status, r.Message, steps.n, r.Nodes["say"].Attempt)
	}
	bare := host.Request{Definition: p.defs["say"], Source: "test:say", Input: w.JSON(`{"word":"hi"}`), Workspace: p.dir}
	if _, err := detached.Start(t.Context(), bare); err == nil || !strings.Contains(err.Error(), flow.NoSession) {
		t.Errorf("without a session of origin: %v", err)
	}
}

// once answers a step in a session whose token is 3.
type once struct{ n int }

func (*once) Completions() []string { return []string{"assistant"} }
func (*once) Hold(string)           {}
func (*once) Look(context.Context, runner.Step) (flow.StepOutcome, error) {
	return flow.StepOutcome{State: flow.StepAbsent}, nil
}

func (x *once) Step(context.Context, runner.Step) (flow.StepOutcome, error) {
	x.n++
	return flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: "said", Entry: "3-9", SessionToken: 3}, nil
}
