package e2e

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestC12_ReaderThatStopsReading: a pipe that nobody empties holds up neither
// the run nor a signal.
func TestC12_ReaderThatStopsReading(t *testing.T) {
	long := strings.Repeat("All work and no play. ", 20_000) // far more than a pipe holds
	script := "version: 1\nsteps:\n  - {text: \"" + long + "\", tools: [{name: bash, args: {command: \"" + slowTool + "\"}}]}\n"
	for _, c := range []struct {
		name string
		args []string
		sig  syscall.Signal
	}{
		{"TERM, JSON", []string{"--json"}, syscall.SIGTERM},
		{"INT, JSON", []string{"--json"}, syscall.SIGINT},
		{"TERM, text", nil, syscall.SIGTERM},
	} {
		t.Run("C12 "+c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.script(script)
			cmd := p.cmd(append(append([]string{"exec"}, c.args...), "--allow", "bash", "go")...)
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd.Stdout = in
			if len(c.args) == 0 {
				cmd.Stderr = in
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in.Close()
			eventually(t, "the tool is at work", func() bool { return exists(filepath.Join(p.ws, "began")) })
			ended := make(chan struct{})
			go func() { defer close(ended); _ = cmd.Wait() }() // the code tells
			if err := cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			wait(t, "the end", ended)
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit %d", code)
			}
			if s := p.readSession(); s.open() != (c.sig == syscall.SIGTERM) {
				t.Errorf("entries: %v", s.kinds())
			}
		})
	}
}

// TestC12_ReaderThatHasGone: "| head -1" ends the run in order: its tools end
// too, and it can be resumed.
func TestC12_ReaderThatHasGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script(toolThat("while :; do echo tick; sleep 0.05; done"))
	cmd := p.cmd("exec", "--json", "--allow", "bash", "go")
	witness, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer witness.Close()
	cmd.ExtraFiles = []*os.File{held}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	held.Close()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tool is at work", func() bool { s := p.readSession(); return s != nil && s.kinds()["intent"] == 1 })
	out.Close()
	gone := make(chan struct{})
	go func() { defer close(gone); _, _ = io.Copy(io.Discard, witness) }()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	wait(t, "the end", ended)
	wait(t, "the end of its tools", gone)
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d", code)
	}
	if n := strings.Count(stderr.String(), "\n"); n != 1 || !strings.Contains(stderr.String(), "standard output") || !strings.Contains(stderr.String(), "exec --resume") {
		t.Errorf("standard error:\n%s", stderr.String())
	}
	s := p.readSession()
	if !s.open() || s.kinds()["abort"] != 0 {
		t.Errorf("entries: %v", s.kinds())
	}
	if r := p.run("exec", "--json", "--resume", s.id, "--allow", "bash"); r.code != 0 || r.result(t).Text != "Went on." {
		t.Errorf("resumed: exit %d, %s\n%s", r.code, r.stdout, r.stderr)
	}
}

// TestC12_TextOfEachAnswer: words of the model that aren't its last are shown
// as progress when the run goes on.
func TestC12_TextOfEachAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - {tools: [{name: todo, args: {action: add, items: [{content: Work, status: in_progress}]}}]}\n  - {text: First.}\n  - {text: Second.}\n  - {text: Third.}\n")
	r := p.run("exec", "hi")
	if r.stdout != "Third.\n" || !strings.Contains(r.stderr, "First.\n") || !strings.Contains(r.stderr, "Second.\n") || strings.Contains(r.stderr, "Third.") {
		t.Errorf("stdout %q, stderr:\n%s", r.stdout, r.stderr)
	}
}
