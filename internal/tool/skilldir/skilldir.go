// Package skilldir finds skill files and instruction files on disk and hands
// their bytes to package skill, which says what they mean.
//
// Walk looks for <root>/…/NAME/SKILL.md. A directory with a SKILL.md is a leaf:
// what lies below belongs to the skill. It goes down at most MaxDepth levels
// and looks at no more than MaxDirs directories of a root, never at .git and
// node_modules. Symlinked directories are followed, after the real ones and each
// real directory once, so loops end. What is not read and could have been a skill
// is reported: unreadable directories and files, files over MaxFile bytes,
// things that aren't regular files, links that lead nowhere or to what was
// read already, a SKILL.md at the wrong place or with other capitals. A root
// that doesn't exist is no fault.
//
// Instructions reads AGENTS.md from the root of the repository down to the
// working directory. A file that is a link out of the repository isn't read: a
// cloned repository must not show the model what else lies on the disk. A
// repository whose root belongs to another user than the working directory
// isn't taken for the working directory's.
//
// Callers decide on trust: neither the workspace's roots nor its instructions
// may be passed to or asked of this package in a workspace that isn't trusted.
//
// Nothing here fails as a whole but Instructions for a working directory that
// can't be read; single faults are diagnostics or notes.
package skilldir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gamma-harness/gamma/internal/skill"
)

// Limits of a walk.
const (
	MaxDepth = 6
	MaxDirs  = 2000     // of one root
	MaxFile  = 4 << 20  // bytes of a SKILL.md
	MaxTotal = 64 << 20 // bytes of all SKILL.md files of one root
)

// Root is a directory in which skills are looked for.
type Root struct {
	Dir    string // on disk
	Show   string // how its path begins for people and the model; "" means Dir
	Source skill.Source
}

// Roots returns the places where skills lie, the first name winning in their
// order: .agents/skills and .gamma/skills of the workspace if it is trusted,
// ~/.agents/skills, and skills in Gamma's own directory. An empty argument leaves its
// places out.
func Roots(workspace, home, gammaHome string, trusted bool) []Root {
	var roots []Root
	if trusted && workspace != "" {
		roots = append(roots,
			Root{filepath.Join(workspace, ".agents", "skills"), ".agents/skills", skill.WorkspaceAgents},
			Root{filepath.Join(workspace, ".gamma", "skills"), ".gamma/skills", skill.WorkspaceGamma})
	}
	if home != "" {
		roots = append(roots, Root{filepath.Join(home, ".agents", "skills"), "~/.agents/skills", skill.HomeAgents})
	}
	if gammaHome != "" {
		dir := filepath.Join(gammaHome, "skills")
		show := filepath.ToSlash(dir)
		if rel, ok := below(home, dir); ok {
			show = "~/" + rel
		}
		roots = append(roots, Root{dir, show, skill.HomeGamma})
	}
	return roots
}

// below returns the path of p relative to dir, with slashes, if it lies in it.
func below(dir, p string) (string, bool) {
	if dir == "" {
		return "", false
	}
	rel, err := filepath.Rel(dir, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// Walk returns the skill files of the roots and what it couldn't read. Two
// roots that are one directory are read once, as the first.
func Walk(roots []Root) ([]skill.File, []skill.Diagnostic) {
	return walk(roots, os.ReadDir)
}

func walk(roots []Root, readDir func(string) ([]fs.DirEntry, error)) ([]skill.File, []skill.Diagnostic) {
	var files []skill.File
	var diags []skill.Diagnostic
	done := map[string]bool{}
	for _, r := range roots {
		if r.Show == "" {
			r.Show = filepath.ToSlash(r.Dir)
		}
		real, err := filepath.EvalSymlinks(r.Dir)
		if err != nil {
			real = r.Dir // reading it will tell
		}
		if done[real] {
			continue
		}
		done[real] = true
		w := &walker{root: r, readDir: readDir, seen: map[string]string{}}
		w.all(real)
		files, diags = append(files, w.files...), append(diags, w.diags...)
	}
	return files, diags
}

// place is a directory to look into.
type place struct {
	real  string // path without symlinks
	show  string
	depth int // below the root
}

// walker looks through one root.
type walker struct {
	root    Root
	readDir func(string) ([]fs.DirEntry, error)
	files   []skill.File
	diags   []skill.Diagnostic
	seen    map[string]string // real directories that were read → as shown
	links   []place           // symlinks, for after the real directories
	bytes   int               // of the skill files so far
	full    bool              // MaxDirs was reached
	deep    bool              // MaxDepth was reached and reported
}

func (w *walker) report(s skill.Severity, path, format string, args ...any) {
	w.diags = append(w.diags, skill.Diagnostic{Path: path, Severity: s, Message: fmt.Sprintf(format, args...)})
}

// all walks the root, then the symlinks that were found, and those found there.
func (w *walker) all(real string) {
	w.dir(place{real, w.root.Show, 0})
	for len(w.links) > 0 {
		next := w.links[0]
		w.links = w.links[1:]
		w.follow(next)
	}
}

// follow goes to where a symlink leads. Links to files are none of ours.
func (w *walker) follow(link place) {
	real, err := filepath.EvalSymlinks(link.real)
	if err != nil {
		w.report(skill.Error, link.show, "the link can't be followed: %v", reason(err))
		return
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return
	}
	if first, ok := w.seen[real]; ok {
		w.report(skill.Warning, link.show, "links to %s, which was read already: it is not read again", first)
		return
	}
	w.dir(place{real, link.show, link.depth})
}

// dir reads a directory: a skill, or a place of more directories.
func (w *walker) dir(p place) {
	if _, again := w.seen[p.real]; again || !w.room(p) {
		return
	}
	w.seen[p.real] = p.show
	entries, err := w.readDir(p.real)
	if errors.Is(err, fs.ErrNotExist) && p.depth == 0 {
		return
	}
	if err != nil {
		w.report(skill.Error, p.show, "the directory can't be read: %v", reason(err))
		return
	}
	if w.skillIn(p, entries) {
		return
	}
	for _, e := range entries {
		w.entry(p, e)
	}
}

// room reports whether the limits allow another directory, and says once if
// they don't.
func (w *walker) room(p place) bool {
	switch {
	case p.depth > MaxDepth:
		if !w.deep {
			w.report(skill.Error, p.show, "lies more than %d directories deep: neither it nor others so deep are searched", MaxDepth)
		}
		w.deep = true
		return false
	case len(w.seen) >= MaxDirs:
		if !w.full {
			w.report(skill.Error, w.root.Show, "has more than %d directories: those from %s on are not searched", MaxDirs, p.show)
		}
		w.full = true
		return false
	}
	return true
}

// skillIn reports whether the directory is a skill, and takes it.
func (w *walker) skillIn(p place, entries []fs.DirEntry) bool {
	for _, e := range entries {
		show := path.Join(p.show, e.Name())
		switch {
		case !strings.EqualFold(e.Name(), "SKILL.md"):
		case e.Name() != "SKILL.md":
			w.report(skill.Error, show, "the file is not read: its name must be SKILL.md")
		case p.depth == 0:
			w.report(skill.Error, show, "the file is not read: a skill needs a directory of its own, %s", path.Join(p.show, "NAME", "SKILL.md"))
		default:
			w.take(p, show)
			return true
		}
	}
	return false
}

func (w *walker) take(p place, show string) {
	data, size, err := readFile(filepath.Join(p.real, "SKILL.md"), MaxFile)
	w.bytes += len(data)
	switch {
	case err != nil:
		w.report(skill.Error, show, "the file can't be read: %v", reason(err))
		return
	case size > MaxFile:
		w.report(skill.Error, show, "the file is not read: it has %d bytes, more than %d MiB", size, MaxFile>>20)
		return
	case w.bytes > MaxTotal:
		w.report(skill.Error, show, "the file is not read: the skills of %s have more than %d MiB together", w.root.Show, MaxTotal>>20)
		return
	}
	w.files = append(w.files, skill.File{Path: show, Dir: p.real, Source: w.root.Source, Data: data})
}

func (w *walker) entry(p place, e fs.DirEntry) {
	child := place{filepath.Join(p.real, e.Name()), path.Join(p.show, e.Name()), p.depth + 1}
	switch {
	case e.Name() == ".git", e.Name() == "node_modules":
	case e.IsDir():
		w.dir(child)
	case e.Type()&fs.ModeSymlink != 0:
		w.links = append(w.links, child)
	}
}

// reason drops the path that the error of a file operation begins with; the
// diagnostic has it.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// readFile reads up to limit bytes of a regular file. It is opened without
// blocking, because a pipe with the name of a skill would block for ever.
func readFile(name string, limit int64) ([]byte, int64, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	return readRegular(f, limit)
}

// readRegular returns up to limit bytes of a file and the size of the whole,
// more than limit if there is more.
func readRegular(f *os.File, limit int64) ([]byte, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if n := int64(len(data)); n <= limit {
		return data, n, err
	}
	return data[:limit], max(info.Size(), limit+1), err
}
