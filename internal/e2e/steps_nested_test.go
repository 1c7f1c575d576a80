package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// nestedScript is a model that starts a run in the middle of a step. What it says
// in the runs of each workflow has a place of its own.
func nestedScript(slow string) string {
	return "version: 1\nsteps:\n" +
		"  - {tools: [{name: workflow, args: {action: start, workflow: assistant-reply, input: {task: tea}}}]}\n" +
		submits(`{"answer": "Any."}`) + "  - {delayMs: " + slow + ", text: \"Tea is drunk.\"}\n"
}

// nested returns the run of assistant-reply and how it stands.
func (p *place) nested() (run, status string) {
	p.t.Helper()
	for line := range strings.Lines(p.ok("runs", "list", "--json").stdout) {
		if strings.Contains(line, `"workflow":"assistant-reply"`) {
			_, after, _ := strings.Cut(line, `"run":"`)
			run, _, _ = strings.Cut(after, `"`)
			return run, p.statusOf(run)
		}
	}
	return "", ""
}

// TestW40_ARunStartedInAHostsSession: a host carries out what the model of a
// step starts in the session that hosts made for the step, however it ends in
// between, and the user has one reply of it.
func TestW40_ARunStartedInAHostsSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]os.Signal{"without a break": nil, "behind a park": syscall.SIGTERM, "behind a kill": syscall.SIGKILL} {
		for _, parallel := range []string{"1", "2"} {
			t.Run(name+", "+parallel+" at once", func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				slow := "60000"
				if end == nil {
					slow = "0"
				}
				p.script(nestedScript(slow))
				p.ok("run", "echo", "tea", "--detach")
				outer := p.history().ID
				cmd, stop := p.begin("host", "--json", "--parallel", parallel)
				if end != nil {
					eventually(t, "the reply is asked for", func() bool {
						asked, _ := p.replies()
						return asked == 4 && p.statusOf(outer) == "completed"
					})
					_ = cmd.Process.Signal(end)
					_ = cmd.Wait()
					if end == syscall.SIGKILL {
						p.ok("runs", "rm", outer)
					}
					p.script(nestedScript("0"))
					_, stop = p.begin("host", "--json", "--parallel", parallel)
				}
				defer stop()
				eventually(t, "the run that the model started ends", func() bool { _, status := p.nested(); return status == "completed" })
				if dirs := p.sessionDirs(); len(dirs) != 1 {
					t.Fatalf("%d sessions", len(dirs))
				}
				if s := p.readSession(); s.id != host.ChildID(outer) {
					t.Errorf("it was carried out in %s", s.id)
				}
				if _, said := p.replies(); said != 2 { // the step says that it has submitted
					t.Errorf("%d replies", said)
				}
				eventually(t, "the session is free", func() bool { return !strings.Contains(p.ok("session", "list").stdout, "running") })
			})
		}
	}
}

// hostDiesInTheReply kills a host while the model is asked for the reply of a run
// that was started in a session of hosts.
func (p *place) hostDiesInTheReply() {
	p.t.Helper()
	p.script(nestedScript("60000"))
	p.ok("run", "echo", "tea", "--detach")
	cmd, _ := p.begin("host", "--json")
	eventually(p.t, "the reply is asked for", func() bool { asked, _ := p.replies(); return asked == 4 })
	die(cmd)
}

// TestW40_AHostsSessionInUse: a run that was started in a session of hosts waits
// as long as another process has that session, and goes on then by itself.
func TestW40_AHostsSessionInUse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.hostDiesInTheReply()
	home, err := disk.OpenHome(p.home)
	if err != nil {
		t.Fatal(err)
	}
	s, err := home.Open(p.readSession().id, transcript.OpenDeposit, transcript.Owner{PID: os.Getpid(), Host: "here"}, "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p.script(nestedScript("0"))
	_, end := p.begin("host", "--json")
	run, _ := p.nested()
	eventually(t, "it is parked", func() bool { return p.statusOf(run) == "parked" })
	p.ok("run", "command-batch", "--detach")
	eventually(t, "the host carries another run out", func() bool { return strings.Count(p.ok("runs", "list", "--json").stdout, `"completed"`) == 2 })
	if n := p.parkedForSession(run); n != 1 {
		t.Errorf("parked %d times", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it goes on", func() bool { return p.statusOf(run) == "completed" })
	end()
	if _, said := p.replies(); said != 2 || p.parkedForSession(run) != 1 {
		t.Errorf("%d replies, parked %d times", said, p.parkedForSession(run))
	}
}

// TestW40_AHostsSessionThatIsGone: a host that knew the session of a run that was
// started in it doesn't make it again when it is gone.
func TestW40_AHostsSessionThatIsGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.hostDiesInTheReply()
	session := p.readSession().id
	home, err := disk.OpenHome(p.home)
	if err != nil {
		t.Fatal(err)
	}
	s, err := home.Open(session, transcript.OpenDeposit, transcript.Owner{PID: os.Getpid(), Host: "here"}, "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, end := p.begin("host", "--json")
	defer end()
	run, _ := p.nested()
	eventually(t, "it is parked", func() bool { return p.statusOf(run) == "parked" })
	p.lose(session)
	_ = s.Close()
	for n := 2; n < 4; n++ { // the host looks again before it takes another run
		p.ok("run", "command-batch", "--detach")
		eventually(t, "the host carries another run out", func() bool { return strings.Count(p.ok("runs", "list", "--json").stdout, `"completed"`) == n })
	}
	if status := p.statusOf(run); status != "parked" || exists(p.sessionDir(session)) {
		t.Errorf("the run is %s", status)
	}
	p.run("runs", "show", run).has(t, 3, "is gone", "runs cancel "+run)
}

// TestW40_ANestedRunInGammaRun: gamma run carries out what the model of a step
// starts in the session that it made for the step, behind its own run.
func TestW40_ANestedRunInGammaRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script(nestedScript("0"))
	p.ok("run", "echo", "tea", "--detach")
	r := p.run("run", "--resume", "last")
	run, status := p.nested()
	if r.has(t, 0, "started run "+run); status != "completed" {
		t.Errorf("the run is %q: %+v", status, r)
	}
}
