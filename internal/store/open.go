package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	_ "embed"
)

//go:embed schema1.sql
var schema1 string

// migrations bring a database from the version that is their index to the
// next.
func migrations() []string { return []string{schema1} }

// application marks our databases: "gama".
const application = 0x67616d61

// SQLite is the store of one machine.
type SQLite struct {
	path     string
	readOnly bool
	db       *sql.DB // the writer's
	reads    *sql.DB
	work     chan *job     // writes that wait
	writer   chan *writer  // holds the writer while nobody uses it
	closed   chan struct{} // closed when the writer is gone
}

// OpenSQLite opens the database, makes it if it isn't there, and brings it
// forward if it is older. Close it.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	return open(ctx, path, migrations())
}

func open(ctx context.Context, path string, steps []string) (*SQLite, error) {
	s := &SQLite{path: path, work: make(chan *job, 2*batchSize), writer: make(chan *writer, 1), closed: make(chan struct{})}
	err := foreign(ctx, path)
	if err == nil {
		err = touch(path)
	}
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if s.db, err = connect(path, 1); err == nil {
		if err = s.prepare(ctx, steps); err == nil {
			s.reads, err = connect(path, 4, "query_only(1)")
		}
	}
	if err == nil {
		var w *writer
		if w, err = newWriter(ctx, s.db, path); err == nil {
			s.writer <- w
			return s, nil
		}
	}
	s.closeFiles()
	return nil, fmt.Errorf("database %s: %w", path, err)
}

// touch makes the file, for its owner only.
func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// busyMillis is how long a statement waits for another process.
const busyMillis = 10_000

func connect(path string, conns int, more ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": append([]string{"busy_timeout(" + strconv.Itoa(busyMillis) + ")", "journal_mode(WAL)",
		"synchronous(FULL)", "foreign_keys(1)"}, more...)}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", strings.Replace(u.String(), "file://", "file:", 1))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// prepare checks the settings and brings the schema forward.
func (s *SQLite) prepare(ctx context.Context, steps []string) error {
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := s.db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
			return explain(err)
		}
		if got != want {
			return fmt.Errorf("the setting %s is %s and can't be made %s (is it on a network file system?)", pragma, got, want)
		}
	}
	var app, version int
	if err := s.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return explain(err)
	}
	if err := s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return explain(err)
	}
	var tables int
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return explain(err)
	}
	switch {
	case app != application && (app != 0 || version != 0 || tables != 0):
		return errForeign
	case version < 0:
		return fmt.Errorf("its schema has the version %d, which none has", version)
	case version > len(steps):
		return fmt.Errorf("its schema has version %d, and this gamma knows version %d: use the newer gamma", version, len(steps))
	case version == len(steps):
		return nil
	case version > 0:
		if err := s.backup(ctx, version); err != nil {
			return err
		}
	}
	for v := version; v < len(steps); v++ {
		if err := s.migrate(ctx, steps[v], v+1); err != nil {
			return fmt.Errorf("bringing its schema to version %d: %w", v+1, err)
		}
	}
	return nil
}

// backup copies the database beside itself. An older copy of the same version
// is replaced, unless another process has brought the schema forward meanwhile:
// then that one has made the copy.
func (s *SQLite) backup(ctx context.Context, version int) error {
	to := fmt.Sprintf("%s.v%d.backup", s.path, version)
	made := fmt.Sprintf("%s.%d.tmp", to, os.Getpid())
	defer os.Remove(made)
	err := s.copyTo(ctx, made)
	var got int
	if err == nil {
		got, err = versionOf(ctx, made)
	}
	if err == nil && got == version {
		err = os.Rename(made, to)
	}
	if err != nil {
		return fmt.Errorf("backup %s: %w", to, err)
	}
	return nil
}

// copyTo writes a synced copy of the database.
func (s *SQLite) copyTo(ctx context.Context, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := touch(path); err != nil { // with our mode, not the process's
		return err
	}
	if _, err := s.db.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return explain(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// versionOf reads the schema's version of a database that nobody uses.
func versionOf(ctx context.Context, path string) (version int, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, explain(err)
}

// migrate makes one step, unless another process has made it meanwhile.
func (s *SQLite) migrate(ctx context.Context, step string, to int) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return explain(err)
	}
	var version int
	err = conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil && version < to {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("%s;\nPRAGMA user_version = %d; PRAGMA application_id = %d;", step, to, application))
	}
	if err != nil {
		conn.ExecContext(ctx, "ROLLBACK")
		return explain(err)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return explain(err)
}

// Close waits for what was begun and closes the files.
func (s *SQLite) Close() error {
	if s.readOnly {
		return s.closeFiles()
	}
	select {
	case w := <-s.writer:
		close(s.closed)
		return errors.Join(w.conn.Close(), s.closeFiles())
	case <-s.closed:
		return nil
	}
}

func (s *SQLite) closeFiles() error {
	var errs []error
	for _, db := range []*sql.DB{s.reads, s.db} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// explain adds to an error of SQLite what to do.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return later{fmt.Errorf("%w: the disk is full; free some room", err)}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return later{fmt.Errorf("%w: another process has held it for %d s", err, busyMillis/1000)}
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM:
		return later{err}
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: the file is damaged; put a backup in its place", err)
	}
	return err
}

// later is an error that may be gone when it is tried again.
type later struct{ err error }

func (l later) Error() string        { return l.err.Error() }
func (l later) Unwrap() error        { return l.err }
func (l later) Is(target error) bool { return target == ErrTryLater }

// unique reports whether an error is a value that is there already.
func unique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}
