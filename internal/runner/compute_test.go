package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	w "github.com/gamma-harness/gamma/workflow"
)

// computing is a run whose one node takes some time, whether it listens or not.
func computing(t *testing.T, takes time.Duration, listens bool) *drive {
	return prepare(t, "", w.Compute("think", func(c *w.Ctx) (string, error) {
		if !listens {
			<-time.After(takes)
			return "thought", nil
		}
		select {
		case <-time.After(takes):
			return "thought", nil
		case <-c.Context().Done():
			return "", context.Cause(c.Context())
		}
	}, w.NoTimeout()))
}

// TestW13_ALongComputationKeepsItsClaim: what takes longer than its lease is
// carried out beside the renewals, and its result counts.
func TestW13_ALongComputationKeepsItsClaim(t *testing.T) {
	for _, takes := range []time.Duration{time.Millisecond, 9 * time.Millisecond, 11 * time.Millisecond, 10 * runner.Lease} {
		synctest.Test(t, func(t *testing.T) {
			d := computing(t, takes, true)
			if r := d.carry(); r.Status != flow.Completed || d.result() != `"thought"` {
				t.Fatalf("%s: %s %s: %s", takes, r.Status, r.Reason, r.Message)
			}
			if want := int((takes - time.Second) / runner.RenewEvery); d.renewed < want {
				t.Errorf("%s: the claim was renewed %d times; %d are needed", takes, d.renewed, want)
			}
		})
	}
}

// TestW11_ALongComputationIsEnded: others are heard while it goes on, and one
// that doesn't listen is left to itself.
func TestW11_ALongComputationIsEnded(t *testing.T) {
	for _, listens := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := computing(t, time.Hour, listens)
			time.AfterFunc(time.Minute, func() { d.leave("s", flow.Cancel{By: "me"}) })
			begun := time.Now()
			if r := d.carry(); r.Status != flow.Cancelled {
				t.Errorf("listens %v: %s", listens, r.Status)
			}
			if took := time.Since(begun); took > time.Minute+runner.PollSignals+runner.EndWait {
				t.Errorf("listens %v: it took %s", listens, took)
			}
			<-time.After(time.Hour) // a deaf one ends
		})
		synctest.Test(t, func(t *testing.T) {
			d := computing(t, time.Hour, listens)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			r, err := d.begin(ctx)
			if err != nil || r.Status != flow.Parked || r.Reason != flow.ForHost || r.Open == nil {
				t.Errorf("listens %v: %v, %+v", listens, err, r)
			}
			<-time.After(time.Hour)
		})
	}
}

// endless computes two nodes in turn, each in a millisecond.
func endless(t *testing.T) *drive {
	var a *w.NodeOf[string]
	b := w.Compute("b", func(*w.Ctx) (string, error) { return "", nil })
	a = w.Compute("a", func(*w.Ctx) (string, error) { <-time.After(time.Millisecond); return "", nil })
	return prepare(t, "", a, w.Then(a, b), w.Then(b, a), w.MaxSteps(100_000))
}

// TestW11_ShortComputationsHearOthers: a run that does nothing but compute ends
// when it is asked to.
func TestW11_ShortComputationsHearOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := endless(t)
		time.AfterFunc(time.Second, func() { d.leave("s", flow.Cancel{By: "me"}) })
		begun := time.Now()
		if r := d.carry(); r.Status != flow.Cancelled || time.Since(begun) > 2*time.Second {
			t.Errorf("%s after %s", r.Status, time.Since(begun))
		}
		d = endless(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begun = time.Now()
		if r, err := d.begin(ctx); err != nil || r.Reason != flow.ForHost || time.Since(begun) > 2*time.Second {
			t.Errorf("%v, %s after %s", err, r.Reason, time.Since(begun))
		}
	})
}

// TestW13_AKeptClaimIsntLost: the lease nearly ran out while a commit took its
// time, which kept the claim.
func TestW13_AKeptClaimIsntLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := w.Compute("a", func(*w.Ctx) (string, error) { return "x", nil })
		d := prepare(t, "", a, w.Then(a, w.Action("b", func(*w.Ctx) (string, error) { <-time.After(time.Second); return "y", nil })))
		slow := true
		d.before = func(*flow.Commit) {
			if slow {
				slow = false
				<-time.After(runner.Lease - time.Second)
			}
		}
		if r := d.carry(); r.Status != flow.Completed {
			t.Errorf("%s %s", r.Status, r.Reason)
		}
	})
}
