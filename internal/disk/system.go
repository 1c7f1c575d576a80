package disk

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// segmentFile is a segment being written. *os.File is one; tests have others
// that run full or fail.
type segmentFile interface {
	// Write appends b. After an error, or with n < len(b), any part of b may
	// be in the file.
	Write(b []byte) (n int, err error)
	// Sync returns when what was written survives a power loss. After an
	// error that can't be known, not even by trying again.
	Sync() error
	Close() error
}

// system is what this package asks of the operating system where a test has
// to see the order or make it fail.
type system struct {
	create func(path string) (segmentFile, error) // a new file; fails if the name exists
	sync   func(path string) error                // what is in a file or directory survives a power loss
}

func realSystem() system {
	return system{
		create: func(path string) (segmentFile, error) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return nil, err
			}
			return syncedFile{f}, nil
		},
		sync: func(path string) error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			return errors.Join(f.Sync(), f.Close())
		},
	}
}

// syncedFile syncs data only, where the system can: a segment's times don't
// matter, its length is synced all the same.
type syncedFile struct{ *os.File }

func (f syncedFile) Sync() error { return syncData(f.File) }

// replace puts data into the file at path of the session directory dir, whole
// or not at all. The temporary file lies in dir, where the next owner removes
// it after a crash.
func (s system) replace(dir, path string, data []byte) error {
	f, err := os.CreateTemp(dir, tempPrefix+"*") // made with 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		crashpoint.Here("replace.before-rename")
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	crashpoint.Here("replace.after-rename")
	return s.sync(filepath.Dir(path))
}

// mkdir makes a directory of the session, if it isn't there. It is synced in
// both cases: whoever made it may have been killed before he could.
func (s system) mkdir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return s.sync(filepath.Dir(path))
}
