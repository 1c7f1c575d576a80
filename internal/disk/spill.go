package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// SpillMost is how many bytes of full outputs a session keeps.
const SpillMost = 1 << 30

// A spill leaves spillReserve bytes of the disk free, or an eighth of a small
// one, so that a chatty command can't keep the transcript from growing.
const spillReserve = 64 << 20

// spills counts the full outputs of a session. Writers share it.
type spills struct {
	mu      sync.Mutex
	most    int64 // 0: SpillMost
	counted bool  // size was taken from the folder
	size    int64
	writing map[string]int // names that are being written
}

func (a *spills) begin(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.writing == nil {
		a.writing = map[string]int{}
	}
	a.writing[name]++
	a.counted = false // it may have been emptied
}

// end forgets a writer.
func (a *spills) end(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.writing[name]--; a.writing[name] <= 0 {
		delete(a.writing, name)
	}
}

// take makes room for n more bytes, or says why there is none.
func (a *spills) take(dir string, n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := cmp.Or(a.most, SpillMost)
	if !a.counted || a.size+n > most {
		if err := a.shrink(dir, most-n); err != nil {
			return err
		}
	}
	if a.size+n > most {
		return fmt.Errorf("a session keeps at most %d MiB of full outputs, and all of these are being written", most>>20)
	}
	if free, all, err := diskSpace(dir); err == nil && free-n < min(spillReserve, all/8) {
		return fmt.Errorf("the disk of the session has only %.1f MiB left", float64(free)/(1<<20))
	}
	a.size += n
	return nil
}

// shrink counts the spills, and removes the oldest ones until they have at
// most most bytes.
func (a *spills) shrink(dir string, most int64) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var old []fs.FileInfo
	a.size, a.counted = 0, true
	for _, de := range list {
		info, err := de.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed meanwhile
		}
		a.size += info.Size()
		if a.writing[info.Name()] == 0 && !wordsOf(info.Name()) {
			old = append(old, info)
		}
	}
	slices.SortFunc(old, func(x, y fs.FileInfo) int { return x.ModTime().Compare(y.ModTime()) })
	for _, info := range old {
		if a.size <= most {
			break
		}
		if err := os.Remove(filepath.Join(dir, info.Name())); err == nil {
			a.size -= info.Size()
		}
	}
	return nil
}

// wordsOf reports whether a spill holds words of a person that were too long
// to stay in the context: nothing else has them at hand for the model.
func wordsOf(name string) bool { return strings.HasPrefix(name, "request-") }

// diskSpace tells how many bytes of a folder's disk are free to us, and how
// many it has.
func diskSpace(dir string) (free, all int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	block := int64(st.Bsize)
	return int64(st.Bavail) * block, int64(st.Blocks) * block, nil
}

// spillWriter writes one spill, within the bounds of all.
type spillWriter struct {
	f    *os.File
	name string
	dir  string
	all  *spills
}

// Write writes all of b or nothing, unless the disk fails.
func (w *spillWriter) Write(b []byte) (int, error) {
	if err := w.all.take(w.dir, int64(len(b))); err != nil {
		return 0, err
	}
	return w.f.Write(b)
}

// Close ends the file.
func (w *spillWriter) Close() error {
	w.all.end(w.name)
	return w.f.Close()
}

// SpillDir returns the path of spill/, for a sandbox that lets commands read
// it. It may not exist yet.
func (s *Session) SpillDir() string { return s.dir.spill() }

// CreateSpill makes spill/name, or empties it, for writing. Spills are kept
// for reading on; they aren't synced and no entry depends on them. If the
// session has more than SpillMost of them, the oldest that nobody is writing
// are removed; the writer fails when there is none left to remove, or when the
// disk has less than its reserve.
func (s *Session) CreateSpill(name string) (io.WriteCloser, error) {
	if err := os.Mkdir(s.dir.spill(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failed(s.ID, "create", s.dir.spill(), err)
	}
	f, err := s.dir.openSpill(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	s.spills.begin(name)
	return &spillWriter{f: f, name: name, dir: s.dir.spill(), all: &s.spills}, nil
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
