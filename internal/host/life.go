package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// Life is a file with a kernel lock that ends with the process that made it.
// While it is locked, the holder that it names lives; that is known at once,
// without waiting for a lease. It serves hosts of one machine.
type Life struct {
	dir, holder string
	file        *os.File
}

// Begin makes a holder's name and locks its file in dir.
func Begin(dir string) (*Life, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("holders: %w", err)
	}
	l := &Life{dir: dir, holder: fmt.Sprintf("%d-%s", os.Getpid(), uuid.NewString())}
	f, err := os.OpenFile(l.path(l.holder)+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("holders: %w", err)
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(f.Name(), l.path(l.holder)) // it is locked as soon as it has its name
	}
	if err != nil {
		f.Close()
		os.Remove(l.path(l.holder) + ".new")
		return nil, fmt.Errorf("holders: lock of %s: %w", f.Name(), err)
	}
	l.file = f
	l.sweep()
	return l, nil
}

// sweep removes what processes left that were killed. A file that is about to
// get its name isn't locked yet, so it is left alone.
func (l *Life) sweep() {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return // it is only tidying up
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".new") {
			l.Dead(e.Name())
		}
	}
}

func (l *Life) path(holder string) string { return filepath.Join(l.dir, holder) }

// Holder names this process.
func (l *Life) Holder() string { return l.holder }

// Dead reports whether a holder's process has ended. What can't be found out is
// taken for alive.
func (l *Life) Dead(holder string) bool {
	if holder == l.holder || holder != filepath.Base(holder) || strings.HasPrefix(holder, ".") {
		return false
	}
	f, err := os.Open(l.path(holder))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return false
	}
	os.Remove(f.Name()) // nobody begins with its name again
	return true
}

// Close ends this holder.
func (l *Life) Close() error {
	os.Remove(l.path(l.holder))
	return l.file.Close()
}

// PID is the process of a holder, for people; "" if the name doesn't tell.
func PID(holder string) string {
	pid, _, ok := strings.Cut(holder, "-")
	if !ok {
		return ""
	}
	return pid
}
