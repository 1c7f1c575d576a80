package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// errChanged says that somebody else wrote a file while we worked on it.
var errChanged = errors.New("the file was changed by somebody else meanwhile; read it again")

// target finds the file that write or edit works on and waits for its turn.
// The place is looked at again then; done lets the next one have its turn.
func (s *Set) target(arg string) (p place, done func(), err error) {
	if strings.HasPrefix(arg, "spill:") {
		return p, nil, fmt.Errorf("%s: spill files are for reading only", show(arg))
	}
	if p, err = s.places.resolve(arg); err != nil {
		return p, nil, err
	}
	if err := checkTarget(arg, p); err != nil {
		return p, nil, err
	}
	done = s.locks.take(p)
	again, err := s.places.resolve(arg)
	if err == nil && (again.area != p.area || again.rel != p.rel) {
		err = fmt.Errorf("%s: a symlink on its way was changed meanwhile; try again", show(arg))
	}
	if err == nil {
		err = checkTarget(arg, again)
	}
	if err != nil {
		done()
		return p, nil, err
	}
	return again, done, nil
}

// checkTarget refuses what can't be written.
func checkTarget(arg string, p place) error {
	switch {
	case !p.area.writable:
		return fmt.Errorf("%s: skill folders are for reading only", show(arg))
	case p.info == nil && strings.HasSuffix(arg, "/"):
		return fmt.Errorf("%s names a folder; give the name of a file", show(arg))
	case p.info == nil:
		return nil
	case !p.info.Mode().IsRegular():
		return fmt.Errorf("%s is %s, not a file that can be written", show(arg), kindOfFile(p.info))
	case p.info.Mode()&0o200 == 0:
		return fmt.Errorf("%s is write-protected (mode %#o); if it is meant to be changed, allow it first: bash chmod u+w", show(arg), p.info.Mode().Perm())
	}
	return nil
}

// folder opens the folder of a file that is to be written, and makes it if it
// is missing.
func (ps *places) folder(arg string, p place) (*os.Root, error) {
	parent := path.Dir(p.rel)
	have, err := ps.pin(arg, p.area, p.have)
	if err != nil || parent == p.have {
		return have, err
	}
	defer have.Close()
	missing, err := filepath.Rel(p.have, parent)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", show(arg), err)
	}
	if err := have.MkdirAll(missing, 0o777); err != nil {
		return nil, fmt.Errorf("%s: can't make the folder %s: %w", show(arg), show(parent), reason(err))
	}
	return ps.pin(arg, p.area, parent)
}

// swap is what replace does: content takes the place of the file that p
// describes, which must still be there, and still hold was unless that is nil.
type swap struct {
	arg     string
	p       place
	was     []byte
	content []byte
}

// replace puts content into the file, whole or not at all, and returns the
// new file's facts. It has the file's turn from before the temporary file is
// made until after the rename, so nobody who takes turns comes between the last
// look at the file and its replacement.
func (s *Set) replace(ctx context.Context, w swap) (fs.FileInfo, error) {
	arg, p := w.arg, w.p
	dir, err := s.places.folder(arg, p)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	temp := ".gamma-" + rand.Text() + ".tmp"
	real := filepath.Join(p.area.real, p.rel)
	done, err := s.turns.take(ctx, real, filepath.Join(filepath.Dir(real), temp))
	if err != nil {
		return nil, fmt.Errorf("%s wasn't written: %w", show(arg), err)
	}
	defer done()
	info, err := writeTemp(dir, temp, w.content, p.info)
	crashpoint.Here("file.before-rename")
	if err == nil {
		err = unchanged(dir, path.Base(p.rel), p.info)
	}
	if err == nil && w.was != nil {
		err = holds(dir, path.Base(p.rel), w.was)
	}
	if err == nil {
		err = dir.Rename(temp, path.Base(p.rel))
	}
	crashpoint.Here("file.after-rename")
	if err == nil {
		syncFolder(dir)
		return info, nil
	}
	dir.Remove(temp)
	switch old := "the file is as it was"; {
	case errors.Is(err, errChanged):
		return nil, fmt.Errorf("%s: %w", show(arg), err)
	case p.info == nil:
		return nil, fmt.Errorf("%s wasn't written: %w", show(arg), reason(err))
	default:
		return nil, fmt.Errorf("%s wasn't written, %s: %w", show(arg), old, reason(err))
	}
}

// syncFolder makes a rename survive a power loss, so that a result which says
// that a file was written isn't ahead of the disk. Where a folder can't be
// synced the file is as safe as the system makes it.
func syncFolder(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// writeTemp makes the temporary file, with the mode and owner of the old one.
func writeTemp(dir *os.Root, name string, content []byte, old fs.FileInfo) (info fs.FileInfo, err error) {
	perm := fs.FileMode(0o666) // less the umask
	if old != nil {
		perm = 0o600
	}
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := f.Write(content); err != nil {
		return nil, err
	}
	if old != nil {
		if err := dressAs(f, old); err != nil {
			return nil, err
		}
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return nil, err // file systems that can't sync say so by these two
	}
	return f.Stat()
}

// dressAs gives a new file the owner and mode of the old one.
func dressAs(f *os.File, old fs.FileInfo) error {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(st.Uid), int(st.Gid)) // allowed to root and for own groups; else the writer owns it
	}
	info, err := f.Stat()
	if err != nil || info.Mode() == old.Mode() { // not every file system has modes
		return err
	}
	return f.Chmod(old.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// holds fails if the file's bytes aren't these: a write within the clock's
// step leaves size and time as they were.
func holds(dir *os.Root, base string, was []byte) error {
	now, err := dir.ReadFile(base)
	if err == nil && !bytes.Equal(now, was) {
		return errChanged
	}
	return err
}

// unchanged fails if the file isn't the one that old describes.
func unchanged(dir *os.Root, base string, old fs.FileInfo) error {
	now, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if old == nil {
			return nil
		}
		return errChanged
	case err != nil:
		return err
	case old == nil, !os.SameFile(old, now), old.Size() != now.Size(), !old.ModTime().Equal(now.ModTime()):
		return errChanged
	}
	return nil
}
