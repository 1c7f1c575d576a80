package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrGone: the database's file was removed or replaced while it was open. What
// is written from then on nobody would ever find.
var ErrGone = errors.New("it was removed or replaced while it was open")

// lookEvery is how often the writer looks at its files.
const lookEvery = 100 * time.Millisecond

// files are those of an open database, as they were when they were seen first.
// SQLite keeps its log and the log's index as long as anybody has the database
// open: if they are others now, two processes would write past each other.
type files struct {
	path string
	seen map[string]fs.FileInfo
	next time.Time // when they are to be looked at again
}

func newFiles(path string) *files { return &files{path: path, seen: map[string]fs.FileInfo{}} }

// there returns ErrGone if the files aren't those that were opened.
func (f *files) there(now time.Time) error {
	if now.Before(f.next) {
		return nil
	}
	for _, name := range []string{f.path, f.path + "-wal", f.path + "-shm"} {
		info, err := os.Stat(name)
		was := f.seen[name]
		switch {
		case err == nil && was == nil:
			f.seen[name] = info
		case was == nil && errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(was, info):
			return fmt.Errorf("database %s: %w; stop what uses it, and start again with the right one in its place", name, ErrGone)
		}
	}
	f.next = now.Add(lookEvery)
	return nil
}
