package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watcher is gamma session show --follow at work.
type watcher struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out strings.Builder
}

func (p *place) watch(t *testing.T, args ...string) *watcher {
	t.Helper()
	w := &watcher{t: t, cmd: p.cmd(append([]string{"session", "show", "--follow"}, args...)...), done: make(chan struct{})}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		defer close(w.done)
		in := bufio.NewReader(out)
		for {
			line, err := in.ReadString('\n')
			w.mu.Lock()
			w.out.WriteString(line)
			w.mu.Unlock()
			if err != nil {
				_, _ = io.Copy(io.Discard, in)
				return
			}
		}
	}()
	return w
}

func (w *watcher) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

func (w *watcher) sees(text string) {
	w.t.Helper()
	eventually(w.t, "the follower shows "+text, func() bool { return strings.Contains(w.text(), text) })
}

// end waits for the end and returns the exit code.
func (w *watcher) end() int {
	w.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	<-w.done
	_ = w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

const waitsForFile = "version: 1\nsteps:\n  - {tools: [{name: bash, args: {command: \"touch began; while [ -e began ] && [ ! -e go ]; do sleep 0.02; done; echo went\"}}]}\ndefault: {text: Done with it.}\n"

// TestE23_FollowALiveSession: what the owner does is shown as it happens, each
// entry once, to the end of the run.
func TestE23_FollowALiveSession(t *testing.T) {
	p := newPlace(t)
	r := p.began(waitsForFile)
	human, entries := p.watch(t, "last", "--until", "settled"), p.watch(t, "last", "--entries", "--until", "settled")
	human.sees("── run 1, ")
	entries.sees(`"intent"`)
	id := p.readSession().id
	if got := p.run("inject", id, "--kind", "artifact_update", "--from", "report.md", "row 7\n  ✓ changed"); got.code != 0 {
		t.Fatalf("inject: %+v", got)
	}
	entries.sees("report.md")
	p.touch("go")
	if code := r.end(); code != 0 {
		t.Fatalf("exec: exit %d", code)
	}
	if code := human.end(); code != 0 {
		t.Errorf("follower: exit %d", code)
	}
	if code := entries.end(); code != 0 {
		t.Errorf("follower of entries: exit %d", code)
	}
	for _, want := range []string{"  ✓ bash touch began", "  ▸ artifact_update from report.md (data)\n  │ row 7\n  │   ✓ changed\n", "  │ Done with it.\n  · artifact_update is consumed by entry ", "\n── settled: done\n"} {
		if !strings.Contains(human.text(), want) {
			t.Errorf("no %q in\n%s", want, human.text())
		}
	}
	if all := p.run("session", "show", id, "--entries").stdout; all != entries.text() {
		t.Errorf("followed:\n%s\nstored:\n%s", entries.text(), all)
	}
}

// TestE23_FollowFromOwnerToOwner: without an owner the transcript is shown;
// the follower attaches when one appears, and again to the next.
func TestE23_FollowFromOwnerToOwner(t *testing.T) {
	p := newPlace(t)
	r := p.began(waitsForFile)
	r.signal(syscall.SIGKILL)
	r.end()
	id := p.readSession().id
	w := p.watch(t, id, "--entries", "--until", "settled")
	w.sees(`"intent"`)
	p.script("version: 1\nsteps:\n  - {text: first}\n  - {tools: [{name: bash, args: {command: echo again}}]}\ndefault: {text: Went on.}\n")
	if got := p.run("inject", id, "--kind", "system_note", "between two owners"); got.code != 0 {
		t.Fatalf("inject: %+v", got)
	}
	w.sees("between two owners")
	human := p.watch(t, id, "--until", "settled")
	human.sees("left something for the session")
	if got := p.run("exec", "--json", "--resume", id); got.code != 0 {
		t.Fatalf("resume: %+v", got)
	}
	if code := w.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if code := human.end(); code != 0 || !strings.Contains(human.text(), "  … bash echo again\n  ✓ bash echo again\n") {
		t.Errorf("exit %d, shown:\n%s", code, human.text())
	}
	all := p.run("session", "show", id, "--entries").stdout
	if got := w.text(); !strings.HasPrefix(all, got) || !strings.Contains(got, `"settled"`) {
		t.Errorf("followed:\n%s\nstored:\n%s", got, all)
	}
}

// TestE23_FollowEnds: at once if nothing runs, and at Ctrl-C.
func TestE23_FollowEnds(t *testing.T) {
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: hi}\n")
	p.run("exec", "hello")
	if code := p.watch(t, "last", "--until", "settled").end(); code != 0 {
		t.Errorf("a settled session: exit %d", code)
	}
	w := p.watch(t, "last")
	w.sees("settled: done")
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := w.end(); code != 130 {
		t.Errorf("Ctrl-C: exit %d", code)
	}
	w = p.watch(t, "last")
	w.sees("settled: done")
	if got := p.run("session", "rm", filepath.Base(p.readSession().id)); got.code != 0 {
		t.Fatalf("rm: %+v", got)
	}
	if code := w.end(); code != 1 {
		t.Errorf("a removed session: exit %d", code)
	}
	if got := p.run("session", "show", "x", "--until", "settled"); got.code != 2 || !strings.Contains(got.stderr, "--until goes with --follow") {
		t.Errorf("--until alone: %+v", got)
	}
}

// TestE23_TheFirstLineCanBeInterrupted: who sees the first line of a process
// that goes on can end it in order at once.
func TestE23_TheFirstLineCanBeInterrupted(t *testing.T) {
	p := newPlace(t)
	r := p.began(slowModel)
	run := p.cmd("run", "delay-retry", "--input", `{"seconds":3600}`, "--json")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run waits", func() bool { return p.runStatus() == "waiting delay" })
	for _, c := range [][]string{
		{"session", "show", "last", "--follow"},
		{"session", "show", "last", "--follow", "--entries"},
		{"runs", "watch", "last", "--json"},
		{"run", "delay-retry", "--input", `{"seconds":3600}`, "--json"},
		{"exec", "--json", "go"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			if code := p.interruptedAtOnce(t, c...); code != 130 {
				t.Errorf("exit %d", code)
			}
		})
	}
	for _, cmd := range []*exec.Cmd{run, r.cmd} {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	_ = run.Wait()
	for range r.events { // to its end
	}
}

// interruptedAtOnce sends Ctrl-C at the first byte of output and returns the
// exit code.
func (p *place) interruptedAtOnce(t *testing.T, args ...string) int {
	t.Helper()
	cmd := p.cmd(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
