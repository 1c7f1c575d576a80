package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// OpenReadOnly opens a database that can't be written, such as one on a
// read-only file system. Nothing is made and nothing is brought forward. Close
// it.
func OpenReadOnly(ctx context.Context, path string) (*SQLite, error) {
	s := &SQLite{path: path, readOnly: true}
	if err := s.readable(ctx); err != nil {
		s.closeFiles()
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return s, nil
}

func (s *SQLite) readable(ctx context.Context) error {
	if _, err := os.Stat(s.path); err != nil {
		return err
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(" + strconv.Itoa(busyMillis) + ")", "query_only(1)"}}
	if _, err := os.Stat(s.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		q.Set("immutable", "1") // else SQLite wants to make the log's files
	}
	u := url.URL{Scheme: "file", Path: s.path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", strings.Replace(u.String(), "file://", "file:", 1))
	if err != nil {
		return err
	}
	s.reads = db
	var app, version int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return explain(err)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return explain(err)
	}
	switch want := len(migrations()); {
	case app != application:
		return errors.New("it is no database of gamma's")
	case version != want:
		return fmt.Errorf("its schema has version %d, and this gamma reads version %d; it is read-only, so it can't be brought forward", version, want)
	}
	return nil
}
