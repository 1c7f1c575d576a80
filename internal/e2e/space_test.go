package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// blobs lists the session's blobs.
func (p *place) blobs() []string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.home, "sessions", "*", "blobs", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// TestE51_BlobOfAKilledSession: a kill between a blob and the entry that names
// it leaves a blob that nothing names. Collection removes it; with the entry
// there it stays, and not while the session is in use.
func TestE51_BlobOfAKilledSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.bin = crashBin
	p.script("version: 1\nsteps:\n  - {tools: [{name: skill, args: {name: plain-writing}}]}\n  - {tools: [{name: bash, args: {command: \"touch at; until [ -e on ]; do sleep 0.01; done; yes | head -c 200k\"}}]}\ndefault: {text: Over.}\n")
	cmd := p.cmd("exec", "--json", "go")
	cmd.Env = append(cmd.Env, crashpoint.Variable+"=replace.after-rename")
	if r := p.finish(cmd); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || len(p.blobs()) != 1 {
		t.Fatalf("exit %d, blobs %v, %s", r.code, p.blobs(), r.stderr)
	}
	id := p.readSession().id
	if r := p.run("session", "gc", "--dry-run"); r.code != 0 || !strings.Contains(r.stdout, id+": would remove 1 blob and 0 outputs") || len(p.blobs()) != 1 {
		t.Errorf("dry run: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "gc"); r.code != 0 || !strings.Contains(r.stdout, id+": removed 1 blob and 0 outputs") || len(p.blobs()) != 0 {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	live := p.start("--allow", "bash", "--resume", id)
	eventually(t, "the command to run", func() bool { _, err := os.Stat(filepath.Join(p.ws, "at")); return err == nil })
	if r := p.run("session", "gc"); r.code != 0 || !strings.Contains(r.stderr, "in use and is left alone") {
		t.Errorf("in use: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "gc", id); r.code != 7 {
		t.Errorf("named and in use: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	p.touch("on")
	if code := live.end(); code != 0 {
		t.Fatalf("exit %d, %s", code, live.stderr)
	}
	if r := p.run("session", "gc"); r.code != 0 || len(p.blobs()) != 1 {
		t.Errorf("a blob that is named: exit %d, %s%s, %v", r.code, r.stdout, r.stderr, p.blobs())
	}
	if r := p.run("session", "du"); r.code != 0 || !strings.Contains(r.stdout, "200.0 KiB") {
		t.Errorf("du: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "gc", "--outputs", "0d"); r.code != 0 || !strings.Contains(r.stdout, "0 blobs and 1 output, 200.0 KiB") {
		t.Errorf("outputs: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "du", "--json", id); r.code != 0 || !strings.Contains(r.stdout, `"spills":0,"files":0}`) {
		t.Errorf("du: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "doctor", id); r.code != 0 {
		t.Errorf("doctor: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "gc", "--outputs", "soon"); r.code != 2 || !strings.Contains(r.stderr, "--outputs") {
		t.Errorf("a bad age: exit %d, %s", r.code, r.stderr)
	}
}
