package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// places are the folders that the tools may reach.
type places struct {
	work      *area
	skills    []*area
	forbidden []string // clean absolute paths, as given and with symlinks resolved
}

// area is a folder that a path may lead into.
type area struct {
	root     *os.Root
	given    string // clean absolute path
	real     string // the same with symlinks resolved
	id       fileID
	writable bool
	closed   []string // real paths within the area that are forbidden
}

// place is where a path leads.
type place struct {
	area *area
	rel  string      // within the area, no symlink in it, "." for the area itself
	info fs.FileInfo // nil: nothing is there
	have string      // the deepest folder on the way that exists
}

func openPlaces(cfg Config) (*places, error) {
	p := &places{}
	for _, dir := range cfg.Forbidden {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("forbidden folder %s isn't absolute", show(dir))
		}
		p.forbidden = append(p.forbidden, filepath.Clean(dir), realPath(dir))
	}
	var err error
	if p.work, err = openArea(cfg.Workspace); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	p.work.writable = true
	if slices.Contains(p.forbidden, p.work.real) {
		p.close()
		return nil, fmt.Errorf("workspace: %s holds gamma's own data; choose another folder", show(cfg.Workspace))
	}
	for _, dir := range cfg.SkillDirs {
		a, err := openArea(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p.close()
			return nil, fmt.Errorf("skill folder: %w", err)
		}
		p.skills = append(p.skills, a)
	}
	for _, a := range p.areas() {
		for _, dir := range p.forbidden {
			if rel, ok := under(a.real, dir); ok && rel != "." {
				a.closed = append(a.closed, dir)
			}
		}
	}
	return p, nil
}

func openArea(dir string) (*area, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("%s isn't an absolute path", show(dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	a := &area{root: root, given: filepath.Clean(dir), real: realPath(dir)}
	f, err := root.Open(".")
	if err == nil {
		a.id, err = idOf(int(f.Fd()))
		f.Close()
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return a, nil
}

func (p *places) close() {
	for _, a := range p.areas() {
		a.root.Close()
	}
}

func (p *places) areas() []*area { return append([]*area{p.work}, p.skills...) }

// here fails if the workspace isn't any more where it was: whoever works on by
// its name and whoever works on in the opened folder would work in two places.
func (p *places) here() error {
	var st unix.Stat_t
	if err := unix.Stat(p.work.given, &st); err != nil || (fileID{uint64(st.Dev), uint64(st.Ino)}) != p.work.id {
		return fmt.Errorf("the workspace %s was moved or removed during the session; put it back, or end the session and go on in the new place", show(p.work.given))
	}
	return nil
}

// under returns the path of abs within dir, if it is there.
func under(dir, abs string) (string, bool) {
	rel, err := filepath.Rel(dir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return rel, true
}

// realPath resolves the symlinks of the part of a path that exists.
func realPath(abs string) string {
	abs = filepath.Clean(abs)
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}

// locate finds the area that a path leads into, by its name alone.
func (p *places) locate(arg string) (*area, string, error) {
	switch {
	case arg == "":
		return nil, "", errors.New("the path is empty")
	case strings.ContainsRune(arg, 0):
		return nil, "", fmt.Errorf("the path %s has a NUL character", show(arg))
	case arg == "~" || strings.HasPrefix(arg, "~/"):
		return nil, "", fmt.Errorf("%s: ~ isn't expanded; allowed are %s", show(arg), p.allowed())
	}
	abs := filepath.Clean(arg)
	if !filepath.IsAbs(arg) {
		abs = filepath.Join(p.work.given, arg)
	}
	// The second try is for another name of an area, by a symlink.
	var found *area
	var at string
	for _, abs := range []string{abs, realPath(abs)} {
		for _, a := range p.areas() {
			rel, ok := under(a.given, abs)
			if !ok {
				rel, ok = under(a.real, abs)
			}
			if ok && !a.closedAt(rel) {
				return a, rel, nil
			}
			if ok && found == nil {
				found, at = a, rel
			}
		}
	}
	if found != nil { // the check of the place says no
		return found, at, nil
	}
	return nil, "", p.outside(arg)
}

// closedAt reports whether a path within the area is in a forbidden folder,
// by its name alone.
func (a *area) closedAt(rel string) bool {
	abs := filepath.Join(a.real, rel)
	for _, dir := range a.closed {
		if _, ok := under(dir, abs); ok {
			return true
		}
	}
	return false
}

// outside is the error for a path that leads nowhere allowed.
func (p *places) outside(arg string) error {
	return fmt.Errorf("%s is outside; allowed are %s", show(arg), p.allowed())
}

// allowed says in words where paths may lead.
func (p *places) allowed() string {
	s := "paths in the workspace " + show(p.work.given)
	if len(p.skills) > 0 {
		var list []string
		for _, a := range p.skills {
			list = append(list, show(a.given))
		}
		s += ", for reading also the skill folders " + strings.Join(list, ", ")
	}
	return s + " and, for reading, spill:NAME"
}

// show makes a name from outside fit for a message: quoted if it has anything
// odd in it, and never longer than a message should be.
func show(name string) string {
	const most = 300
	cut := ""
	if len(name) > most {
		name, cut = strings.ToValidUTF8(name[:most], ""), "…"
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '\ufffd' || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return fmt.Sprintf("%q", name) + cut
		}
	}
	if name == "" || name != strings.TrimSpace(name) {
		return fmt.Sprintf("%q", name) + cut
	}
	return name + cut
}

// locks let one call at a time work on a file.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	users int
}

// take waits for the file and returns what gives it back.
func (l *locks) take(p place) func() {
	key := filepath.Join(p.area.real, p.rel)
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[key]
	if k == nil {
		k = &lock{}
		l.held[key] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, key)
		}
	}
}
