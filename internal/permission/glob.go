package permission

import "strings"

// glob is a text in which * stands for any characters, none included.
type glob struct {
	pieces []string // the texts between the stars
	fold   bool     // upper and lower case are the same
}

func newGlob(text string, fold bool) *glob {
	return (&glob{pieces: strings.Split(text, "*")}).folded(fold)
}

// folded returns g, or what it is where upper and lower case are the same.
func (g *glob) folded(fold bool) *glob {
	if !fold {
		return g
	}
	out := &glob{fold: true}
	for _, p := range g.pieces {
		out.pieces = append(out.pieces, strings.ToLower(p))
	}
	return out
}

func (g *glob) exact() bool { return len(g.pieces) == 1 }

// head is the text before the first star.
func (g *glob) head() string { return g.pieces[0] }

func (g *glob) match(s string) bool {
	if g.fold {
		s = strings.ToLower(s)
	}
	last := len(g.pieces) - 1
	if last == 0 {
		return s == g.pieces[0]
	}
	s, ok := strings.CutPrefix(s, g.pieces[0])
	for _, p := range g.pieces[1:last] {
		if !ok {
			return false
		}
		_, s, ok = strings.Cut(s, p)
	}
	return ok && strings.HasSuffix(s, g.pieces[last])
}

// mayMatch reports whether a text that begins with s could match.
func (g *glob) mayMatch(s string) bool {
	if g.fold {
		s = strings.ToLower(s)
	}
	if g.exact() {
		return strings.HasPrefix(g.head(), s)
	}
	return strings.HasPrefix(s, g.head()) || strings.HasPrefix(g.head(), s)
}
