package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// call is a call of a scripted step; YAML takes JSON.
func call(t testing.TB, name string, args map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"name": name, "args": args})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type args = map[string]any

// results returns the texts of the tools' results, in order.
func (s *session) results() (out []string) {
	for _, e := range s.entries() {
		if e.Kind == "result" {
			out = append(out, e.Body.Outcome+": "+e.Body.Text)
		}
	}
	return out
}

// temps lists what writers left in the workspace.
func (p *place) temps() []string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.ws, ".gamma-*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// TestR2_E44_KilledWrites kills the process at each step of a write: the file
// is the old one or the new one, whole, the model is told that the outcome is
// unknown, and the next start removes the temporary file.
func TestR2_E44_KilledWrites(t *testing.T) {
	for at, c := range map[string]struct {
		temps int
		text  string
	}{"file.noted": {0, "old\n"}, "file.before-rename": {1, "old\n"}, "file.after-rename": {0, "new\n"}} {
		t.Run("R2 "+at, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.bin = crashBin
			p.script("version: 1\nsteps:\n  - {tools: [{name: edit, args: {path: f, edits: [{oldText: old, newText: new}]}}]}\n  - {expect: unknown, text: Looked.}\n")
			file := filepath.Join(p.ws, "f")
			if err := os.WriteFile(file, []byte("old\n"), 0o640); err != nil {
				t.Fatal(err)
			}
			cmd := p.cmd("exec", "--json", "edit it")
			cmd.Env = append(cmd.Env, crashpoint.Variable+"="+at)
			if r := p.finish(cmd); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it wasn't killed: exit %d, %s", r.code, r.stderr)
			}
			if got := string(read(t, file)); got != c.text || len(p.temps()) != c.temps {
				t.Errorf("after the kill: %q, %v", got, p.temps())
			}
			if r := p.run("exec", "--json", "--resume", p.readSession().id); r.code != 0 || r.result(t).Text != "Looked." {
				t.Errorf("resumed: exit %d, %s%s", r.code, r.stdout, r.stderr)
			}
			if got := string(read(t, file)); got != c.text || len(p.temps()) != 0 {
				t.Errorf("after the resume: %q, %v", got, p.temps())
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// TestE43_TwoProcessesOnOneFolder: two sessions edit one file at the same time,
// each many times. What one was told to have made is there at the end.
func TestE43_TwoProcessesOnOneFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.ws, "f"), []byte("end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const each = 40
	script := func(who string) string {
		var b strings.Builder
		b.WriteString("version: 1\nsteps:\n")
		for n := range each {
			b.WriteString("  - {tools: [{name: edit, args: {path: f, edits: [{oldText: \"end\\n\", newText: \"" + who + itoa(n) + "\\nend\\n\"}]}}]}\n")
		}
		return b.String() + "default: {text: Over.}\n"
	}
	var runs []*running
	for _, who := range []string{"a", "b"} {
		runs = append(runs, p.start("--model", "script:"+p.write(who+".yaml", script(who)), "edit"))
	}
	made := map[string]int{}
	for _, r := range runs {
		if code := r.end(); code != 0 {
			t.Fatalf("exit %d, %s", code, r.stderr)
		}
		for _, e := range r.seen {
			if e.Type == "tool_execution_end" {
				made[e.Outcome]++
			}
		}
	}
	if lines := strings.Count(string(read(t, filepath.Join(p.ws, "f"))), "\n"); lines != made["ok"]+1 {
		t.Errorf("%d lines, and %v edits were made", lines, made)
	}
	t.Logf("edits: %v", made)
}
