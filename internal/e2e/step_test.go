package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// TestC11_ExamplesWithAModel runs the examples that have steps for a model with
// the scripts that stand beside them.
func TestC11_ExamplesWithAModel(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Abs("../../examples/workflows/scripts")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"assistant-reply": "Hello! This answer is the output of the workflow.",
		"echo":            `{"answer":"A monoid in the category of endofunctors."}`,
		"model-decision":  `{"answer":"4"}`,
		"two-turn":        `{"title":"Tea","body":"Many people drink tea."}`,
		"summary-check":   `{"sound":true,"note":"Nothing was added."}`,
	} {
		p := newPlace(t)
		r := p.run("run", name, "do it", "--model", "script:"+filepath.Join(scripts, name+".yaml"))
		if r.code != 0 || strings.TrimSpace(r.stdout) != want {
			t.Errorf("%s: exit code %d, printed %s\n%s", name, r.code, r.stdout, r.stderr)
		}
	}
}

// replies counts the requests and the visible replies in the only
// session, as far as it is there.
func (p *place) replies() (asked, replies int) {
	p.t.Helper()
	home, err := disk.OpenHome(p.home)
	if err != nil {
		p.t.Fatal(err)
	}
	list, err := home.List()
	if err != nil {
		p.t.Fatal(err)
	}
	if len(list) == 0 {
		return 0, 0
	}
	log, err := home.Read(list[0].ID)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range log.Entries {
		switch b := e.Body.(type) {
		case *transcript.Request:
			asked++
		case *transcript.Answer:
			if transcript.TextOf(b.Parts) != "" {
				replies++
			}
		}
	}
	return asked, replies
}

// TestW35_AKilledStepGoesOn: whatever ends the process, the run goes on with
// the same attempt, one prompt and one reply.
func TestW35_AKilledStepGoesOn(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		p := newPlace(t)
		slow := p.write("slow.yaml", "version: 1\nsteps:\n  - text: said once\n    delayMs: 60000\n")
		fast := p.write("fast.yaml", "version: 1\nsteps:\n  - text: said once\n")
		cmd := p.cmd("run", "assistant-reply", "hi", "--model", "script:"+slow)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the model is asked", func() bool {
			asked, _ := p.replies()
			return asked == 1
		})
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL && code != 130 {
			t.Errorf("%v: exit code %d", sig, code)
		}
		if run := p.history(); run.Status.Ended() || run.Open == nil {
			t.Errorf("%v: %s", sig, run.Status)
		}
		if r := p.run("run", "--resume", "last", "--model", "script:"+fast); r.code != 0 || r.stdout != "said once\n" {
			t.Errorf("%v: resumed: %+v", sig, r)
		}
		if _, replies := p.replies(); replies != 1 {
			t.Errorf("%v: %d replies", sig, replies)
		}
		if run := p.history(); run.Status != flow.Completed {
			t.Errorf("%v: %s", sig, run.Status)
		}
	}
}

// TestC8_ASessionInUse: two processes never share a run's session.
func TestC8_ASessionInUse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	slow := p.write("slow.yaml", "version: 1\nsteps:\n  - text: said\n    delayMs: 60000\n")
	cmd := p.cmd("run", "assistant-reply", "hi", "--model", "script:"+slow)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the step runs", func() bool { return p.runStatus() == "running " })
	r := p.run("run", "--resume", "last", "--model", "script:"+slow)
	if r.code != 7 || !strings.Contains(r.stderr, fmt.Sprintf("in use by process %d", cmd.Process.Pid)) {
		t.Errorf("%+v", r)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// TestW32_OthersEndARunningStep: what somebody else wants reaches the step that
// runs.
func TestW32_OthersEndARunningStep(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	slow := p.write("slow.yaml", "version: 1\nsteps:\n  - text: said\n    delayMs: 60000\n")
	begun := time.Now()
	cmd := p.cmd("run", "assistant-reply", "hi", "--model", "script:"+slow)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the step runs", func() bool { return p.runStatus() == "running " })
	if r := p.run("runs", "cancel", "last"); r.code != 0 || !strings.Contains(r.stdout, "now cancelled") {
		t.Errorf("%+v", r)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(begun) > 50*time.Second {
		t.Errorf("exit code %d after %v", code, time.Since(begun))
	}
	if _, replies := p.replies(); replies != 0 {
		t.Errorf("%d replies", replies)
	}
}

// TestW32_EscapeInASession: a person stops the step of a run that the model has
// started. The run is held, and goes on with a new prompt when it is let go.
func TestW32_EscapeInASession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	starts := "version: 1\nsteps:\n  - tools: [{name: workflow, args: {action: start, workflow: assistant-reply, input: {task: say it}}}]\n  - text: started\n"
	slow := p.write("slow.yaml", starts+"  - text: never\n    delayMs: 60000\n")
	fast := p.write("fast.yaml", "version: 1\ndefault: {text: said once}\n")
	cmd := p.cmd("exec", "Start it.", "--model", "script:"+slow)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the step is asked", func() bool {
		asked, _ := p.replies()
		return asked == 3
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || p.runStatus() != "waiting paused" {
		t.Errorf("exit code %d, the run is %s", code, p.runStatus())
	}
	if r := p.run("exec", "--resume", "last", "--model", "script:"+fast); r.code != 130 || p.runStatus() != "waiting paused" {
		t.Errorf("a held run goes on by itself: %+v", r)
	}
	p.ok("runs", "resume", "last")
	if r := p.run("exec", "--resume", "last", "--model", "script:"+fast, "--json"); r.code != 0 || !strings.Contains(r.stdout, `"kind":"resume"`) {
		t.Errorf("let go: %+v", r)
	}
	if _, replies := p.replies(); replies != 2 || p.history().Status != flow.Completed {
		t.Errorf("%d replies, the run is %s", replies, p.runStatus())
	}
}
