package e2e

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
)

// has checks what a command has said.
func (r ran) has(t testing.TB, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("code %d, want %d: %+v", r.code, code, r)
	}
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("it doesn't say %q: %+v", text, r)
		}
	}
}

func (p *place) sessionDir(id string) string { return filepath.Join(p.home, "sessions", id) }

// asksForPlace is a step that waits for the user.
const asksForPlace = "version: 1\nsteps:\n  - tools: [{name: message_user, args: {message: \"Which one?\", blockOnUser: true, reason: input}}]\n"

// waitingRun makes a run that waits for its user in the session that it began in.
func waitingRun(t *testing.T) (p *place, run, session string) {
	p = newPlace(t)
	p.script(asksForPlace)
	if r := p.run("run", "echo", "Which?"); r.code != 3 {
		t.Fatalf("%+v", r)
	}
	return p, p.history().ID, p.readSession().id
}

// TestW40_ASessionOfAnOpenRunIsntRemoved: the session that an open run belongs
// to, or that was made for its steps, goes only when somebody insists.
func TestW40_ASessionOfAnOpenRunIsntRemoved(t *testing.T) {
	t.Parallel()
	t.Run("of origin", func(t *testing.T) {
		t.Parallel()
		p, run, session := waitingRun(t)
		for _, args := range [][]string{{"session", "rm", session}, {"session", "rm", "--dry-run", session}} {
			p.run(args...).has(t, 1, session, run, "runs cancel "+run, "--force")
		}
		p.run("session", "rm", "--older", "0d").has(t, 0, session+" is left alone", run, "freed 0 bytes")
		p.run("session", "gc", "--outputs", "0d").has(t, 0)
		if !exists(p.sessionDir(session)) {
			t.Fatal("it is gone")
		}
		p.ok("runs", "cancel", run)
		p.run("session", "rm", session).has(t, 0, "removed "+session)
	})
	t.Run("by force", func(t *testing.T) {
		t.Parallel()
		p, run, session := waitingRun(t)
		p.run("session", "rm", "--force", "--dry-run", session).has(t, 0, "would remove "+session)
		p.run("session", "rm", "--force", session).has(t, 0, "removed "+session, "run "+run, "waits for ever", "runs cancel "+run)
		if exists(p.sessionDir(session)) {
			t.Error("it is still there")
		}
	})
	t.Run("one of several", func(t *testing.T) {
		t.Parallel()
		p, run, session := waitingRun(t)
		p.ok("exec", "-m", "script:"+p.write("hello.yaml", "version: 1\ndefault: {text: Hello.}\n"), "Hello")
		var other string
		for _, dir := range p.sessionDirs() {
			if id := filepath.Base(filepath.Dir(dir)); id != session {
				other = id
			}
		}
		p.run("session", "rm", other, session).has(t, 1, run, "Nothing was removed")
		if !exists(p.sessionDir(other)) || !exists(p.sessionDir(session)) {
			t.Error("one was removed")
		}
		p.run("session", "rm", "--older", "0d").has(t, 0, "removed "+other, session+" is left alone")
		if !exists(p.sessionDir(session)) {
			t.Error("it is gone")
		}
	})
	t.Run("made for its steps", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script(asksForPlace)
		p.ok("run", "echo", "Which?", "--detach")
		_, end := p.begin("host", "--json")
		eventually(t, "the step asks", func() bool { return strings.Contains(p.run("session", "list", "--json").stdout, `"needs_human"`) })
		run := p.history().ID
		child := host.ChildID(run)
		p.run("session", "rm", "--force", child).has(t, 7, "in use")
		end()
		p.run("session", "rm", child).has(t, 1, run, "runs cancel "+run)
		p.run("session", "rm", "--force", child).has(t, 0, "removed "+child, "new session", "begins anew")
		p.script("version: 1\nsteps:\n" + submits(`{"answer": "Any."}`))
		_, end = p.begin("host", "--json")
		defer end()
		eventually(t, "the run ends", func() bool { return p.runStatus() == "completed " })
	})
}

// TestW40_RemovalWithoutTheDatabase: what the database doesn't tell, the
// sessions have to.
func TestW40_RemovalWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	hello := func(t *testing.T) (*place, string) {
		p := newPlace(t)
		p.script("version: 1\ndefault: {text: Hello.}\n")
		p.ok("exec", "Hello")
		return p, p.readSession().id
	}
	t.Run("there is none", func(t *testing.T) {
		t.Parallel()
		p, id := hello(t)
		p.run("session", "rm", id).has(t, 0, "removed "+id)
		if exists(filepath.Join(p.home, "gamma.db")) {
			t.Error("a database was made")
		}
	})
	for name, spoil := range map[string]func(path string) error{
		"damaged":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("no database ", 99)), 0o600) },
		"a folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a newer's": newerDatabase,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, id := hello(t)
			if err := spoil(filepath.Join(p.home, "gamma.db")); err != nil {
				t.Fatal(err)
			}
			r := p.run("session", "rm", id)
			r.has(t, 0, "removed "+id, "isn't known")
			if n := strings.Count(r.stderr, "isn't known"); n != 1 {
				t.Errorf("it is said %d times: %s", n, r.stderr)
			}
		})
	}
	t.Run("a session made for a run", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script(asksForPlace)
		p.ok("run", "echo", "Which?", "--detach")
		_, end := p.begin("host", "--json")
		eventually(t, "the step asks", func() bool { return strings.Contains(p.run("session", "list", "--json").stdout, `"needs_human"`) })
		end()
		run := p.history().ID
		child := host.ChildID(run)
		db := filepath.Join(p.home, "gamma.db")
		for _, end := range []string{"-wal", "-shm"} {
			_ = os.Remove(db + end)
		}
		if err := os.WriteFile(db, []byte(strings.Repeat("no database ", 99)), 0o600); err != nil {
			t.Fatal(err)
		}
		p.run("session", "rm", child).has(t, 1, run, "--force")
		p.run("session", "rm", "--force", child).has(t, 0, "removed "+child)
	})
}

// newerDatabase makes a database of a gamma to come.
func newerDatabase(path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("PRAGMA application_id = 0x67616d61; PRAGMA user_version = 99; CREATE TABLE t(x)")
	return err
}
