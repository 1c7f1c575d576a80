package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Session is a session that this process owns. One goroutine owns the value;
// only PutBlob, Blob, CreateSpill and OpenSpill may be called by others at
// the same time.
//
// Log holds what was there when the session was opened, the open entry of
// this owner included. Append doesn't add to it; the owner may let go of
// Entries when it has folded them.
type Session struct {
	Log
	Token int // number of this owner's segment, epoch of its entries

	dir     directory
	lock    *lock
	file    segmentFile
	path    string // of the segment
	index   index
	spills  spills
	stopped *StoppedError // set once, by the first failure or by Close
}

// Append writes the entries behind the log, in one write and one sync. They
// are on disk when it returns nil. Their ids must go on with the log's, with
// Token as epoch, and each parent must be a node of the log.
//
// Every error is a *StoppedError, and the session then takes nothing more:
// whether the entries, or the first of them, are in the log is known when it
// is opened again.
func (s *Session) Append(entries []transcript.Entry) error {
	if s.stopped != nil {
		return s.stopped
	}
	if len(entries) == 0 {
		return nil
	}
	text, err := s.encode(entries)
	if err != nil {
		return s.stop("append to", err)
	}
	crashpoint.Here("append.before")
	crashpoint.Torn("append.torn", s.file, text)
	crashpoint.Cut("append.cut", s.file, text)
	n, err := s.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return s.stop("append to", err)
	}
	crashpoint.Here("append.after-write")
	if err := s.file.Sync(); err != nil {
		return s.stop("sync", err)
	}
	crashpoint.Here("append.after-sync")
	if err := s.fence(); err != nil {
		return s.stop("append to", err)
	}
	return nil
}

// encode returns the lines of entries that can follow the log, and counts
// them in. A line that this build couldn't read again is refused: one such
// line would make the session unusable.
func (s *Session) encode(entries []transcript.Entry) ([]byte, error) {
	var text []byte
	for _, e := range entries {
		line, err := transcript.Encode(e)
		if err != nil {
			return nil, err
		}
		again, err := transcript.Decode(line)
		if err != nil {
			return nil, fmt.Errorf("the line of entry %s can't be read again: %w", e.ID, err)
		}
		if err := s.index.add(again, s.Token); err != nil {
			return nil, err
		}
		if text == nil {
			text = line // alone, it isn't copied
			continue
		}
		text = append(text, line...)
	}
	return text, nil
}

// fence makes sure that nobody has sealed this segment, which can only happen
// if the lock didn't hold (it was deleted, or the file system ignores locks).
// A successor creates its segment before it reads ours. So if the segment
// isn't there after our sync, a later successor reads what we have written.
func (s *Session) fence() error {
	if gone, err := s.gone(); gone || err != nil {
		return cmp.Or(err, error(ErrGone))
	}
	_, err := os.Lstat(s.dir.segment(s.Token + 1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = ErrTaken
	}
	return err
}

// gone reports whether the segment that is written to has no name any more:
// somebody deleted it, and nobody will read what was synced.
func (s *Session) gone() (bool, error) {
	f, ok := s.file.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false, nil
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0, nil
}

// stop ends the session's life and returns why.
func (s *Session) stop(doing string, err error) error {
	s.stopped = &StoppedError{Session: s.ID, Doing: doing, Path: s.path, Err: err}
	return s.stopped
}

// Close leaves the session to others. It writes nothing.
func (s *Session) Close() error {
	if s.lock == nil {
		return nil
	}
	if s.stopped == nil {
		_ = s.stop("use", ErrClosed)
	}
	err := errors.Join(s.file.Close(), s.lock.Release())
	s.lock = nil
	if err != nil {
		return fmt.Errorf("session %s: close: %w", s.ID, err)
	}
	return nil
}

// WriteTodo replaces todo.json, whole or not at all. A failure doesn't stop
// the session: the file is a projection and can be written again.
func (s *Session) WriteTodo(data []byte) error {
	if s.stopped != nil {
		return s.stopped
	}
	err := s.fence()
	if err == nil {
		err = s.dir.sys.replace(s.dir.path, s.dir.todo(), data)
	}
	if err != nil {
		return failed(s.ID, "write", s.dir.todo(), err)
	}
	return nil
}

// Todo returns todo.json. The error is fs.ErrNotExist if it was never written.
func (s *Session) Todo() ([]byte, error) { return s.dir.readTodo() }

// Todo returns a session's todo.json, without a lock. The error is
// fs.ErrNotExist if it was never written.
func (h *Home) Todo(id string) ([]byte, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	return d.readTodo()
}

func (d directory) readTodo() ([]byte, error) {
	b, err := readRegular(d.todo())
	if err != nil {
		return nil, failed(d.id, "read", d.todo(), err)
	}
	return b, nil
}
