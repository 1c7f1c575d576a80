package tool

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// turns lets one writer at a time, of all processes that share the folder,
// replace a file. The folder holds up to 256 lock files, one for all files
// whose paths have the same hash; they are never removed. The holder keeps a
// kernel lock on it, and the path of its temporary file in it. A lock file
// that holds a path and isn't locked is of a writer that was killed: the next
// holder, and the next opening, removes that temporary file.
type turns struct{ dir string }

// turnWait is how long a writer waits for its turn. Writing and syncing one
// file takes a moment; more means that a process was stopped while it wrote.
const turnWait = 10 * time.Second

// openTurns removes what killed writers left. "" means that nobody shares.
func openTurns(dir string) *turns {
	if dir == "" {
		return nil
	}
	t := &turns{dir}
	list, _ := os.ReadDir(dir) // made when first used
	for _, e := range list {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			t.sweep(filepath.Join(dir, e.Name()))
		}
	}
	return t
}

// sweep removes what the writer of a lock file left, unless it is at work.
func (t *turns) sweep(name string) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return // it stays for the next one
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = clean(f)
	}
}

// take waits for the turn of the file with this real path and notes the
// temporary file that will be written. done ends the turn.
func (t *turns) take(ctx context.Context, path, temp string) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	h := fnv.New32a()
	h.Write([]byte(path))
	name := filepath.Join(t.dir, fmt.Sprintf("%02x.lock", h.Sum32()&0xff))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(t.dir, 0o700); err == nil {
			f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock of the file: %w", err)
	}
	if err = await(ctx, f); err == nil {
		if err = clean(f); err == nil {
			_, err = f.WriteAt([]byte(temp), 0)
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock of the file, %s: %w", name, reason(err))
	}
	crashpoint.Here("file.noted")
	return func() {
		_ = f.Truncate(0) // else the next holder looks for a file that isn't there
		f.Close()
	}, nil
}

// await locks the file.
func await(ctx context.Context, f *os.File) error {
	limit := time.NewTimer(turnWait)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("another session is writing, and doesn't end for %s; try again", turnWait)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// clean removes the temporary file that a locked lock file names, and empties
// it. A path that was cut short, by a kill in the middle of the note, names
// none: nothing was written yet.
func clean(f *os.File) error {
	const longest = 64 << 10
	b, err := io.ReadAll(io.NewSectionReader(f, 0, longest))
	if err != nil || len(b) == 0 {
		return err
	}
	if isTemp(filepath.Base(string(b))) && filepath.IsAbs(string(b)) {
		if info, err := os.Lstat(string(b)); err == nil && info.Mode().IsRegular() {
			_ = os.Remove(string(b)) // the folder may be gone, or not ours any more
		}
	}
	return f.Truncate(0)
}

// isTemp reports whether a name is one that replace gives.
func isTemp(name string) bool {
	const random = 26 // characters of rand.Text
	return len(name) == len(".gamma-")+random+len(".tmp") && strings.HasPrefix(name, ".gamma-") && strings.HasSuffix(name, ".tmp")
}
