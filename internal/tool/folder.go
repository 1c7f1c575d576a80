package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
)

const (
	folderEntries = 500    // shown at once
	folderMost    = 50_000 // looked at
)

// readFolder lists a folder: sorted, a folder with "/", a symlink with its
// target.
func (s *Set) readFolder(a readArgs, p place) (session.Output, error) {
	dir, err := s.places.pin(a.path, p.area, p.rel)
	if err != nil {
		return session.Output{}, err
	}
	defer dir.Close()
	list, whole, err := entries(dir)
	if err != nil {
		return session.Output{}, fmt.Errorf("%s: %w", show(a.path), reason(err))
	}
	from := max(a.offset, 1)
	if from > 1 && from > len(list) {
		return session.Output{}, fmt.Errorf("%s: offset %d is past the end: the folder has %d entries", show(a.path), from, len(list))
	}
	limit := folderEntries
	if a.limit > 0 {
		limit = min(limit, a.limit)
	}
	to := min(from-1+limit, len(list))
	var b strings.Builder
	fmt.Fprintf(&b, "%s is a folder with %d entries", show(a.path), len(list))
	if !whole {
		b.WriteString(" and more")
	}
	for i, e := range list[from-1 : to] {
		line := "\n" + listed(dir, e)
		if b.Len()+len(line) > pageBytes {
			to = from - 1 + i
			break
		}
		b.WriteString(line)
	}
	d := readDetails{Path: p.name(), Kind: "folder", From: from, To: to, Total: len(list)}
	if to < len(list) {
		d.Next = to + 1
		fmt.Fprintf(&b, "\n[entries %d-%d are shown; go on with offset %d]", from, to, d.Next)
	}
	return session.Output{Outcome: outcomeOK, Text: b.String(), Details: details(d)}, nil
}

// entries reads a folder's entries, sorted; whole is false if there are more.
func entries(dir *os.Root) (list []fs.DirEntry, whole bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for len(list) < folderMost {
		part, err := f.ReadDir(1024)
		list = append(list, part...)
		if errors.Is(err, io.EOF) {
			whole = true
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, whole, nil
}

// listed is the line of an entry.
func listed(dir *os.Root, e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return show(e.Name()) + "/"
	case e.Type()&fs.ModeSymlink != 0:
		if target, err := dir.Readlink(e.Name()); err == nil {
			return show(e.Name()) + " -> " + show(target)
		}
	case !e.Type().IsRegular():
		if info, err := e.Info(); err == nil {
			return show(e.Name()) + " (" + kindOfFile(info) + ")"
		}
	}
	return show(e.Name())
}
