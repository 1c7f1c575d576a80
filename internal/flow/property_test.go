package flow_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// TestW10_AnyOrderOfEvents plays random events over all definitions. After each
// commit the conversation compares the live run with the fold of its facts and
// Rows with what has changed; here the run must also always be owed something,
// or stand still for a reason that somebody can lift.
func TestW10_AnyOrderOfEvents(t *testing.T) {
	defs := definitions(t)
	names := slices.Sorted(maps.Keys(defs))
	verbs := []string{"claim", "claim 1m", "start {}", "bad input", `ok {"passed":true}`, `ok {"passed":false}`, `ok "text"`, "ok null", "failed exit", "timedout",
		"prepare 10", "badmax", "step hello", "step 12345678901", "stop error", "stop aborted escape", "stop aborted cancel", "stop aborted park", `submit {"passed":true}`,
		`ask {"title":"?"}`, "wait 1000", "timeout 1000", "timeout -1", "answer yes", "answer replan more", `value {"passed":true,"kind":"k"}`, "model yes", "pause", "resume", "escape",
		"cancel", "park host", "park operator why", "unseen", "fire", "present Look {}", "yield", "speak", "tick 1s", "tick 20m", "here", "away", "crash", "repeat", `publish progress p {"status":"running","completed":1,"unit":"x"}`}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		c := &conversation{t: t, env: flow.Env{Now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).UnixMilli(), Holder: true}}
		session := ""
		if random.IntN(2) == 0 {
			session = " S"
		}
		c.do("use " + names[random.IntN(len(names))] + session)
		c.last = flow.Claim{}
		for range 60 {
			line := verbs[random.IntN(len(verbs))]
			if line == "cancel" && random.IntN(4) > 0 {
				continue
			}
			if random.IntN(4) == 0 {
				line = "visit " + line
			}
			c.do(line)
			c.alive(seed, line)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// alive checks that a run that hasn't ended can go on.
func (c *conversation) alive(seed uint64, line string) {
	r := c.run
	switch {
	case r.Status == flow.Running && (r.Open == nil || flow.Owed(c.g, r) == nil):
		c.t.Errorf("seed %d, %s: running, and nothing is owed", seed, line)
	case r.Status == flow.Queued && r.Next == "" && flow.Owed(c.g, r) == nil:
		c.t.Errorf("seed %d, %s: queued, and nothing is to be entered", seed, line)
	case r.Status == flow.Waiting && (r.Reason == flow.ForDelay || r.Reason == flow.ForRetry) && r.Wake == 0:
		c.t.Errorf("seed %d, %s: waiting (%s), and nothing wakes it", seed, line, r.Reason)
	case r.Status == flow.Waiting && (r.Reason == flow.ForDecision || r.Reason == flow.ForCheckpoint) && (r.Open == nil || r.Open.Decision == ""):
		c.t.Errorf("seed %d, %s: waiting (%s), and nothing is asked", seed, line, r.Reason)
	case r.Status.Ended() && (r.Open != nil || r.ClaimBy() != "" || r.Slot(c.g)):
		c.t.Errorf("seed %d, %s: ended, and not done with", seed, line)
	case r.Pause && r.Status == flow.Queued:
		c.t.Errorf("seed %d, %s: queued, though a pause is due", seed, line)
	}
	if r.Open != nil {
		if n := c.g.Node(r.Open.Node); n.Assistant() && r.Status == flow.Running && !c.env.Session && r.Session == "" {
			c.t.Errorf("seed %d, %s: an assistant step without a session", seed, line)
		}
	}
}

func FuzzR3_Signals(f *testing.F) {
	for _, ev := range []flow.Event{flow.Pause{By: "a"}, flow.Answer{Decision: "d", Value: workflow.JSON(`{"a":1}`)}, flow.Cancel{}} {
		b, err := flow.EncodeSignal(ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ev, err := flow.DecodeSignal(b)
		if err != nil {
			return
		}
		again, err := flow.EncodeSignal(ev)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if _, err := flow.DecodeSignal(again); err != nil {
			t.Errorf("%q: %v", again, err)
		}
	})
}
