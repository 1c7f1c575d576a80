package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
)

var errForeign = errors.New("it is another program's database; give gamma its own (GAMMA_HOME)")

// The head of a database file.
const (
	headSize        = 100
	headMagic       = "SQLite format 3\x00"
	headVersion     = 60 // PRAGMA user_version, 4 bytes
	headApplication = 68 // PRAGMA application_id, 4 bytes
)

// foreign finds another program's database before anything of it is changed:
// the settings that are made at connecting are written to the file. What can't
// be told here is found when the schema is read.
func foreign(ctx context.Context, path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, headSize)
	switch n, err := io.ReadFull(f, head); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case err != nil || string(head[:len(headMagic)]) != headMagic:
		return errors.New("it is no database, or a damaged one: put a backup in its place, or give gamma a folder of its own (GAMMA_HOME)")
	case binary.BigEndian.Uint32(head[headApplication:]) == application:
		return nil
	case binary.BigEndian.Uint32(head[headApplication:]) != 0, binary.BigEndian.Uint32(head[headVersion:]) != 0:
		return errForeign
	}
	return foreignTables(ctx, path)
}

// foreignTables looks for tables where the head says nothing. A database of
// ours has tables before it has our mark only in its write-ahead log, which is
// read too where there is one; where there is none, nothing is made beside the
// file.
func foreignTables(ctx context.Context, path string) error {
	q := "mode=ro&immutable=1"
	if fi, err := os.Stat(path + "-wal"); err == nil && fi.Size() > 0 {
		q = "mode=ro&_pragma=busy_timeout(1000)"
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q}
	db, err := sql.Open("sqlite", strings.Replace(u.String(), "file://", "file:", 1))
	if err != nil {
		return err
	}
	defer db.Close()
	var app, tables int
	err = db.QueryRowContext(ctx, "SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id").Scan(&app, &tables)
	if err != nil {
		return ignorable(err)
	}
	if app != application && tables > 0 {
		return errForeign
	}
	return nil
}

// ignorable drops an error that opening the database will tell better, or that
// another process's work on the file explains.
func ignorable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("looking whose it is: %w", err)
	}
	return nil
}
