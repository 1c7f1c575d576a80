package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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
