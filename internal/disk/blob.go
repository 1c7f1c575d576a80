package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// PutBlob stores data under its SHA-256, which it returns in hex. It is on
// disk when PutBlob returns, so an entry may refer to it. The same data is
// stored once; a damaged blob is replaced.
func (s *Session) PutBlob(data []byte) (string, error) {
	sum := hashOf(data)
	path := filepath.Join(s.dir.blobs(), sum)
	err := s.dir.sys.mkdir(s.dir.blobs())
	if err == nil {
		if old, readErr := readRegular(path); readErr == nil && hashOf(old) == sum {
			err = s.dir.sys.sync(s.dir.blobs()) // its writer may have been killed before
		} else {
			err = s.dir.sys.replace(s.dir.path, path, data)
		}
	}
	if err != nil {
		return "", failed(s.ID, "write blob", path, err)
	}
	return sum, nil
}

// Blob returns the data with this SHA-256 (hex), and a *DamageError if the
// file doesn't hold it.
func (s *Session) Blob(sum string) ([]byte, error) { return s.dir.blob(sum) }

// Blob returns a blob of a session, without a lock, as Session.Blob does.
func (h *Home) Blob(id, sum string) ([]byte, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	return d.blob(sum)
}

func (d directory) blob(sum string) ([]byte, error) {
	if !validSum(sum) {
		return nil, fmt.Errorf("session %s: blob %q: want a SHA-256 in 64 lower-case hex digits", d.id, sum)
	}
	path := filepath.Join(d.blobs(), sum)
	data, err := readRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, d.badBlob(path, "the blob is missing")
	case errors.As(err, new(*kindError)):
		return nil, d.badBlob(path, err.Error())
	case err != nil:
		return nil, failed(d.id, "read blob", path, err)
	case hashOf(data) != sum:
		return nil, d.badBlob(path, fmt.Sprintf("the blob's %d bytes have another hash", len(data)))
	}
	return data, nil
}

// validSum reports whether sum can be the name of a blob.
func validSum(sum string) bool {
	raw, err := hex.DecodeString(sum)
	return err == nil && len(raw) == 32 && hex.EncodeToString(raw) == sum
}

func (d directory) badBlob(path, reason string) error {
	e := d.damage(path, 0, 0, reason)
	e.beside = true
	return e
}

// FilesDir returns the path of files/, the workspace of a server session, and
// makes the directory.
func (s *Session) FilesDir() (string, error) {
	path := s.dir.files()
	if err := s.dir.sys.mkdir(path); err != nil {
		return "", failed(s.ID, "create", path, err)
	}
	return path, nil
}

// SpillDir returns the path of spill/, for a sandbox that lets commands read
// it. It may not exist yet.
func (s *Session) SpillDir() string { return s.dir.spill() }

// CreateSpill makes spill/name, or empties it, for writing. Spills are kept
// for reading on; they aren't synced and no entry depends on them.
func (s *Session) CreateSpill(name string) (io.WriteCloser, error) {
	if err := os.Mkdir(s.dir.spill(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failed(s.ID, "create", s.dir.spill(), err)
	}
	return s.dir.openSpill(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
}

// OpenSpill opens spill/name for reading. The error is fs.ErrNotExist if there
// is none.
func (s *Session) OpenSpill(name string) (io.ReadSeekCloser, error) {
	return s.dir.openSpill(name, os.O_RDONLY)
}

// OpenSpill opens spill/name of a session for reading, without a lock.
func (h *Home) OpenSpill(id, name string) (io.ReadSeekCloser, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	return d.openSpill(name, os.O_RDONLY)
}

// openSpill opens a spill by a name that tools may have chosen: one element,
// and no link out of the directory.
func (d directory) openSpill(name string, flag int) (*os.File, error) {
	if !spillName(name) {
		return nil, fmt.Errorf("session %s: spill %q: want 1 to 128 of letters, digits, '.', '_' and '-', not beginning with '.'", d.id, name)
	}
	err := checkKind(d.spill(), true) // opening a FIFO as a root would wait
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(d.spill())
	}
	if err != nil {
		return nil, failed(d.id, "open spill", filepath.Join(d.spill(), name), err)
	}
	defer root.Close()
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o600)
	if err == nil {
		err = checkOpen(f)
	}
	if err != nil {
		return nil, failed(d.id, "open spill", filepath.Join(d.spill(), name), err)
	}
	return f, nil
}

// checkOpen closes a file that isn't a regular one.
func checkOpen(f *os.File) error {
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = &kindError{kindOfFile(fi.Mode()), "a file"}
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

func spillName(name string) bool {
	ok := name != "" && len(name) <= 128 && name[0] != '.'
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	return ok
}
