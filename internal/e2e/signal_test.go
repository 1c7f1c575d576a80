package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/wire"
)

// toolThat is a script with one bash call and an answer behind it.
func toolThat(command string) string {
	return "version: 1\nlog: requests.jsonl\nsteps:\n  - {tools: [{name: bash, args: {command: \"" + command + "\"}}]}\ndefault: {text: Went on.}\n"
}

const (
	slowModel = "version: 1\nlog: requests.jsonl\nsteps:\n  - {delayMs: 100000, text: Never.}\ndefault: {text: Went on.}\n"
	deafTool  = "trap '' TERM INT HUP; touch began; while :; do sleep 0.05; done"
	slowTool  = "touch began; sleep 100"
)

// began starts a run and waits until its model call or tool is at work.
func (p *place) began(script string) *running {
	p.t.Helper()
	p.script(script)
	r := p.start("--allow", "bash", "go")
	sign := filepath.Join(p.ws, "began")
	if script == slowModel {
		sign = filepath.Join(filepath.Dir(p.ws), "requests.jsonl")
	}
	eventually(p.t, "the run is at work", func() bool { return exists(sign) })
	return r
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestC5_InterruptAborts: the first interrupt aborts the run.
func TestC5_InterruptAborts(t *testing.T) {
	for name, script := range map[string]string{"model": slowModel, "tool": toolThat(slowTool), "deaf tool": toolThat(deafTool)} {
		t.Run("C5 interrupt during a "+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			r := p.began(script)
			at := time.Now()
			r.signal(syscall.SIGINT)
			code := r.end()
			t.Logf("ended after %s", time.Since(at))
			res := resultLine(t, r.last)
			if code != 130 || res.Status != "error" || res.Reason != "aborted" {
				t.Errorf("exit %d, %s", code, r.last)
			}
			s := p.readSession()
			if s.kinds()["abort"] != 1 || s.last("settled").Body.Reason != "aborted" || s.kinds()["intent"] != s.kinds()["result"] {
				t.Errorf("entries: %v, settled %q", s.kinds(), s.last("settled").Body.Reason)
			}
			wait(t, "end of the tools", r.gone)
			again := p.run("exec", "--json", "--resume", s.id)
			if again.code != 130 || again.result(t).Reason != "aborted" {
				t.Errorf("resumed without a prompt: exit %d, %s", again.code, again.stdout)
			}
			p.script("version: 1\ndefault: {text: Went on.}\n")
			next := p.run("exec", "--json", "--resume", s.id, "go on")
			if next.code != 0 || next.result(t).Text != "Went on." {
				t.Errorf("the next prompt: exit %d, %s\n%s", next.code, next.stdout, next.stderr)
			}
		})
	}
}

// TestC5_SecondInterruptLeaves: the second interrupt doesn't wait for a tool
// that takes no notice of the first.
func TestC5_SecondInterruptLeaves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.began(toolThat(deafTool))
	r.signal(syscall.SIGINT)
	eventually(t, "the abort is on disk", func() bool { return p.readSession().kinds()["abort"] == 1 })
	r.signal(syscall.SIGINT)
	code := r.end()
	res := resultLine(t, r.last)
	if code != 130 || res.Status != "error" || res.Reason != "interrupted" || !strings.Contains(res.Error.Message, "gamma exec --resume "+res.Session) {
		t.Errorf("exit %d, %s", code, r.last)
	}
	s := p.readSession()
	if s.kinds()["settled"] != 0 || s.kinds()["result"] != 0 {
		t.Errorf("entries: %v: it waited for the tool", s.kinds())
	}
	wait(t, "end of the tools", r.gone)
	again := p.run("exec", "--json", "--resume", s.id, "--allow", "bash")
	if again.code != 130 || again.result(t).Reason != "aborted" {
		t.Errorf("resumed: exit %d, %s", again.code, again.stdout)
	}
	if s := p.readSession(); s.last("result").Body.Outcome != "unknown" {
		t.Errorf("the call's outcome is %q", s.last("result").Body.Outcome)
	}
}

// TestE13_TerminatedRunIsResumed: TERM and HUP leave the run as a crash would,
// in good order: it can be resumed, and nothing that it started lives on.
func TestE13_TerminatedRunIsResumed(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		script string
	}{
		{"TERM in a tool", syscall.SIGTERM, toolThat(slowTool)},
		{"TERM in a deaf tool", syscall.SIGTERM, toolThat(deafTool)},
		{"HUP in a tool", syscall.SIGHUP, toolThat(slowTool)},
		{"TERM in a model call", syscall.SIGTERM, slowModel},
	} {
		t.Run("E13 "+c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			r := p.began(c.script)
			r.signal(c.signal)
			code := r.end()
			wait(t, "end of the tools", r.gone)
			res := resultLine(t, r.last)
			if code != 130 || !strings.Contains(r.stderr.String(), "gamma exec --resume "+res.Session) {
				t.Errorf("exit %d, %s\n%s", code, r.last, r.stderr)
			}
			s := p.readSession()
			if !s.open() || s.kinds()["abort"] != 0 {
				t.Errorf("entries: %v", s.kinds())
			}
			if c.script == slowModel { // it would be as slow again
				p.script(strings.Replace(slowModel, "100000", "1", 1))
			}
			again := p.run("exec", "--json", "--resume", s.id, "--allow", "bash")
			if again.code != 0 || again.result(t).Status != "done" {
				t.Errorf("resumed: exit %d, %s\n%s", again.code, again.stdout, again.stderr)
			}
			if s := p.readSession(); s.kinds()["intent"] > 0 && (s.kinds()["intent"] != 1 || s.last("result").Body.Outcome != "unknown") {
				t.Errorf("entries: %v; the call's outcome is %q", s.kinds(), s.last("result").Body.Outcome)
			}
		})
	}
}

// TestE23_SecondWriterIsRefused: while one process owns a session, others are
// told who does, and may read.
func TestE23_SecondWriterIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner := p.began(toolThat("touch began; while [ -e began ] && [ ! -e let ]; do sleep 0.01; done"))
	pid := owner.cmd.Process.Pid
	id := p.readSession().id
	for _, args := range [][]string{{"--resume", id, "me too"}, {"--resume", id}, {"--continue", "me too"}} {
		r := p.run(append([]string{"exec", "--json"}, args...)...)
		var res wire.Result
		if lines := strings.Split(strings.TrimSpace(r.stdout), "\n"); r.code == 7 {
			res = resultLine(t, lines[len(lines)-1])
		}
		if want := "in use by process " + itoa(pid); r.code != 7 || res.Status != "locked" || !strings.Contains(r.stderr, want) || !strings.Contains(res.Error.Message, want) {
			t.Errorf("%v: exit %d, %s\n%s", args, r.code, r.stdout, r.stderr)
		}
	}
	if r := p.run("session", "show", id); r.code != 0 || !strings.Contains(r.stdout, "\nUser\n  │ go\n") {
		t.Errorf("session show: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "list", "--json"); !strings.Contains(r.stdout, `"inUseBy":`+itoa(pid)) {
		t.Errorf("session list: %s", r.stdout)
	}
	p.touch("let")
	if code := owner.end(); code != 0 {
		t.Errorf("the owner: exit %d, %s", code, owner.stderr)
	}
	if s := p.readSession(); len(s.segments) != 1 || s.kinds()["arrive"] != 1 {
		t.Errorf("%d segments, entries %v", len(s.segments), s.kinds())
	}
}

// TestE23_BC35_OneOfManyWins: several processes take one session at the same
// moment.
func TestE23_BC35_OneOfManyWins(t *testing.T) {
	t.Parallel()
	const many = 5
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - {text: One.}\n  - {tools: [{name: bash, args: {command: \"until [ -e let ]; do sleep 0.01; done\"}}]}\ndefault: {text: Went on.}\n")
	p.ok("exec", "--json", "begin")
	ends := make(chan int, many)
	for range many {
		r := p.start("--allow", "bash", "--continue", "me")
		go func() {
			for range r.events {
			}
			_ = r.cmd.Wait() // the code tells
			ends <- r.cmd.ProcessState.ExitCode()
		}()
	}
	codes := map[int]int{}
	for n := range many {
		if n == many-1 {
			p.touch("let")
		}
		codes[<-ends]++
	}
	if codes[7] != many-1 || codes[0] != 1 {
		t.Errorf("exit codes: %v", codes)
	}
	s := p.readSession()
	if len(s.segments) != 2 || s.kinds()["arrive"] != 2 {
		t.Errorf("%d segments, entries %v", len(s.segments), s.kinds())
	}
}

// TestC2_TwoSessionsInOneFolder: they run at the same time.
func TestC2_TwoSessionsInOneFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	meet := func(me, other string) *running {
		q := *p
		q.env = []string{"GAMMA_MODEL=script:" + p.write(me+".yaml", toolThat("touch "+me+"; until [ -e "+other+" ]; do sleep 0.01; done"))}
		return q.start("--allow", "bash", "meet")
	}
	one, two := meet("one", "two"), meet("two", "one")
	for _, r := range []*running{one, two} {
		if code := r.end(); code != 0 || resultLine(t, r.last).Text != "Went on." {
			t.Errorf("exit %d, %s\n%s", code, r.last, r.stderr)
		}
	}
}

// TestC5_X03_OpenInputDoesNotBlock: standard input is a pipe that is never
// closed and never written to.
func TestC5_X03_OpenInputDoesNotBlock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: Answer.}\n")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	r := p.runIn(in, "exec", "--json", "hi")
	if r.code != 0 || r.result(t).Text != "Answer." {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	if r := p.runIn(in, "exec", "--json", "--continue"); r.code != 0 {
		t.Errorf("without a prompt: exit %d, %s", r.code, r.stderr)
	}
}
