package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// ErrStopped is what errors.Is finds in every *StoppedError.
var ErrStopped = errors.New("the session has stopped")

// ErrTaken is the cause of a stop when another owner has sealed this owner's
// segment.
var ErrTaken = errors.New("another owner has taken over the session")

// ErrClosed is the cause when a closed session is used.
var ErrClosed = errors.New("the session was closed")

// StoppedError says that a session takes no further entries from this owner:
// a write failed, and what it left on disk isn't known. Opening the session
// again finds out. The cause is wrapped.
type StoppedError struct {
	Session string
	Doing   string // "append", "sync", …
	Path    string
	Err     error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("session %s has stopped: %s %s: %v. %s; every acknowledged entry is kept",
		e.Session, e.Doing, e.Path, bare(e.Err), advice(e.Err))
}

// Is makes errors.Is(err, ErrStopped) true.
func (e *StoppedError) Is(target error) bool { return target == ErrStopped }

func (e *StoppedError) Unwrap() error { return e.Err }

// bare drops the operation and path that the os package puts in front.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// advice says what a person can do about err.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "Make room on that disk and open the session again"
	case errors.Is(err, syscall.EFBIG):
		return "Raise the file size limit (ulimit -f) and open the session again"
	case errors.Is(err, syscall.EIO):
		return "The disk may be failing: copy the session directory to another disk, then open the session again"
	case errors.Is(err, syscall.EROFS):
		return "Make the file system writable and open the session again"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "Correct the permissions (directories 0700, files 0600) and open the session again"
	case errors.Is(err, ErrTaken):
		return "Open the session again when the other owner has left"
	case errors.As(err, new(sizeError)):
		return "Nothing of gamma's is so large: cut it behind its last line (truncate -s), or move it out of the session directory, by hand; then gamma session doctor --fix repairs the session"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO),
		errors.Is(err, syscall.ENOTEMPTY), errors.As(err, new(*kindError)):
		return "Another kind of file stands there than should: gamma session doctor --fix sets it aside; if that fails, move it out of the session directory by hand"
	}
	return "Open the session again"
}

// ErrGone says that the segment which is written to was deleted.
var ErrGone = errors.New("the session's directory was deleted while it was in use")

// LockedError says that somebody else owns the session. PID is 0 when the
// owner couldn't be told.
type LockedError struct {
	ID    string
	PID   int
	Host  string
	Since time.Time
	Path  string // of the lock file
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d on %s since %s", e.PID, e.Host, e.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("session %s is in use by %s (lock %s): end it or wait until it has left; gamma session show %s reads the session meanwhile",
		e.ID, who, e.Path, e.ID)
}

// DamageError says that a session's files don't hold what was written. It
// names the first place. Nothing was changed.
type DamageError struct {
	Session string
	File    string // path
	Line    int    // from 1; 0: the place inside the file can't be told, or there is no file
	Offset  int64  // byte at which the line begins; with Line 0: 0
	Reason  string
	Good    transcript.ID // the last entry before the damage that is known to be as written; zero: none

	beside bool // of a file beside the transcript: its entries can all be read
}

func (e *DamageError) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s line %d (byte %d)", e.File, e.Line, e.Offset)
	}
	s := fmt.Sprintf("session %s is damaged: %s: %s. Nothing was changed. gamma session doctor %s names all damage and, with --fix, repairs it; or restore that file from a backup", e.Session, place, e.Reason, e.Session)
	if e.beside {
		return s
	}
	return s + fmt.Sprintf(", or start a new session; gamma session show %s still shows the entries before the damage", e.Session)
}

// NewerError says that a newer version of gamma wrote the session.
type NewerError struct {
	Session string
	File    string
	Line    int    // from 1
	What    string // "entry version", "transcript schema"
	Got     int
	Max     int // what this build reads
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("session %s: %s line %d has %s %d; this build reads up to %d: use a newer gamma",
		e.Session, e.File, e.Line, e.What, e.Got, e.Max)
}

// UnfinishedError says that the creation of a session was cut short. Nobody
// was ever told that the session exists, and it holds nothing.
type UnfinishedError struct {
	Session string
	Dir     string
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("session %s was never finished: its creator stopped before the first entries were on disk. It holds nothing: start a new session; the directory %s can be deleted",
		e.Session, e.Dir)
}

// NotFoundError says that there is no such session.
type NotFoundError struct {
	ID  string // id, or beginning of one
	Dir string // where it was looked for
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no session %q in %s: gamma session list shows what is there", e.ID, e.Dir)
}

// Is makes errors.Is(err, fs.ErrNotExist) true.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// AmbiguousError says that several sessions' ids begin with Prefix.
type AmbiguousError struct {
	Prefix     string
	Candidates []string // ids, sorted
}

func (e *AmbiguousError) Error() string {
	shown, more := e.Candidates, ""
	if len(shown) > 8 {
		shown, more = shown[:8], fmt.Sprintf(" and %d more", len(e.Candidates)-8)
	}
	return fmt.Sprintf("%d session ids begin with %q: give more of it: %s%s", len(e.Candidates), e.Prefix, strings.Join(shown, ", "), more)
}

// failed adds the session, the operation and what a person can do.
func failed(session, doing, path string, err error) error {
	return fmt.Errorf("session %s: %s %s: %w. %s", session, doing, path, bare(err), advice(err))
}
