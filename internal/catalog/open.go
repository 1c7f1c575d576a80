package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	toolshell "github.com/gamma-harness/gamma/internal/tool/shell"
)

// Open opens the database of a data directory and makes this process a host of
// it. Close both.
func Open(ctx context.Context, dir string) (*store.SQLite, *host.Life, error) {
	path, err := File(dir)
	if err != nil {
		return nil, nil, err
	}
	db, err := store.OpenSQLite(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	life, err := host.Begin(filepath.Join(dir, "holders"))
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, life, nil
}

// Env is the environment of a run's commands.
func Env(workspace string) []string { return toolshell.Environ(os.Environ(), workspace, nil, nil) }

// File is the path of a data directory's database. Opening what isn't a file
// could wait for ever.
func File(dir string) (string, error) {
	path := filepath.Join(dir, database)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err == nil && !info.Mode().IsRegular() {
			return "", fmt.Errorf("database %s: it is %s and no file: move it away, or choose another data directory (GAMMA_HOME)", name, kindOf(info.Mode()))
		}
	}
	return path, nil
}

// There reports whether a data directory has a database. A link counts, wherever
// it leads: only opening it tells.
func There(dir string) (bool, error) {
	_, err := os.Lstat(filepath.Join(dir, database))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// database is the name of the database's file.
const database = "gamma.db"

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
