package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

// killedInAStep kills a run in the first step of two-turn, behind a command.
func killedInAStep(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + acts("0") + acts("60000"))
	die(p.asked(2, "run", "two-turn", "tea", "--allow", "bash"))
	p.script("version: 1\ndefault: {tools: [{name: workflow, args: {action: submit, output: {title: Tea, body: Copied.}}}]}\n")
	return p
}

// forked makes a copy and returns its id.
func (p *place) forked(args ...string) string {
	p.t.Helper()
	return strings.TrimSpace(p.ok(append([]string{"session", "fork"}, args...)...).stdout)
}

// stepIn returns how the step has settled in a copy, in which nothing is
// submitted.
func (p *place) stepIn(id string) (reason string) {
	p.t.Helper()
	for _, e := range p.readSessionAt(filepath.Join(p.home, "sessions", id, "transcript")).branch() {
		if e.Kind == "settled" && e.Body.Attempt != "" {
			reason = string(e.Body.Reason)
		}
		if e.Body.Submitted != nil {
			p.t.Errorf("%s: the copy has submitted", e.ID)
		}
	}
	return reason
}

// TestW35_ACopyClosesTheStep: what was copied inside a step is an ordinary
// session. The original goes on with the step.
func TestW35_ACopyClosesTheStep(t *testing.T) {
	t.Parallel()
	t.Run("words", func(t *testing.T) {
		t.Parallel()
		p := killedInAStep(t)
		original := p.readSession().id
		fork := p.forked(original)
		p.script("version: 1\ndefault: {text: In the copy.}\n")
		for range 2 {
			if r := p.run("exec", "--resume", fork, "words"); r.code != 0 || r.stdout != "In the copy.\n" {
				t.Errorf("%+v", r)
			}
		}
		if reason := p.stepIn(fork); reason != "interrupted" {
			t.Errorf("the step in the copy has settled as %q", reason)
		}
		p.script("version: 1\nsteps:\n" + acts("0") + submits(`{title: Tea, body: Tea is drunk.}`) + submits(`{title: Tea, body: Drink it.}`))
		if r := p.run("exec", "--resume", original); r.code != 0 || p.history().Status != flow.Completed {
			t.Errorf("%+v\nthe run is %s", r, p.runStatus())
		}
	})
	t.Run("no words", func(t *testing.T) {
		t.Parallel()
		p := killedInAStep(t)
		fork := p.forked(p.readSession().id)
		r := p.run("exec", "--resume", fork)
		if r.code != 3 || r.stdout != "" || !strings.Contains(r.stderr, "goes on in the original alone") || p.stepIn(fork) != "interrupted" {
			t.Errorf("%+v, %s", r, p.stepIn(fork))
		}
	})
	t.Run("from inside the step", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script("version: 1\nsteps:\n" + acts("0") + submits(`{title: Tea, body: Tea is drunk.}`) + submits(`{title: Tea, body: Drink it.}`))
		p.ok("run", "two-turn", "tea", "--allow", "bash")
		at := ""
		for _, e := range p.readSession().branch() {
			if e.Kind == "result" && at == "" {
				at = e.ID
			}
		}
		original := p.readSession().id
		fork := p.forked(original, "--to", at)
		p.script("version: 1\ndefault: {text: In the copy.}\n")
		if r := p.run("exec", "--resume", fork, "words"); r.code != 0 || r.stdout != "In the copy.\n" || p.stepIn(fork) != "interrupted" {
			t.Errorf("%+v, the step has settled as %q", r, p.stepIn(fork))
		}
		// Back in the original its run has ended, so the step is closed, too.
		p.ok("session", "rewind", original, "--to", at)
		p.script("version: 1\ndefault: {text: In the original.}\n")
		if r := p.run("exec", "--resume", original); r.stdout != "" {
			t.Errorf("%+v", r)
		}
		if reason := p.stepIn(original); reason != "aborted" {
			t.Errorf("the step in the original has settled as %q", reason)
		}
		if r := p.run("exec", "--resume", original, "words"); r.code != 0 || r.stdout != "In the original.\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("back inside an open step", func(t *testing.T) {
		t.Parallel()
		p := killedInAStep(t)
		at := ""
		for _, e := range p.readSession().branch() {
			if e.Kind == "result" {
				at = e.ID
			}
		}
		p.ok("session", "rewind", "last", "--to", at)
		p.script("version: 1\nsteps:\n" + acts("0") + submits(`{title: Tea, body: Tea is drunk.}`) + submits(`{title: Tea, body: Drink it.}`))
		if r := p.run("exec", "--resume", "last"); r.code != 0 || p.history().Status != flow.Completed {
			t.Errorf("%+v\nthe run is %s", r, p.runStatus())
		}
	})
}
