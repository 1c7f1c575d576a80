package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	realsession "github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// transcriptFile returns the path of the newest segment of the only session.
func (p *place) transcriptFile() string {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.home, "sessions", "*", "transcript", "*.jsonl"))
	if err != nil || len(names) == 0 {
		p.t.Fatalf("%v, %v", names, err)
	}
	return names[len(names)-1]
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func overwrite(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// interrupted makes a session whose process was killed in a tool.
func interrupted(t *testing.T) *place {
	p := newPlace(t)
	r := p.began("version: 1\nsteps:\n  - {text: \"作成しました🏳️‍⚧️\", tools: [{name: bash, args: {command: \"touch began; while [ -e began ] && [ ! -e let ]; do sleep 0.01; done\"}}]}\ndefault: {text: Went on.}\n")
	r.kill()
	r.end()
	p.touch("let") // also for a call that a resumed run starts
	wait(t, "end of the tool", r.gone)
	return p
}

// lastTwo returns where the last two records of a transcript begin and end.
func lastTwo(b []byte) (from, to int) {
	lines := bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	n := len(lines)
	return len(b) - 1 - len(lines[n-1]) - len(lines[n-2]), len(b)
}

// TestE22_BC29_EveryCutOpens cuts the transcript of a killed process at each
// byte of its last two records, opens and folds it, and reads what the next
// owner wrote.
func TestE22_BC29_EveryCutOpens(t *testing.T) {
	t.Parallel()
	p := interrupted(t)
	path := p.transcriptFile()
	whole := read(t, path)
	id := p.readSession().id
	entries := len(p.readSession().entries())
	from, to := lastTwo(whole)
	dir := memory(t)
	path = filepath.Join(dir, strings.TrimPrefix(path, p.home))
	if err := os.CopyFS(filepath.Join(dir, "sessions"), os.DirFS(filepath.Join(p.home, "sessions"))); err != nil {
		t.Fatal(err)
	}
	home, err := disk.OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	for cut := from; cut <= to; cut++ {
		p.restore(path, whole[:cut])
		s, err := home.Open(id, transcript.OpenStart, transcript.Owner{PID: 1, Host: "h"}, "test", time.Now())
		if err != nil {
			t.Fatalf("cut at byte %d of %d: %v", cut, len(whole), err)
		}
		if _, err := realsession.Fold(s.Entries); err != nil {
			t.Errorf("cut at byte %d: %v", cut, err)
		}
		lost := bytes.Count(whole[cut:], []byte("\n"))
		if got := len(s.Entries); got != entries-lost+1 {
			t.Errorf("cut at byte %d: %d entries, want %d and the new owner's first", cut, got, entries-lost)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if now := read(t, path); !bytes.Equal(now, whole[:cut]) {
			t.Errorf("cut at byte %d: the torn segment was changed", cut)
		}
	}
	t.Logf("%d cuts", to-from+1)
}

// memory returns a new folder in memory, if there is such a file system: the
// test syncs thousands of times and pulls no plug.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "gamma-e2e-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// restore puts a transcript back to one segment with these bytes.
func (p *place) restore(path string, b []byte) {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			p.t.Fatal(err)
		}
	}
	overwrite(p.t, path, b)
}

// TestE22_BC29_TornTailIsToldAndGoesOn: the binary itself, at a few cuts, one
// of them inside a rune.
func TestE22_BC29_TornTailIsToldAndGoesOn(t *testing.T) {
	t.Parallel()
	p := interrupted(t)
	path := p.transcriptFile()
	whole := read(t, path)
	id := p.readSession().id
	from, to := lastTwo(whole)
	rune := bytes.Index(whole, []byte("🏳")) + 2
	for _, cut := range []int{from + 1, rune, to - 1, to} {
		p.restore(path, whole[:cut])
		p.script("version: 1\ndefault: {text: Went on.}\n") // a lost answer is asked for again
		r := p.run("exec", "--json", "--allow", "bash", "--resume", id)
		if r.code != 0 || r.result(t).Text != "Went on." {
			t.Errorf("cut at byte %d: exit %d, %s\n%s", cut, r.code, r.stdout, r.stderr)
		}
		if torn := cut != to; torn != strings.Contains(r.stderr, path) || torn != exists(strings.TrimSuffix(path, ".jsonl")+".torn") {
			t.Errorf("cut at byte %d: torn %v, told: %s", cut, torn, r.stderr)
		}
	}
}

// tree returns all files below a folder with their contents.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "lock" { // who holds it is written there
			out[path] = string(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestE22_BadLineIsNamed: a bad line in the middle is an error that names the
// file, the line and the reason; nothing is changed, and what is good is shown.
func TestE22_BadLineIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: Answer.}\n")
	if r := p.run("exec", "first"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	path, id := p.transcriptFile(), p.readSession().id
	whole := read(t, path)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	damage := map[string]func(line []byte) []byte{
		"no JSON":        func([]byte) []byte { return []byte("garbage\n") },
		"cut":            func(b []byte) []byte { return append(bytes.Clone(b[:len(b)/2]), '\n') },
		"gone":           func([]byte) []byte { return nil },
		"twice":          func(b []byte) []byte { return append(bytes.Clone(b), b...) },
		"another id":     func(b []byte) []byte { return bytes.Replace(b, []byte(`{"id":"1-`), []byte(`{"id":"1-9`), 1) },
		"zeros":          func(b []byte) []byte { return append(make([]byte, len(b)-1), '\n') },
		"invalid UTF-8":  func(b []byte) []byte { return bytes.Replace(b, []byte(`"kind":"`), []byte("\"kind\":\"\xff"), 1) },
		"newer version":  func(b []byte) []byte { return bytes.Replace(b, []byte(`"v":1`), []byte(`"v":99`), 1) },
		"not one object": func([]byte) []byte { return []byte("[]\n") },
	}
	for name, change := range damage {
		for _, i := range []int{2, len(lines) / 2, len(lines) - 2} {
			var b []byte
			for j, line := range lines {
				if j == i {
					line = change(line)
				}
				b = append(b, line...)
			}
			overwrite(t, path, b)
			before := tree(t, p.home)
			r := p.run("exec", "--json", "--resume", id, "more")
			at := i + 1
			if name == "twice" {
				at++
			}
			if r.code != 1 || !strings.Contains(r.stderr, path+" line "+itoa(at)) || !strings.Contains(r.stdout, `"type":"result","status":"error"`) {
				t.Errorf("%s, line %d: exit %d, %s", name, at, r.code, r.stderr)
			}
			show := p.run("session", "show", "--entries", id)
			if show.code != 1 || strings.Count(show.stdout, "\n") != at-1 {
				t.Errorf("%s, line %d: session show: exit %d, %d entries: %s", name, at, show.code, strings.Count(show.stdout, "\n"), show.stderr)
			}
			after := tree(t, p.home)
			for path := range after {
				if before[path] != after[path] {
					t.Errorf("%s, line %d: %s was changed", name, at, path)
				}
			}
			if len(after) != len(before) {
				t.Errorf("%s, line %d: %d files became %d", name, at, len(before), len(after))
			}
		}
	}
	overwrite(t, path, whole)
	if r := p.run("exec", "--json", "--resume", id, "more"); r.code != 0 {
		t.Errorf("restored: exit %d, %s", r.code, r.stderr)
	}
}
