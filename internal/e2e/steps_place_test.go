package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// begin starts gamma and returns how to end it.
func (p *place) begin(args ...string) (*exec.Cmd, func()) {
	p.t.Helper()
	cmd := p.cmd(args...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
}

// TestW35_OneSessionAnAttempt: a step that was begun in one session goes on
// there, whoever takes the run up.
func TestW35_OneSessionAnAttempt(t *testing.T) {
	t.Parallel()
	t.Run("begun in the origin session", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.bin = crashBin
		p.model("script", summaryScript())
		if !p.diesAt("step.prompted:2", "run", "summary-check", boils) {
			t.Fatal("it didn't die")
		}
		_, end := p.begin("host", "--json")
		eventually(t, "the host leaves the run to its session", func() bool { return p.runStatus() == "parked session" })
		end()
		if n := len(p.sessionDirs()); n != 1 {
			t.Errorf("%d sessions", n)
		}
		p.goesOn(func() {})
	})
	t.Run("begun in a host's session", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.bin = crashBin
		p.model("script", turnScript())
		p.ok("exec", "-m", "script:"+p.write("hello.yaml", "version: 1\nsteps:\n  - {text: Hello.}\n"+submits(turnOutput)), "Hello")
		origin := p.readSession()
		p.ok("run", "two-turn", "tea", "--detach", "--session", origin.id)
		p.env = append(p.env, crashpoint.Variable+"=step.prompted:1")
		host, _ := p.begin("host", "--json")
		_ = host.Wait()
		if !killed(host) {
			t.Fatal("the host didn't die")
		}
		p.env = p.env[:len(p.env)-1]
		p.ok("run", "--resume", "last")
		run := p.history()
		if run.Status != flow.Completed {
			t.Fatalf("%s: %s", run.Status, run.Message)
		}
		where := map[string][]string{}
		for _, dir := range p.sessionDirs() {
			s := p.readSessionAt(dir)
			steps, _ := s.prompts()
			for _, st := range steps {
				if st.Kind == "step" {
					where[st.Node] = append(where[st.Node], s.id)
				}
			}
		}
		if len(where["draft"]) != 1 || where["draft"][0] == origin.id || len(where["polish"]) != 1 {
			t.Errorf("the steps were carried out in %v; the origin is %s", where, origin.id)
		}
	})
}

// TestW37_ASessionInUseParksItsRun: a run whose session another process has is
// parked once, with that process named, keeps nobody from other runs, and goes
// on when the session is free.
func TestW37_ASessionInUseParksItsRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - tools: [{name: message_user, args: {message: \"Which one?\", blockOnUser: true, reason: input}}]\n")
	p.ok("run", "echo", "Which?", "--detach")
	_, end := p.begin("host", "--json")
	eventually(t, "the step asks", func() bool { return strings.Contains(p.run("session", "list", "--json").stdout, `"needs_human"`) })
	end()
	run, child := p.history().ID, p.readSession().id
	home, err := disk.OpenHome(p.home)
	if err != nil {
		t.Fatal(err)
	}
	s, err := home.Open(child, transcript.OpenDeposit, transcript.Owner{PID: os.Getpid(), Host: "here"}, "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, end = p.begin("host", "--json")
	defer end()
	named := fmt.Sprintf("session %s is in use by process %d on here", child, os.Getpid())
	eventually(t, "the run is parked", func() bool { r := p.run("runs", "show", run); return strings.Contains(r.stdout+r.stderr, named) })
	p.ok("run", "branch", "--input", `{"path": "README.md"}`, "--detach")
	eventually(t, "the host carries another run out", func() bool { return p.runStatus() == "completed " })
	parked := func() int { return strings.Count(p.run("runs", "export", run).stdout, `"kind":"parked"`) }
	if n := parked(); n != 2 { // at the first host's end, and now
		t.Errorf("parked %d times", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run goes on", func() bool {
		return strings.HasPrefix(p.ok("runs", "list", "--json").stdout, "{") && !strings.Contains(p.ok("runs", "list", "--json").stdout, `"parked"`)
	})
	if n := parked(); n != 2 {
		t.Errorf("parked %d times", n)
	}
}

// TestR2_AHostDiesWhileItMakesASession: the session of a run has an id that
// follows from the run's, so what a killed host left of it is in the way of the
// next one.
func TestR2_AHostDiesWhileItMakesASession(t *testing.T) {
	t.Parallel()
	for _, point := range crashpoint.Names() {
		if !strings.HasPrefix(point, "create.") {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.bin = crashBin
			p.model("script", turnScript())
			p.ok("run", "two-turn", "tea", "--detach")
			p.env = append(p.env, crashpoint.Variable+"="+point)
			host, _ := p.begin("host", "--json")
			_ = host.Wait()
			if !killed(host) {
				t.Fatal("the host didn't die")
			}
			p.env = p.env[:len(p.env)-1]
			_, end := p.begin("host", "--json")
			defer end()
			eventually(t, "another host ends the run", func() bool { return p.runStatus() == "completed " })
			if n := len(p.sessionDirs()); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// TestC6_TheStoryOfAWorkflow: the demo kills a run in the middle of an answer,
// and the user has got it once.
func TestC6_TheStoryOfAWorkflow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.run("demo", "--story", "workflow", "--dir", filepath.Join(filepath.Dir(p.ws), "story"))
	for _, want := range []string{"is killed (SIGKILL)", "each candidate that isn't selected", "? Approve the recommended plan", "prompts: 1, visible replies: 1, processes: 3"} {
		if !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("it doesn't say %q", want)
		}
	}
	if r.code != 0 || t.Failed() {
		t.Errorf("%+v", r)
	}
}
