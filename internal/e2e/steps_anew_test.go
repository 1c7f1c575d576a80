package e2e

import (
	"os"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
)

// TestW10_ASessionThatBeginsAnew: the database refuses a lease token that was
// used before, so a session whose directory has forgotten what was used begins
// above it.
func TestW10_ASessionThatBeginsAnew(t *testing.T) {
	t.Parallel()
	t.Run("made anew for a run's steps", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.bin = crashBin
		p.script(asksForPlace)
		p.ok("run", "echo", "Which?", "--detach")
		run := p.history().ID
		for range 3 {
			p.run("run", "--resume", run).has(t, 3)
		}
		child := host.ChildID(run)
		p.run("session", "rm", "--force", child).has(t, 0, "new session")
		p.script("version: 1\nsteps:\n" + submits(`{"answer": "Any."}`))
		if !p.diesAt("create.after-sync", "run", "--resume", run) {
			t.Error("it didn't die")
		}
		p.run("run", "--resume", run).has(t, 0, "Any.")
	})
	t.Run("put back from a copy", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script("version: 1\ndefault: {text: Said.}\n")
		p.ok("run", "assistant-reply", "tea")
		id := p.readSession().id
		kept := t.TempDir()
		if err := os.CopyFS(kept, os.DirFS(p.sessionDir(id))); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			p.ok("exec", "--resume", id, "And?")
		}
		p.lose(id)
		if err := os.CopyFS(p.sessionDir(id), os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		p.ok("exec", "--resume", id, "And?")
		p.ok("run", "assistant-reply", "tea", "--session", id)
		p.run("session", "doctor", id).has(t, 0)
	})
}
