package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// What stands under a name of ours may have been replaced by anything. Nothing
// here waits for the other end of a FIFO, reads a device, or takes a link for
// the file that it names where that could be somebody else's.

// kindError says that a name holds another kind of file than it should.
type kindError struct {
	is  string // what it is: "a directory", "a FIFO", …
	not string // what it should be: "a file" or "a directory"
}

func (e *kindError) Error() string { return fmt.Sprintf("it is %s, not %s", e.is, e.not) }

// kindOfFile says for people what a mode is.
func kindOfFile(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// openRegular opens a regular file, or a link to one, for reading. It returns
// at once whatever stands there; other kinds give a *kindError.
func openRegular(path string) (*os.File, error) {
	fi, err := os.Stat(path) // opening a device can have effects
	if errors.Is(err, syscall.ELOOP) {
		err = &kindError{"a symbolic link", "a file"}
	}
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &kindError{kindOfFile(fi.Mode()), "a file"}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err = f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = &kindError{kindOfFile(fi.Mode()), "a file"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readMost is how large a file may be that is read at once, in bytes. A larger
// one (a sparse file, say) isn't ours: the largest thing that we write is a
// segment, and sessions have megabytes.
const readMost = 1 << 30

// sizeError is the length of a file that is too large to be read.
type sizeError int64

func (e sizeError) Error() string {
	return fmt.Sprintf("it has %d bytes, more than the %d that this build reads at once", int64(e), readMost)
}

// todoMost is more than any task list has, in bytes.
const todoMost = 16 << 20

// checkTodo is checkKind for todo.json, which has a size, too.
func (d directory) checkTodo() error {
	err := checkKind(d.todo(), false)
	if fi, statErr := os.Lstat(d.todo()); err == nil && statErr == nil && fi.Size() > todoMost {
		err = &kindError{fmt.Sprintf("a file of %d bytes", fi.Size()), "a task list"}
	}
	return err
}

// readRegular is os.ReadFile for regular files.
func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() > readMost {
		return nil, sizeError(fi.Size())
	}
	data := make([]byte, fi.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it has become shorter
	}
	return data[:n], err
}

// listing is what stands in transcript/; nothing if there is no such directory.
// Something else under its name is a *DamageError.
func (d directory) listing() ([]fs.DirEntry, error) {
	path := d.transcript()
	if err := checkKind(path, true); err != nil {
		if k := (*kindError)(nil); errors.As(err, &k) {
			return nil, d.damage(path, 0, 0, k.Error())
		}
		return nil, failed(d.id, "look at", path, err)
	}
	des, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failed(d.id, "list", path, err)
	}
	return des, nil
}

// checkKind returns a *kindError if something else than a regular file, or
// than a directory or a link to one, stands at path. Nothing is fine.
func checkKind(path string, dir bool) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	is := kindOfFile(fi.Mode())
	if !dir {
		if !fi.Mode().IsRegular() {
			return &kindError{is, "a file"}
		}
		return nil
	}
	if to, err := os.Stat(path); err == nil && to.IsDir() {
		return nil
	}
	return &kindError{is, "a directory"}
}

// misplaced names what stands under a name of the session directory and is of
// another kind than that name is for.
func (d directory) misplaced() ([]Fault, error) {
	var out []Fault
	for _, p := range []struct {
		path string
		dir  bool
	}{{d.lock(), false}, {d.todo(), false}, {d.transcript(), true}, {d.blobs(), true}, {d.spill(), true}, {d.files(), true}} {
		err := checkKind(p.path, p.dir)
		if p.path == d.todo() {
			err = d.checkTodo()
		}
		if k := (*kindError)(nil); errors.As(err, &k) {
			out = append(out, Fault{Kind: WrongKind, File: p.path, Reason: k.Error() + "; a repair sets it aside under another name"})
		} else if err != nil {
			return nil, failed(d.id, "look at", p.path, err)
		}
	}
	return out, nil
}

// asideExt ends the name of what a repair has set aside.
const asideExt = ".aside"

// Aside is something that a repair found in another's place, or was about to
// replace.
type Aside struct {
	File string `json:"file"` // path that it had
	To   string `json:"to"`   // path that it has now
}

// asideName returns a name beside path that nothing has.
func asideName(path string) (string, error) {
	for n := 1; ; n++ {
		to := path + asideExt
		if n > 1 {
			to += "." + strconv.Itoa(n)
		}
		_, err := os.Lstat(to)
		if errors.Is(err, fs.ErrNotExist) {
			return to, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// setAside gives what stands at path another name.
func (d directory) setAside(path string) (Aside, error) {
	to, err := asideName(path)
	if err == nil {
		err = os.Rename(path, to)
	}
	if err == nil {
		err = d.sys.sync(filepath.Dir(path))
	}
	if err != nil {
		return Aside{}, failed(d.id, "set aside", path, err)
	}
	return Aside{path, to}, nil
}

// clearPlaces sets aside what the faults of misplaced name.
func (d directory) clearPlaces(faults []Fault) ([]Aside, error) {
	var out []Aside
	for _, f := range faults {
		a, err := d.setAside(f.File)
		if err != nil {
			return out, err
		}
		out = append(out, a)
	}
	return out, nil
}

// clearLock sets aside what stands in the place of the lock file, if it isn't
// one. Nobody can hold the lock then. The directory itself is locked
// meanwhile: of two repairs, the second must not take the first's new lock
// file for what it has to set aside.
func (d directory) clearLock() (_ []Aside, err error) {
	path := d.lock()
	if k := (*kindError)(nil); !errors.As(checkKind(path, false), &k) {
		return nil, nil // acquire says what else is wrong
	}
	dir, err := os.Open(d.path)
	if err != nil {
		return nil, failed(d.id, "open", d.path, err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := flock(dir, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &LockedError{ID: d.id, Path: path}
	} else if err != nil {
		return nil, failed(d.id, "lock", d.path, fmt.Errorf("%w; move %s elsewhere by hand", err, path))
	}
	if checkKind(path, false) == nil {
		return nil, nil // another repair was faster
	}
	a, err := d.setAside(path)
	if err != nil {
		return nil, err
	}
	return []Aside{a}, nil
}
