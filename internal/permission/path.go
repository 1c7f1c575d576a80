package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// place is where paths are read from.
type place struct {
	workspace string              // clean absolute path; "" where it isn't known
	home      string              // the user's home; "" where it isn't known
	closed    []string            // folders that no tool may reach, with symlinks followed too
	open      []string            // folders within them that may be read
	real      func(string) string // follows symlinks; may be nil
	fold      bool                // upper and lower case are the same in names
	// realWorkspace is the workspace with symlinks followed, "" if it isn't known
	realWorkspace string
}

// within returns the path of abs in dir, "." for dir itself.
func (at place) within(dir, abs string) (string, bool) {
	a, d := abs, dir
	if at.fold {
		a, d = strings.ToLower(a), strings.ToLower(d)
	}
	switch {
	case dir == "":
		return "", false
	case a == d:
		return ".", true
	case d == "/" && strings.HasPrefix(a, "/"):
		return abs[1:], true
	case strings.HasPrefix(a, d+"/"):
		return abs[len(dir)+1:], true
	}
	return "", false
}

// rel cleans a path. Within the workspace it becomes relative to it, else
// absolute; without a known workspace a relative path may begin with "..".
func (at place) rel(p string) string {
	abs := path.Clean(p)
	if !path.IsAbs(abs) {
		if at.workspace == "" {
			return abs
		}
		abs = path.Join(at.workspace, abs)
	}
	if r, ok := at.within(at.workspace, abs); ok {
		return r
	}
	return abs
}

// names are the names of a file that rules look at: as given, and with its
// symlinks followed, with and without taking out "x/.." first: a kernel goes
// to the parent of where x leads. They aren't all known if it can't be told
// where the symlinks lead.
func (at place) names(p string) (out []string, known bool) {
	out = []string{at.rel(p)}
	if at.real == nil || !path.IsAbs(p) && at.workspace == "" {
		return out, true
	}
	abs := p
	if !path.IsAbs(p) {
		abs = at.workspace + "/" + p
	}
	known = true
	for _, name := range []string{abs, path.Clean(abs)} {
		real := at.real(name)
		if real == "" {
			known = false
		} else if rel := at.relReal(real); !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out, known
}

// relReal is rel for a path whose symlinks were followed; those of the
// workspace's own path were, too.
func (at place) relReal(abs string) string {
	if r, ok := at.within(at.realWorkspace, abs); ok {
		return r
	}
	return at.rel(abs)
}

// outside reports whether a cleaned path isn't in the workspace by its name.
func outside(rel string) bool { return path.IsAbs(rel) || rel == ".." || strings.HasPrefix(rel, "../") }

// shut returns the closed folder that a path leads into. With reading set,
// the open folders within it are no part of it.
func (at place) shut(rel string, reading bool) (string, bool) {
	abs := rel
	if !path.IsAbs(abs) {
		abs = path.Join(at.workspace, abs)
	}
	for _, dir := range at.closed {
		if _, in := at.within(dir, abs); in && !(reading && at.opened(abs)) {
			return dir, true
		}
	}
	return "", false
}

func (at place) opened(abs string) bool {
	for _, dir := range at.open {
		if _, in := at.within(dir, abs); in {
			return true
		}
	}
	return false
}

// pathPattern is the pattern of a rule about files.
type pathPattern struct {
	elements []*glob // nil: **, any number of elements
	outside  bool    // an absolute path, not in the workspace
}

func parsePath(text string, at place) (*pathPattern, error) {
	if text == "~" || strings.HasPrefix(text, "~/") {
		return nil, errors.New("~ isn't expanded; write the path in full, or relative to the workspace")
	}
	if strings.HasSuffix(text, "/") {
		text += "**"
	}
	clean := at.rel(text)
	for e := range strings.SplitSeq(text, "/") {
		if e == ".." {
			return nil, fmt.Errorf("the path %q has a ..; write it relative to the workspace, or absolute", text)
		}
	}
	p := &pathPattern{outside: path.IsAbs(clean)}
	for e := range strings.SplitSeq(strings.TrimPrefix(clean, "/"), "/") {
		switch {
		case e == "**":
			p.elements = append(p.elements, nil)
		case strings.Contains(e, "**"):
			return nil, fmt.Errorf("%q: ** stands for whole folders, so it must stand alone between slashes", text)
		default:
			p.elements = append(p.elements, newGlob(e, at.fold))
		}
	}
	return p, nil
}

// followed is the pattern with the symlinks of its beginning followed, nil if
// that is the same. A rule about a link is about what the link leads to.
func (p *pathPattern) followed(at place) *pathPattern {
	n := 0
	var head []string
	for ; n < len(p.elements) && p.elements[n] != nil && p.elements[n].exact(); n++ {
		head = append(head, p.elements[n].head())
	}
	if n == 0 || at.real == nil || !p.outside && at.workspace == "" {
		return nil
	}
	abs := "/" + strings.Join(head, "/")
	if !p.outside {
		abs = path.Join(at.workspace, abs)
	}
	real := at.real(abs)
	if real == "" || at.relReal(real) == at.rel(abs) {
		return nil
	}
	rel := at.relReal(real)
	q := &pathPattern{outside: path.IsAbs(rel)}
	for e := range strings.SplitSeq(strings.TrimPrefix(rel, "/"), "/") {
		q.elements = append(q.elements, (&glob{pieces: []string{e}}).folded(at.fold))
	}
	q.elements = append(q.elements, p.elements[n:]...)
	return q
}

// match holds a path from place.rel against the pattern. "dir/**" is also
// about dir itself.
func (p *pathPattern) match(rel string) bool {
	if p.outside != path.IsAbs(rel) {
		return false
	}
	var elements []string
	if rel != "." && rel != "/" {
		elements = strings.Split(strings.TrimPrefix(rel, "/"), "/")
	}
	// at holds for each length of the path whether the pattern so far matches
	// its beginning.
	at := make([]bool, len(elements)+1)
	at[0] = true
	for _, g := range p.elements {
		next := make([]bool, len(at))
		for i := range at {
			switch {
			case g == nil:
				next[i] = at[i] || i > 0 && next[i-1]
			case i > 0:
				next[i] = at[i-1] && g.match(elements[i-1])
			case g.exact() && g.head() == ".":
				next[i] = at[i]
			}
		}
		at = next
	}
	return at[len(elements)]
}
