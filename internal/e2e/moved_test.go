package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// TestR4_WorkspaceGoes: the folder of a session is moved, removed, or replaced
// by another one while the model thinks. No tool works in the wrong place, the
// run ends as it should, and goes on when the folder is back.
func TestR4_WorkspaceGoes(t *testing.T) {
	for name, leave := range map[string]func(ws string) error{
		"moved":    func(ws string) error { return os.Rename(ws, ws+"-moved") },
		"removed":  os.RemoveAll,
		"replaced": func(ws string) error { return swapped(ws) },
	} {
		t.Run("R4 "+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.touch("here")
			moved := func(r *fakeprovider.Request) *fakeprovider.Fault {
				if r.Number == 2 {
					if err := leave(p.ws); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			p.provider(fakeprovider.Responses, `version: 1
steps:
  - {tools: [{name: bash, args: {command: "echo one"}}]}
  - {tools: [{name: bash, args: {command: "touch lost"}}, {name: write, args: {path: lost, content: x}}, {name: read, args: {path: here}}, {name: edit, args: {path: here, edits: [{oldText: a, newText: b}]}}, {name: bash, args: {command: "touch lost", background: true}}]}
default: {text: Over.}
`, fakeprovider.Options{Fault: moved})
			r := p.run("exec", "--json", "--allow", "bash", "go")
			if r.code != 0 || r.result(t).Text != "Over." {
				t.Fatalf("exit %d, %s\n%s", r.code, r.stdout, r.stderr)
			}
			if n := strings.Count(r.stdout, `"outcome":"error"`); n != 5 {
				t.Errorf("%d of 5 calls failed:\n%s", n, r.stdout)
			}
			for _, e := range p.readSession().entries() {
				if e.Kind == "result" && e.Body.Outcome == "error" && !strings.Contains(e.Body.Text, "moved or removed") {
					t.Errorf("result: %s", e.Body.Text)
				}
			}
			for _, ws := range []string{p.ws, p.ws + "-moved"} {
				if _, err := os.Stat(filepath.Join(ws, "lost")); err == nil {
					t.Errorf("%s was worked in", ws)
				}
			}
		})
	}
}

// swapped puts another folder in the place of ws.
func swapped(ws string) error {
	if err := os.Rename(ws, ws+"-moved"); err != nil {
		return err
	}
	return os.Mkdir(ws, 0o755)
}
