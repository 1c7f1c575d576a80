package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// PutBlob stores data under its SHA-256, which it returns in hex. It is on
// disk when PutBlob returns, so an entry may refer to it. The same data is
// stored once; a damaged blob is replaced.
func (s *Session) PutBlob(data []byte) (string, error) {
	sum := hashOf(data)
	path := filepath.Join(s.dir.blobs(), sum)
	err := s.dir.sys.mkdir(s.dir.blobs())
	if err == nil {
		if old, readErr := os.ReadFile(path); readErr == nil && hashOf(old) == sum {
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
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, d.badBlob(path, "the blob is missing")
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
	e.blob = true
	return e
}

// FilesDir returns the path of files/, the workspace of a server session, and
// makes the directory.
func (s *Session) FilesDir() (string, error) {
	path := filepath.Join(s.dir.path, "files")
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

// WriteSpill puts spill/name in place, whole and synced, for what an entry
// that is about to be written names.
func (s *Session) WriteSpill(name string, data []byte) error {
	path := filepath.Join(s.dir.spill(), name)
	if !spillName(name) {
		return fmt.Errorf("session %s: spill %q: not the name of a spill", s.ID, name)
	}
	err := s.dir.sys.mkdir(s.dir.spill())
	if err == nil {
		err = s.dir.sys.replace(s.dir.path, path, data)
	}
	if err != nil {
		return failed(s.ID, "write", path, err)
	}
	return nil
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
	root, err := os.OpenRoot(d.spill())
	if err != nil {
		return nil, failed(d.id, "open spill", filepath.Join(d.spill(), name), err)
	}
	defer root.Close()
	f, err := root.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, failed(d.id, "open spill", filepath.Join(d.spill(), name), err)
	}
	return f, nil
}

func spillName(name string) bool {
	ok := name != "" && len(name) <= 128 && name[0] != '.'
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	return ok
}
