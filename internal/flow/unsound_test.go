package flow_test

import (
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// TestR4_ValuesThatCantBeStored: what comes from outside as JSON is JSON text
// of a bounded size, or it fails what it came for.
func TestR4_ValuesThatCantBeStored(t *testing.T) {
	for name, bad := range map[string]string{"broken text": "\"\xff\"", "no JSON": "{", "nothing": "", "too much": `"` + strings.Repeat("x", 33<<20) + `"`} {
		begin := func(def, session string) *conversation {
			c := &conversation{t: t, env: flow.Env{Now: 1_000_000, Holder: true, Session: true}}
			for _, line := range []string{"use " + def + session, "claim", "start {}"} {
				c.do(line)
			}
			return c
		}
		c := begin("one", "")
		c.decide(flow.Result{Attempt: c.run.Open.ID, Outcome: flow.OK, Output: workflow.JSON(bad)})
		if c.run.Status != flow.Failed || c.run.Reason != "output" {
			t.Errorf("%s as an output: %s (%s)", name, c.run.Status, c.run.Reason)
		}
		if bad != "" {
			c = begin("agent-alone", "")
			c.do("prepare")
			c.decide(flow.StepDone{Attempt: c.run.Open.ID, Outcome: flow.StepOutcome{Stop: "ok", Output: workflow.JSON(bad)}})
			if c.run.Status != flow.Failed || c.run.Reason != "output" {
				t.Errorf("%s as a submission: %s (%s)", name, c.run.Status, c.run.Reason)
			}
		}
		c = begin("checkpoint", "")
		c.do(`ask {"title":"?"}`)
		if got := c.decide(flow.Answer{Decision: c.run.Open.Decision, Value: workflow.JSON(bad)}); !strings.HasPrefix(got, "refused invalid") {
			t.Errorf("%s as an answer: %s", name, got)
		}
		c = begin("timed", "")
		c.do("timeout 0")
		if got := c.decide(flow.Publish{Attempt: c.run.Open.ID, Update: workflow.Update{Type: "t", Key: "k", Data: workflow.JSON(bad)}}); !strings.HasPrefix(got, "refused invalid") {
			t.Errorf("%s as an update: %s", name, got)
		}
		c = &conversation{t: t, env: flow.Env{Now: 1_000_000, Holder: true}}
		c.do("use one")
		if c.decide(flow.Started{Input: workflow.JSON(bad)}); c.run.Status != flow.Failed || c.run.Reason != "input" {
			t.Errorf("%s as an input: %s (%s)", name, c.run.Status, c.run.Reason)
		}
	}
}
