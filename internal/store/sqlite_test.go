package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestD3_SQLite(t *testing.T) {
	contract(t, func(t *testing.T) Store { return openTemp(t, filepath.Join(t.TempDir(), "a #?%.db")) })
}

func openTemp(t *testing.T, path string) *SQLite {
	t.Helper()
	s, err := OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestW12_FileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "gamma.db")
	s := openTemp(t, path)
	defer s.Close()
	k := &kit{t: t, Store: s, ctx: t.Context(), now: 1, graphs: graphs(t)}
	k.start("r", "steps", "")
	for _, name := range []string{"", "-wal", "-shm"} {
		fi, err := os.Stat(path + name)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", fi.Name(), fi.Mode())
		}
	}
}

func TestC9_NewerAndForeignDatabasesAreRefused(t *testing.T) {
	for stmt, want := range map[string]string{
		"PRAGMA user_version = 9":   "schema has version 9, and this gamma knows version 1",
		"PRAGMA application_id = 5": "another program's database",
	} {
		path := filepath.Join(t.TempDir(), "gamma.db")
		openTemp(t, path).Close()
		raw(t, path, stmt)
		if s, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", stmt, err, want)
			if err == nil {
				s.Close()
			}
		}
	}
	path := filepath.Join(t.TempDir(), "other.db")
	raw(t, path, "CREATE TABLE theirs(x)")
	if _, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another program's") {
		t.Errorf("a database of others: %v", err)
	}
	path = filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is none: %v", err)
	}
}

// TestC9_ForeignDatabasesAreLeftAsTheyAre: not even the settings of a file that
// isn't ours are changed.
func TestC9_ForeignDatabasesAreLeftAsTheyAre(t *testing.T) {
	for name, stmts := range map[string][]string{
		"tables":          {"CREATE TABLE theirs(x)"},
		"application":     {"PRAGMA application_id = 5"},
		"version":         {"PRAGMA user_version = 1"},
		"WAL and tables":  {"PRAGMA journal_mode=WAL", "CREATE TABLE theirs(x)"},
		"the name of run": {"CREATE TABLE run(id TEXT)", "CREATE TABLE event(id TEXT)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "gamma.db")
			for _, stmt := range stmts {
				raw(t, path, stmt)
			}
			before := contents(t, dir)
			if s, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another program's database") {
				t.Errorf("got %v", err)
				if err == nil {
					s.Close()
				}
			}
			if d := cmp.Diff(before, contents(t, dir)); d != "" {
				t.Errorf("the folder has changed (-before +after):\n%.300s", d)
			}
		})
	}
	t.Run("one that is open", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "gamma.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		for _, stmt := range []string{"PRAGMA journal_mode=WAL", "CREATE TABLE theirs(x)"} {
			if _, err := db.Exec(stmt); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another program's database") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("ours before its first checkpoint", func(t *testing.T) {
		from, to := filepath.Join(t.TempDir(), "gamma.db"), filepath.Join(t.TempDir(), "gamma.db")
		s := openTemp(t, from)
		for _, end := range []string{"", "-wal"} { // as a kill leaves it
			b, err := os.ReadFile(from + end)
			if err == nil {
				err = os.WriteFile(to+end, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		openTemp(t, to).Close()
	})
	for name, make := range map[string]func(string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"a text":   func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "gamma.db")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+": it is no ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// contents are the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(b)
	}
	return out
}

func raw(t *testing.T, path, stmt string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(stmt); err != nil {
		t.Fatal(err)
	}
}

func TestC9_OlderDatabasesAreBroughtForwardWithABackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gamma.db")
	s := openTemp(t, path)
	k := &kit{t: t, Store: s, ctx: t.Context(), now: 1, graphs: graphs(t)}
	k.start("r", "steps", "")
	s.Close()
	next := append(migrations(), "ALTER TABLE run ADD COLUMN later TEXT; CREATE TABLE more(x INTEGER) STRICT")
	if _, err := open(t.Context(), path, append(next, "CREATE TABLE more(x INTEGER)")); err == nil || !strings.Contains(err.Error(), "bringing its schema to version 3") {
		t.Errorf("a step that fails: %v", err)
	}
	s, err := open(t.Context(), path, next) // the step before it was kept
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(t.Context(), "r"); err != nil {
		t.Error(err)
	}
	s.Close()
	late := openRaw(t, path) // a process that saw the old version before the other brought it forward
	if err := late.backup(t.Context(), 1); err != nil {
		t.Error(err)
	}
	old := openTemp(t, path+".v1.backup") // refuses a newer version
	if _, _, err := old.Load(t.Context(), "r"); err != nil {
		t.Errorf("the backup: %v", err)
	}
	old.Close()
	if left, err := filepath.Glob(path + "*.tmp"); err != nil || len(left) > 0 {
		t.Errorf("%v, left behind: %v", err, left)
	}
	if fi, err := os.Stat(path + ".v1.backup"); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", fi, err)
	}
	if _, err := OpenSQLite(t.Context(), path); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("the older program: %v", err)
	}
}

// TestR4_AWriteThatPanics: its own caller gets the panic; nobody else is hit,
// and the store goes on.
func TestR4_AWriteThatPanics(t *testing.T) {
	s := openTemp(t, filepath.Join(t.TempDir(), "gamma.db"))
	k := &kit{t: t, Store: s, ctx: t.Context(), now: 1, graphs: graphs(t)}
	k.start("r", "steps", "")
	panics := make(chan any)
	w := <-s.writer // so that all wait for one transaction
	for i := range 3 {
		go func() {
			defer func() { panics <- recover() }()
			_ = s.do(t.Context(), func(w *writer) error {
				if _, err := w.exec(`INSERT INTO signal(run, id, input, at) VALUES('r', ?, '{}', 1)`, i); err != nil {
					return err
				}
				if i == 1 {
					panic("a fault of ours")
				}
				return nil
			})
		}()
	}
	for len(s.work) < 3 {
		runtime.Gosched()
	}
	s.writer <- w
	got := map[any]int{}
	for range 3 {
		got[<-panics]++
	}
	if got[nil] != 2 || got["a fault of ours"] != 1 {
		t.Errorf("recovered %v", got)
	}
	var n int
	if err := s.reads.QueryRow(`SELECT count(*) FROM signal`).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// openRaw opens a database with its writer's connection only, and looks at
// nothing.
func openRaw(t *testing.T, path string) *SQLite {
	t.Helper()
	db, err := connect(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &SQLite{path: path, db: db}
}

func TestR6_FullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gamma.db")
	s := openTemp(t, path)
	defer s.Close()
	k := &kit{t: t, Store: s, ctx: t.Context(), now: 1, graphs: graphs(t)}
	k.start("r", "steps", "")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	var pages int
	if err := s.reads.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	big := k.write("r", k.finish("r", `{"passed":true,"x":"`+strings.Repeat("y", 1<<20)+`"}`), c.Token, false)
	if err := full(s, pages); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), big); !errors.Is(err, ErrTryLater) || !strings.Contains(err.Error(), "the disk is full; free some room") {
		t.Errorf("got %v", err)
	}
	k.equal("r")
	if err := full(s, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), big); err != nil {
		t.Errorf("with room again: %v", err)
	}
	k.equal("r")
}

// full lets the database grow to some pages only, on the writer's connection.
func full(s *SQLite, pages int) error {
	return s.do(context.Background(), func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		return err
	})
}

const busyTest = 300 * time.Millisecond

// TestR6_BusyDatabase: all writes that wait for another process's lock end with
// it, each says that it may be tried again, and then goes on.
func TestR6_BusyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gamma.db")
	s := openTemp(t, path)
	defer s.Close()
	k := &kit{t: t, Store: s, ctx: t.Context(), now: 1, graphs: graphs(t)}
	k.start("r", "steps", "")
	if err := s.do(t.Context(), func(w *writer) error { // so that the test needn't wait for ten seconds
		_, err := w.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA busy_timeout=%d", busyTest.Milliseconds()))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	errs := make(chan error, 20)
	for i := range 20 {
		go func() { errs <- s.Leave(t.Context(), "r", fmt.Sprint(i), flow.Pause{By: "me"}, 1) }()
	}
	for range 20 {
		if err := <-errs; !errors.Is(err, ErrTryLater) || !strings.Contains(err.Error(), "another process has held it for") {
			t.Errorf("got %v", err)
		}
	}
	if took := time.Since(begun); took > 8*busyTest {
		t.Errorf("20 writes at once waited %s, one after the other", took)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Leave(t.Context(), "r", "x", flow.Pause{By: "me"}, 1); err != nil {
		t.Error(err)
	}
}

func TestW12_ClosedDatabase(t *testing.T) {
	s := openTemp(t, filepath.Join(t.TempDir(), "gamma.db"))
	s.Close()
	if err := s.Release(t.Context(), "r", 1, 1); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	if err := s.Release(ctx, "r", 1, 1); err == nil {
		t.Error("a write after its context ended")
	}
}

func TestW12_TwoProcessesShareOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gamma.db")
	a, b := openTemp(t, path), openTemp(t, path)
	defer a.Close()
	defer b.Close()
	ka := &kit{t: t, Store: a, ctx: t.Context(), now: 1, graphs: graphs(t)}
	kb := &kit{t: t, Store: b, ctx: t.Context(), now: 1, graphs: ka.graphs}
	ka.start("r", "steps", "")
	c := ka.claim("r", "h1")
	if other := kb.claim("r", "h2"); c == nil || other != nil {
		t.Errorf("claims %+v, %+v", c, other)
	}
	if err := kb.Leave(t.Context(), "r", "s", flow.Cancel{By: "me"}, 1); err != nil {
		t.Error(err)
	}
	if list, err := ka.Signals(t.Context(), "r"); err != nil || len(list) != 1 {
		t.Errorf("signals %+v, %v", list, err)
	}
}
