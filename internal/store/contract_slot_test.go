package store

import (
	"errors"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

func oneSlot(t *testing.T, k *kit) {
	k.start("r1", "steps", "S")
	k.start("r2", "steps", "S")
	k.start("r3", "steps", "")
	first := k.claim("", "h1")
	k.do("r1", started(), first.Token)
	if c := k.claim("", "h2"); c == nil || c.Run != "r3" {
		t.Errorf("the session's second run is claimed beside its first: %+v", c)
	}
	if c := k.claim("r2", "h2"); c != nil {
		t.Errorf("by its id, too: %+v", c)
	}
	k.do("r1", flow.Park{For: flow.ForOperator, Message: "?"}, first.Token) // gives the slot back
	second := k.claim("r2", "h2")
	if second == nil {
		t.Fatal("the slot is free, and the second run can't be claimed")
	}
	if err := k.Commit(k.ctx, k.write("r1", flow.Resume{By: "me"}, 0, false)); !errors.Is(err, ErrSlot) {
		t.Errorf("the first run takes the slot again: %v", err)
	}
	k.do("r2", flow.Cancel{By: "me"}, second.Token)
	k.do("r1", flow.Resume{By: "me"}, 0)
}

// slotKept: who keeps the slot while nothing of it runs, and who doesn't.
func slotKept(t *testing.T, k *kit) {
	held := flow.StepDone{Attempt: "escape/say#1", Outcome: flow.StepOutcome{Stop: "aborted", Cause: "escape"}}
	for _, c := range []struct {
		id, graph string
		events    []flow.Event
		keeps     bool
	}{
		{"host", "steps", []flow.Event{started(), flow.Park{For: flow.ForHost}}, true},
		{"session", "say", []flow.Event{started()}, true},
		{"delay", "nap", []flow.Event{started(), flow.Wait{Attempt: "delay/nap#1", Millis: 60_000}}, true},
		{"escape", "say", []flow.Event{started(), flow.Prepared{Attempt: "escape/say#1"}, held}, true},
		{"person", "gate", []flow.Event{started(), flow.Ask{Attempt: "person/gate#1", Request: workflow.JSON(`{"title":"?"}`)}}, false},
		{"paused", "steps", []flow.Event{flow.Pause{By: "me"}}, false},
	} {
		session := "S of " + c.id
		k.start(c.id, c.graph, session)
		k.start(c.id+" behind", "steps", session)
		first := k.claim(c.id, "h1")
		for _, ev := range c.events {
			if err := k.Commit(k.ctx, k.write(c.id, ev, first.Token, c.id == "escape")); err != nil {
				t.Fatalf("%s: %T: %v", c.id, ev, err)
			}
		}
		_, info, _ := k.load(c.id + " behind")
		if got := k.claim(c.id+" behind", "h2") == nil; got != c.keeps || (info.Behind == c.id) != c.keeps {
			t.Errorf("%s: the slot is kept: %v, and the second run waits for %q; want %v", c.id, got, info.Behind, c.keeps)
		}
	}
}

// answeredWaits: an answered run is queued until the slot is free.
func answeredWaits(t *testing.T, k *kit) {
	k.start("r1", "route", "S")
	k.start("r2", "steps", "S")
	first := k.claim("r1", "h1")
	k.do("r1", started(), first.Token)
	k.do("r1", flow.Ask{Attempt: "r1/gate#1", Request: workflow.JSON(`{"title":"?"}`)}, first.Token)
	second := k.claim("", "h2")
	k.do("r2", started(), second.Token)
	r, _, _ := k.load("r1")
	k.do("r1", flow.Answer{Decision: r.Open.Decision, Choice: "yes", By: "me"}, 0)
	r, info, _ := k.load("r1")
	if r.Status != flow.Queued || info.Behind != "r2" || k.claim("r1", "h1") != nil {
		t.Errorf("the answered run is %s behind %q", r.Status, info.Behind)
	}
	k.do("r2", flow.Cancel{By: "me"}, second.Token)
	if c := k.claim("r1", "h1"); c == nil {
		t.Error("the slot is free, and the answered run isn't claimed")
	}
}

// slotOfALostClaim: a claim that came to nothing keeps no slot.
func slotOfALostClaim(t *testing.T, k *kit) {
	k.start("r1", "steps", "S")
	k.start("r2", "steps", "S")
	first := k.claim("r1", "h1")
	if err := k.Release(k.ctx, "r1", first.Token, k.now); err != nil {
		t.Fatal(err)
	}
	if _, info, _ := k.load("r2"); info.Behind != "" {
		t.Errorf("the second run waits for %q, which nobody carries out", info.Behind)
	}
	second := k.claim("r2", "h2")
	if second == nil {
		t.Fatal("the first run was given back, and keeps the slot")
	}
	k.now += 60_000 // the second one's process was killed
	third := k.claim("r1", "h1")
	if third == nil {
		t.Fatal("the second run's claim has run out before it began, and keeps the slot")
	}
	k.do("r1", started(), third.Token)
	if err := k.Commit(k.ctx, k.write("r2", started(), second.Token, false)); !errors.Is(err, ErrSlot) {
		t.Errorf("two runs of a session are running: %v", err)
	}
}

// inOrder: of the queued runs of a session that are wanted here the oldest is
// claimed first. Those of other sessions, and those that nobody wants, don't
// matter.
func inOrder(t *testing.T, k *kit) {
	for _, r := range [][2]string{{"r3", "S"}, {"r2", "S"}, {"r1", "S"}, {"x1", "X"}, {"n1", ""}, {"n2", ""}} {
		k.start(r[0], "steps", r[1])
		k.now++
	}
	claim := func(run string, wanted ...string) *Claimed {
		c, err := k.Claim(k.ctx, Hunt{Run: run, By: []string{"*"}, Wanted: wanted, Holder: "h1", Now: k.now, LeaseUntil: k.now + 30_000})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := []string{"r1", "r2", "r3", "x1", "n1", "n2"}
	if claim("r1", all...) != nil || claim("r2", all...) != nil {
		t.Error("a newer run overtakes")
	}
	if claim("x1", all...) == nil || claim("n2", all...) == nil {
		t.Error("a run of another session, or of none, waits")
	}
	c := claim("r2", "r1", "r2")
	if c == nil {
		t.Fatal("it waits for a run that nobody wants")
	}
	if err := k.Release(k.ctx, "r2", c.Token, k.now); err != nil {
		t.Fatal(err)
	}
	if c = claim("r3", all...); c == nil {
		t.Fatal("the oldest isn't claimed")
	}
	k.do("r3", flow.Cancel{By: "me"}, c.Token)
	if claim("r1", all...) != nil || claim("r2", all...) == nil {
		t.Error("the order ends with the first")
	}
}

// leftOut: a hunt passes the named runs over, the only one that fits too.
func leftOut(t *testing.T, k *kit) {
	k.start("r1", "steps", "")
	k.start("r2", "steps", "")
	hunt := Hunt{By: []string{"*"}, Not: []string{"r1"}, Holder: "h1", Now: k.now, LeaseUntil: k.now + 30_000}
	if c, err := k.Claim(k.ctx, hunt); err != nil || c == nil || c.Run != "r2" {
		t.Errorf("%+v, %v", c, err)
	}
	hunt.Run = "r1"
	if c, err := k.Claim(k.ctx, hunt); err != nil || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if c := k.claim("r1", "h1"); c == nil {
		t.Error("the run that was left out isn't claimed later")
	}
}
