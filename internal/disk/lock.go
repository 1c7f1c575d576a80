package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Holder says who holds a lock, as its file tells it. It is for people:
// nothing is decided by it. PID 0: not known.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// lock is a kernel lock (flock) on an open file. It ends with Release or
// with the process, however that ends.
type lock struct{ file *os.File }

// How long acquire waits when the lock is held by somebody whom the file
// doesn't name. That is a probe, or an owner about to write its name: both
// last microseconds.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// acquire takes the lock at path and writes me into the file. It returns a
// *LockedError if somebody holds it.
func acquire(session, path string, me Holder) (*lock, error) {
	for try := 1; ; try++ {
		f, err := tryLock(path)
		if err == nil {
			l := &lock{f}
			l.sign(me)
			return l, nil
		}
		if k := (*kindError)(nil); errors.As(err, &k) {
			return nil, &DamageError{Session: session, File: path, Reason: k.Error(), beside: true}
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, failed(session, "lock", path, err)
		}
		h := readHolder(path)
		if h.PID != 0 || try == lockTries {
			return nil, &LockedError{ID: session, PID: h.PID, Host: h.Host, Since: h.Since, Path: path}
		}
		time.Sleep(lockPause)
	}
}

// tryLock opens and locks path. The file must still have its name when the
// lock is held, else it guards nothing.
func tryLock(path string) (*os.File, error) {
	if err := checkKind(path, false); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := checkOpen(f); err != nil {
		return nil, err
	}
	mine, err1 := f.Stat()
	named, err2 := os.Stat(path)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !os.SameFile(mine, named) {
		return nil, errors.Join(errors.New("the lock file was replaced while it was being locked: try again"), f.Close())
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// sign writes who holds the lock. It can fail (a full disk) without harm: the
// lock is the kernel's, the text is for people.
func (l *lock) sign(me Holder) {
	text, err := json.Marshal(me)
	if err != nil || l.file.Truncate(0) != nil {
		return
	}
	_, _ = l.file.WriteAt(append(text, '\n'), 0)
}

// Release gives the lock back. The file stays: who unlinks a lock file lets
// two processes lock two files of one name.
func (l *lock) Release() error {
	_ = l.file.Truncate(0) // nobody is named when nobody holds it
	// Unlocked by hand, since a child that is just being started may still
	// hold a copy of the descriptor.
	err := flock(l.file, syscall.LOCK_UN)
	return errors.Join(err, l.file.Close())
}

// Holder tells who owns a session; nil: nobody does, or it isn't there.
func (h *Home) Holder(id string) (*Holder, error) {
	d, err := h.directory(id)
	if errors.As(err, new(*NotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return held(d.lock())
}

// held reports whether somebody holds the lock at path, and who. It changes
// nothing and works without write permission.
func held(path string) (*Holder, error) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*kindError)) {
		return nil, nil // what isn't a file can't be locked
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		h := readHolder(path)
		return &h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return nil, flock(f, syscall.LOCK_UN)
}

// readHolder reads who holds the lock. A name left behind by a process of
// this machine that is gone is not shown.
func readHolder(path string) Holder {
	f, err := openRegular(path)
	if err != nil {
		return Holder{}
	}
	defer f.Close()
	var h Holder
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(b, &h) != nil || h.PID <= 0 {
		return Holder{}
	}
	if host, err := os.Hostname(); err == nil && host == h.Host && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH) {
		return Holder{}
	}
	return h
}
