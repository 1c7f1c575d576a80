package e2e

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
)

// lose removes a session by hand.
func (p *place) lose(id string) {
	p.t.Helper()
	if err := os.RemoveAll(p.sessionDir(id)); err != nil {
		p.t.Fatal(err)
	}
}

// TestW37_ASessionThatIsGone: who looks at a run that can't go on without its
// session, which is gone, is told so and what to do.
func TestW37_ASessionThatIsGone(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) (p *place, run, session string){
		"a step that was begun there": waitingRun,
		"an answer that is due there": func(t *testing.T) (*place, string, string) {
			p := newPlace(t)
			p.bin = crashBin
			p.script("version: 1\nsteps:\n" + says("said"))
			if !p.diesAt("step.prompted:1", "run", "assistant-reply", "tea") {
				t.Fatal("it didn't die")
			}
			return p, p.history().ID, p.readSession().id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, run, session := begin(t)
			p.lose(session)
			told := []string{"session " + session + " is gone", "runs cancel " + run}
			p.run("runs", "show", run).has(t, 3, told...)
			p.run("runs", "show", run, "--json").has(t, 3, told...)
			p.run("runs", "resume", run).has(t, 1, told...)
			for _, args := range [][]string{{"run", "--resume", run}, {"run", "--resume", run}, {"run", "--resume", run, "--json"}} {
				p.run(args...).has(t, 3, told...)
			}
			if got := p.runStatus(); got != "parked session" {
				t.Errorf("the run is %q", got)
			}
			if n := p.parkedForSession(run); n != 1 {
				t.Errorf("parked %d times", n)
			}
			if n := len(p.sessionDirs()); n != 0 {
				t.Errorf("%d sessions were made", n)
			}
			p.ok("runs", "cancel", run)
			if r := p.run("runs", "show", run); strings.Contains(r.stdout+r.stderr, "is gone") {
				t.Errorf("%+v", r)
			}
		})
		t.Run(name+", in a host", func(t *testing.T) {
			t.Parallel()
			p, run, session := begin(t)
			p.lose(session)
			for n := range 2 { // the second finds it parked
				host := p.cmd("host")
				var out bytes.Buffer
				host.Stderr = &out
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				p.ok("run", "command-batch", "--detach")
				eventually(t, "the host has worked", func() bool {
					return strings.Count(p.ok("runs", "list", "--json").stdout, `"completed"`) > n && p.statusOf(run) == "parked"
				})
				_ = host.Process.Signal(os.Interrupt)
				_ = host.Wait()
				if text := out.String(); strings.Count(text, "is gone") != 1 || !strings.Contains(text, "runs cancel "+run) {
					t.Errorf("it says: %s", text)
				}
			}
			if n := p.parkedForSession(run); n != 1 {
				t.Errorf("parked %d times", n)
			}
		})
	}
	t.Run("a run that can go on without it", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script("version: 1\ndefault: {text: Hello.}\n")
		p.ok("exec", "Hello")
		session := p.readSession().id
		if r := p.run("run", "human-decision", "plan", "--session", session, "--json"); r.code != 3 {
			t.Fatalf("%+v", r)
		}
		run := p.history().ID
		p.lose(session)
		p.run("runs", "show", run).has(t, 3, "runs answer "+run, "session "+session+" is gone", "runs cancel "+run)
		p.ok("runs", "answer", run, "--choice", "yes")
		p.run("run", "--resume", run).has(t, 0)
	})
}

// parkedForSession is how often a run was parked for its session.
func (p *place) parkedForSession(run string) (n int) {
	p.t.Helper()
	for line := range strings.Lines(p.ok("runs", "export", run).stdout) {
		if strings.Contains(line, `"kind":"parked"`) && strings.Contains(line, `"reason":"session"`) {
			n++
		}
	}
	return n
}

// statusOf is how a run stands, one of several.
func (p *place) statusOf(run string) string {
	p.t.Helper()
	for line := range strings.Lines(p.ok("runs", "list", "--json").stdout) {
		if _, after, ok := strings.Cut(line, `"status":"`); ok && strings.Contains(line, `"run":"`+run+`"`) {
			status, _, _ := strings.Cut(after, `"`)
			return status
		}
	}
	return ""
}

// TestW37_ASessionOfAStepThatIsGone: who looks at a step that waits for its user
// in a session that is gone, or answers it, is told so and what to do; it begins
// anew.
func TestW37_ASessionOfAStepThatIsGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script(asksForPlace)
	run := strings.TrimSpace(p.ok("run", "echo", "Which?", "--detach").stdout)
	p.run("run", "--resume", run).has(t, 3, "Which one?")
	child := host.ChildID(run)
	p.lose(child)
	told := []string{"session " + child, "is gone", "run --resume " + run, "runs cancel " + run}
	for _, args := range [][]string{{"runs", "show", run}, {"runs", "show", run, "--json"}, {"runs", "watch", run}} {
		r := p.run(args...)
		r.has(t, 3, told...)
		if strings.Contains(r.stdout+r.stderr, "Answer with") || strings.Contains(r.stdout, `"waits":true`) {
			t.Errorf("%q says how to answer: %+v", args, r)
		}
	}
	p.run("runs", "answer", run, "--text", "Blue").has(t, 1, told...)
	p.script("version: 1\nsteps:\n" + submits(`{"answer": "Any."}`))
	p.run("run", "--resume", run).has(t, 0, "Any.")
}

// TestW40_ARunWhoseSessionIsGoneIsRemoved: what nobody can be told any more holds
// no run.
func TestW40_ARunWhoseSessionIsGoneIsRemoved(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"named": {"runs", "rm", "last"}, "by its age": {"runs", "rm", "--older", "0d"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.script("version: 1\ndefault: {text: Said.}\n")
			p.ok("exec", "Hello")
			session := p.readSession().id
			run := strings.TrimSpace(p.ok("run", "two-turn", "tea", "--detach", "--session", session).stdout)
			_, end := p.begin("host", "--json")
			eventually(t, "the run ends", func() bool { return p.statusOf(run) == "failed" })
			end()
			if r := p.run(args...); strings.Contains(r.stdout, "removed "+run) {
				t.Fatalf("its session was to be told of it: %+v", r)
			}
			p.lose(session)
			p.run(args...).has(t, 0, "removed "+run)
		})
	}
}
