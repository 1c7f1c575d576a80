package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	w "github.com/gamma-harness/gamma/workflow"
)

// matrixGraph is a run with one assistant step.
func matrixKit(t *testing.T) kit {
	say := w.Agent("say", text, w.AssistantMessage())
	end := w.Compute("end", func(*w.Ctx) (value, error) { return value{}, nil })
	k, err := newKit(flow.Index(must(t)(w.Define("matrix", w.Input[value](), say, w.Then(say, end))).Definition().Graph))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// continuations are what follows an accident at one step: the host that has
// the run at that moment is h, the process that was about to go on is p.
func continuations() map[string]func(x *world, h *host, p *process) {
	s := func(x *world) *sessionDir { return x.sessions[0] }
	other := func(x *world, h *host) *host { return x.hosts[(indexOf(x, h)+1)%3] }
	return map[string]func(*world, *host, *process){
		"killed, the session comes back on the same host": func(x *world, h *host, _ *process) {
			x.kill(h)
			x.open(s(x), h)
		},
		"killed, the session goes on elsewhere": func(x *world, h *host, _ *process) {
			x.kill(h)
			x.open(s(x), other(x, h))
		},
		"killed, the session is dormant for a while": func(x *world, h *host, _ *process) {
			x.kill(h)
			x.now += 20_000
		},
		"a zombie whose session moves": func(x *world, h *host, p *process) {
			p.sleep = x.now + 90_000
			x.open(s(x), other(x, h))
		},
		"a zombie beside its session": func(x *world, h *host, p *process) {
			if !strings.HasPrefix(p.name, "S") {
				p.sleep = x.now + 90_000
			}
		},
		"the session is opened anew under a living worker": func(x *world, h *host, _ *process) {
			x.open(s(x), h)
		},
	}
}

func indexOf(x *world, h *host) int {
	for i := range x.hosts {
		if x.hosts[i] == h {
			return i
		}
	}
	return 0
}

// TestW36_EveryPointOfAnAssistantStep stops a run of one assistant step before
// each step that any process makes, in each of the ways above: one visible
// reply, and it is the output, every time.
func TestW36_EveryPointOfAnAssistantStep(t *testing.T) {
	g := matrixKit(t)
	cases := 0
	for name, accident := range continuations() {
		for at := 1; ; at++ {
			x := newWorld(1, "", g)
			x.now += 2 * stormTime
			x.staged = true
			x.open(x.sessions[0], x.hosts[0])
			hit := false
			x.stage = func(h *host, p *process) {
				if x.steps == at && !x.db.rows["r1"].Status.Ended() {
					hit = true
					accident(x, h, p)
				}
			}
			if err := x.play(); err != nil {
				t.Fatalf("%s, before step %d: %v", name, at, err)
			}
			if !hit {
				break
			}
			cases++
			r := x.db.rows["r1"]
			replies := 0
			if sc := scopes(x.sessions[0].read(x))["r1/say#1"]; sc != nil {
				replies = sc.visible
			}
			if out := x.outputs["r1/say#1"]; r.Status != flow.Completed || replies != 1 || !strings.HasPrefix(out, `" reply `) {
				t.Errorf("%s, before step %d: %s, %d replies, output %s", name, at, r.Status, replies, out)
			}
		}
	}
	if cases < 100 {
		t.Errorf("only %d cases", cases)
	}
	t.Log(fmt.Sprint(cases, " cases"))
}

// TestW36_EveryPointOfASubmitStep does the same with a step whose model first
// asks the user, then submits what doesn't fit, then says something, and then
// submits: what was accepted is the output, and nobody is reminded twice for it.
func TestW36_EveryPointOfASubmitStep(t *testing.T) {
	job := w.Agent("job", text, w.Submit[value]())
	end := w.Compute("end", func(*w.Ctx) (value, error) { return value{}, nil })
	k, err := newKit(flow.Index(must(t)(w.Define("matrix", w.Input[value](), job, w.Then(job, end))).Definition().Graph))
	if err != nil {
		t.Fatal(err)
	}
	cases, points := 0, map[string]bool{}
	for name, accident := range continuations() {
		for at := 1; ; at++ {
			x := newWorld(1, "", k)
			x.now += 2 * stormTime
			x.staged = true
			x.script = []string{"yield", "wrong", "text", "submit", "text"}
			x.open(x.sessions[0], x.hosts[0])
			hit := false
			x.stage = func(h *host, p *process) {
				if x.steps == at && !x.db.rows["r1"].Status.Ended() {
					hit, points[p.at] = true, true
					accident(x, h, p)
				}
			}
			if err := x.play(); err != nil {
				t.Fatalf("%s, before step %d: %v", name, at, err)
			}
			if !hit {
				break
			}
			cases++
			if r := x.db.rows["r1"]; r.Status != flow.Completed || !strings.HasPrefix(x.outputs["r1/job#1"], `{"ok":true`) {
				t.Errorf("%s, before step %d: %s (%s), output %s", name, at, r.Status, r.Reason, x.outputs["r1/job#1"])
			}
		}
	}
	for _, p := range []string{"open.segment-created", "append.before", "append.torn", "append.written", "append.synced", "actor.handled", "actor.idle",
		"claim.taken", "commit.before", "commit.after", "step.waiting", "attempt.looks", "attempt.sends", "attempt.tells", "attempt.waits"} {
		if !points[p] {
			t.Errorf("nothing was stopped at %s", p)
		}
	}
	t.Log(fmt.Sprint(cases, " cases"))
}
