package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symlinks a path may lead over.
const maxLinks = 40

// resolve finds the place that a path leads to, symlinks followed to the end.
// A missing place is no error.
func (p *places) resolve(arg string) (place, error) {
	a, rel, err := p.locate(arg)
	if err != nil {
		return place{}, err
	}
	if a == p.work {
		if err := p.here(); err != nil {
			return place{}, err
		}
	}
	w := walk{places: p, arg: arg, at: place{area: a, rel: ".", have: "."}, rest: split(rel)}
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return place{}, err
		}
	}
	if w.at.area.closedAt(w.at.rel) {
		return place{}, p.closedError(arg)
	}
	if w.at.rel == "." {
		if w.at.info, err = w.at.area.root.Stat("."); err != nil {
			return place{}, fmt.Errorf("%s: %w", show(arg), reason(err))
		}
	}
	return w.at, nil
}

func (p *places) closedError(arg string) error {
	return fmt.Errorf("%s is in a folder of gamma's own, which no tool may reach; allowed are %s", show(arg), p.allowed())
}

// walk is a path on its way through an area.
type walk struct {
	places *places
	arg    string
	at     place
	rest   []string
	links  int
}

func split(rel string) []string { return strings.Split(filepath.ToSlash(rel), "/") }

// step takes the next element of the path.
func (w *walk) step() error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	switch {
	case name == "" || name == ".":
		return nil
	case name == ".." && w.at.rel == ".":
		return fmt.Errorf("%s leads out by a symlink; allowed are %s", show(w.arg), w.places.allowed())
	case name == "..":
		w.at.rel = path.Dir(w.at.rel)
		w.at.have = w.at.rel
		return nil
	}
	next := path.Join(w.at.rel, name)
	info, err := w.at.area.root.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.at.rel, w.at.info = path.Join(append([]string{next}, w.rest...)...), nil
		w.rest = nil
		if w.at.rel == ".." || strings.HasPrefix(w.at.rel, "../") {
			return fmt.Errorf("%s leads out by a symlink; allowed are %s", show(w.arg), w.places.allowed())
		}
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", show(w.arg), reason(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(next)
	case len(w.rest) > 0 && !info.IsDir():
		return fmt.Errorf("%s: %s is a file, not a folder", show(w.arg), show(next))
	}
	w.at.rel, w.at.info = next, info
	if info.IsDir() {
		w.at.have = next
	}
	return nil
}

// follow puts a symlink's target in front of the rest of the path.
func (w *walk) follow(link string) error {
	if w.links++; w.links > maxLinks {
		return fmt.Errorf("%s leads over more than %d symlinks", show(w.arg), maxLinks)
	}
	target, err := w.at.area.root.Readlink(link)
	if err != nil {
		return fmt.Errorf("%s: %w", show(w.arg), reason(err))
	}
	if !filepath.IsAbs(target) {
		w.rest = append(split(target), w.rest...)
		return nil
	}
	a, rel, err := w.places.locate(target)
	if err != nil {
		return fmt.Errorf("%s leads to %s by a symlink, which is outside; allowed are %s", show(w.arg), show(target), w.places.allowed())
	}
	w.rest = append(split(rel), w.rest...)
	w.at = place{area: a, rel: ".", have: "."}
	return nil
}

// fileID tells files and folders apart whatever their names.
type fileID struct{ dev, ino uint64 }

func idOf(fd int) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fileID{}, err
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, nil
}

// pin opens a folder of an area. What is then done by the folder's own root
// is done in this folder, even if somebody renames it or puts a symlink in its
// place. A folder within a forbidden one is refused: the way up to the area is
// walked by the folders themselves, not by their names.
func (p *places) pin(arg string, a *area, rel string) (*os.Root, error) {
	dir, err := a.root.OpenRoot(rel)
	if err != nil {
		return nil, fmt.Errorf("%s: folder %s: %w", show(arg), show(rel), reason(err))
	}
	if err := p.climb(dir, a); err != nil {
		dir.Close()
		if errors.Is(err, errClosedFolder) {
			return nil, p.closedError(arg)
		}
		return nil, fmt.Errorf("%s: %w", show(arg), err)
	}
	return dir, nil
}

var (
	errClosedFolder = errors.New("forbidden folder")
	errMoved        = errors.New("the folder was moved out meanwhile")
)

// climb walks from dir up to the area and fails if it meets a forbidden
// folder, or the root of the file system.
func (p *places) climb(dir *os.Root, a *area) error {
	closed := map[fileID]bool{}
	for _, name := range a.closed {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			closed[fileID{uint64(st.Dev), uint64(st.Ino)}] = true
		}
	}
	f, err := dir.Open(".")
	if err != nil {
		return reason(err)
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { unix.Close(fd) }()
	for last := (fileID{}); ; {
		id, err := idOf(fd)
		switch {
		case err != nil:
			return err
		case id == a.id:
			return nil
		case closed[id]:
			return errClosedFolder
		case id == last:
			return errMoved
		}
		up, err := unix.Openat(fd, "..", openFolder, 0)
		if err != nil {
			return err
		}
		unix.Close(fd)
		fd, last = up, id
	}
}
