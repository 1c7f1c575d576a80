package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// trashPrefix begins the name of a session directory that is being removed.
// It can be no session's id, so nobody takes it for a session.
const trashPrefix = ".trash-"

// Remove removes a session with all its files and returns how many bytes that
// freed; with dry it only counts them. It returns a *LockedError if somebody
// owns the session. The directory first gets another name: after a crash the
// session is there or it isn't, and EmptyTrash removes what was left.
func (h *Home) Remove(id string, pid int, now time.Time, dry bool) (freed int64, err error) {
	return h.RemoveIf(id, pid, now, dry, func() error { return nil })
}

// RemoveIf removes a session, as Remove does, unless may returns an error, which
// it then returns. may is asked while nobody else can own the session; with dry
// it is only known that nobody owns it.
func (h *Home) RemoveIf(id string, pid int, now time.Time, dry bool, may func() error) (freed int64, err error) {
	d, err := h.directory(id)
	if err != nil {
		return 0, err
	}
	if !dry {
		if _, err := d.clearLock(); err != nil {
			return 0, err
		}
	}
	release, err := d.keepOut(pid, now, dry)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := may(); err != nil {
		return 0, err
	}
	if dry {
		return bytesIn(d.path)
	}
	trash := filepath.Join(h.sessions(), trashPrefix+id)
	for n := 2; ; n++ {
		if _, err := os.Lstat(trash); errors.Is(err, fs.ErrNotExist) {
			break
		}
		trash = filepath.Join(h.sessions(), fmt.Sprintf("%s%s.%d", trashPrefix, id, n))
	}
	if err := os.Rename(d.path, trash); err != nil {
		return 0, failed(id, "remove", d.path, err)
	}
	crashpoint.Here("remove.renamed")
	if err := h.sys.sync(h.sessions()); err != nil {
		return 0, failed(id, "sync", h.sessions(), err)
	}
	return empty(trash)
}

// EmptyTrash finishes removals that were cut short, and returns how many bytes
// that freed. Names of other programs are left alone, and a fork that is being
// written.
func (h *Home) EmptyTrash() (freed int64, err error) {
	des, err := os.ReadDir(h.sessions())
	if err != nil {
		return 0, fmt.Errorf("sessions: %w", err)
	}
	for _, de := range des {
		id, ok := strings.CutPrefix(de.Name(), trashPrefix)
		id, _, _ = strings.Cut(id, ".")
		if !ok || checkID(id) != nil || !de.IsDir() {
			continue
		}
		path := filepath.Join(h.sessions(), de.Name())
		if owner, err := held(directory{path: path}.lock()); err == nil && owner != nil {
			continue // a fork is being written, or somebody else removes it
		}
		n, err := empty(path)
		freed += n
		if err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// empty removes a directory that nobody knows any more.
func empty(path string) (int64, error) {
	n, err := bytesIn(path)
	if err == nil {
		err = os.RemoveAll(path)
	}
	if err != nil {
		return 0, fmt.Errorf("remove %s: %w. Correct the cause; the next gamma session rm removes the rest", path, bare(err))
	}
	return n, nil
}

// bytesIn counts the bytes of the files in a directory.
func bytesIn(path string) (int64, error) {
	n := int64(0)
	err := filepath.WalkDir(path, func(p string, de fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // somebody else removes it
		}
		if err != nil || !de.Type().IsRegular() {
			return err
		}
		fi, err := de.Info()
		if err == nil {
			n += fi.Size()
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return n, err
}
