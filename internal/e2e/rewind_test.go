package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// TestE48_RewindDiesAnywhere: a rewind that was killed between two files, or
// before the conversation moved, is finished by running it again.
func TestE48_RewindDiesAnywhere(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"rewind.file:1", "rewind.file:2", "rewind.restored", "replace.before-rename", "append.before", "append.torn", "append.after-write", "append.after-sync"} {
		p := newPlace(t)
		p.bin = crashBin
		p.script("version: 1\nsteps:\n  - tools: [{name: write, args: {path: a, content: one}}, {name: write, args: {path: b, content: one}}]\n  - text: made\n" +
			"  - tools: [{name: write, args: {path: a, content: two}}, {name: write, args: {path: b, content: two}}, {name: write, args: {path: c, content: two}}]\n  - text: changed\ndefault: {text: and on}\n")
		for n, args := range [][]string{{"make"}, {"--resume", "last", "change"}} {
			if r := p.run(append([]string{"exec"}, args...)...); r.code != 0 {
				t.Fatalf("run %d: exit %d %s", n, r.code, r.stderr)
			}
		}
		to := ""
		for _, e := range p.readSession().entries() {
			if e.Kind == "arrive" {
				to = e.ID
			}
		}
		env := p.env
		p.env = append(env[:len(env):len(env)], crashpoint.Variable+"="+at)
		died := p.run("session", "rewind", "last", "--to", to)
		p.env = env
		if died.code >= 0 {
			t.Errorf("%s: exit %d, %s", at, died.code, died.stderr)
		}
		if r := p.run("session", "rewind", "last", "--to", to); r.code != 0 {
			t.Errorf("%s: again: exit %d, %s", at, r.code, r.stderr)
		}
		for _, name := range []string{"a", "b"} {
			if got := string(read(t, filepath.Join(p.ws, name))); got != "one" {
				t.Errorf("%s: %s holds %q", at, name, got)
			}
		}
		if exists(filepath.Join(p.ws, "c")) {
			t.Errorf("%s: c is still there", at)
		}
		if r := p.run("exec", "--resume", "last", "go on"); r.code != 0 {
			t.Errorf("%s: exit %d, %s", at, r.code, r.stderr)
		}
	}
}

// TestE20_ForkDiesAnywhere: the copy is there whole or not at all, and what is
// left is removed with the next removal.
func TestE20_ForkDiesAnywhere(t *testing.T) {
	t.Parallel()
	for at, sessions := range map[string]int{"fork.filled": 1, "fork.renamed": 2} {
		p := newPlace(t)
		p.bin = crashBin
		p.script("version: 1\nsteps: []\ndefault: {text: yes}\n")
		if r := p.run("exec", "hi"); r.code != 0 {
			t.Fatalf("exit %d %s", r.code, r.stderr)
		}
		id := p.readSession().id
		env := p.env
		p.env = append(env[:len(env):len(env)], crashpoint.Variable+"="+at)
		if r := p.run("session", "fork", id); r.code >= 0 {
			t.Errorf("%s: exit %d, %s", at, r.code, r.stderr)
		}
		p.env = env
		if list := p.run("session", "list", "--json"); strings.Count(list.stdout, "\n") != sessions {
			t.Errorf("%s: %s", at, list.stdout)
		}
		r := p.run("session", "fork", id)
		if r.code != 0 {
			t.Fatalf("%s: again: exit %d, %s", at, r.code, r.stderr)
		}
		if got := p.run("session", "doctor", strings.TrimSpace(r.stdout)); got.code != 0 {
			t.Errorf("%s: the copy: %s%s", at, got.stdout, got.stderr)
		}
		if r := p.run("session", "rm", id); r.code != 0 {
			t.Errorf("%s: rm: %s", at, r.stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(p.home, "sessions", ".trash-*")); len(left) > 0 {
			t.Errorf("%s: left behind: %s", at, fmt.Sprint(left))
		}
	}
}

// TestE48_OthersWorkBetweenTwoEdits: what a person did between two changes of
// the session is named, and only --force takes it away.
func TestE48_OthersWorkBetweenTwoEdits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - tools: [{name: write, args: {path: a, content: \"A1\\n\"}}]\n  - text: made\n" +
		"  - tools: [{name: read, args: {path: a}}]\n  - tools: [{name: edit, args: {path: a, edits: [{oldText: A1, newText: A2}]}}]\n  - text: changed\n")
	p.ok("exec", "make")
	file := filepath.Join(p.ws, "a")
	if err := os.WriteFile(file, []byte("A1\nhours of work\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.ok("exec", "--resume", "last", "change")
	if r := p.run("session", "rewind", "last", "--to", "start"); r.code != 1 || !strings.Contains(r.stderr, "a was also changed by others") {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if got := string(read(t, file)); got != "A2\nhours of work\n" {
		t.Errorf("a holds %q", got)
	}
	if r := p.run("session", "rewind", "last", "--to", "start", "--force"); r.code != 0 || exists(file) {
		t.Errorf("with --force: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
}

// TestE48_CallsWithoutAnEndAreNamed: a call that was started and whose end
// nobody saw may have changed anything.
func TestE48_CallsWithoutAnEndAreNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.began("version: 1\nsteps:\n  - tools: [{name: bash, args: {command: \"echo 1 >side.txt; touch began; while [ -e began ] && [ ! -e go ]; do sleep 0.01; done\"}}]\ndefault: {text: x}\n")
	r.kill()
	r.end()
	p.touch("go")
	got := p.run("session", "rewind", "last", "--to", "start")
	if got.code != 0 || !strings.Contains(got.stdout, "not taken back:\n  bash: echo 1 >side.txt") {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
}

// TestE48_NamesCantImitateLines: a file's name is one line, whatever it holds.
func TestE48_NamesCantImitateLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - tools: [{name: write, args: {path: \"new\\nrestored all.txt\", content: x}}]\n  - text: made\n")
	p.ok("exec", "make")
	if r := p.run("session", "rewind", "last", "--to", "start"); r.code != 0 || !strings.Contains(r.stdout, `removed new\nrestored all.txt`) {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
}
