package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// wordPattern is the pattern of a bash rule.
type wordPattern struct {
	env  []*glob // assignments in front of the command
	argv []*glob
	// rest: the last word ends in a star, so that it also stands for all
	// further words. If it is nothing but the star, it may stand for none.
	rest bool
}

// parseWords reads a pattern: words between blanks, quoted as in a shell, a
// star without quotes standing for any characters.
func parseWords(text string, allow bool) (*wordPattern, error) {
	words, err := splitPattern(text)
	if err != nil {
		return nil, err
	}
	p := &wordPattern{}
	for i, w := range words {
		if len(p.argv) == 0 && w.assigns {
			p.env = append(p.env, w.glob)
			continue
		}
		p.argv = append(p.argv, w.glob)
		if last := i == len(words)-1; last && w.pieces[len(w.pieces)-1] == "" && !w.exact() {
			p.rest = true
		}
	}
	if allow && len(p.argv) > 0 && !p.argv[0].exact() {
		return nil, errors.New("an allowing pattern begins with the command's whole name; a star may follow behind it, like \"make *\"")
	}
	return p, nil
}

type patternWord struct {
	*glob
	assigns bool // NAME= before any quote or star
}

// splitPattern cuts a pattern into words and removes the quotes.
func splitPattern(text string) ([]patternWord, error) {
	var words []patternWord
	for rest := strings.TrimLeft(text, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		w := patternWord{glob: &glob{pieces: []string{""}}, assigns: assignment(rest)}
		n, err := w.scan(rest)
		if err != nil {
			return nil, err
		}
		words, rest = append(words, w), rest[n:]
	}
	return words, nil
}

// scan takes one word from the front of s and returns its length.
func (w *patternWord) scan(s string) (int, error) {
	star := false // the last character was one; ** means the same as *
	add := func(text string) { w.pieces[len(w.pieces)-1] += text; star = false }
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t':
			return i, nil
		case '*':
			if !star {
				w.pieces = append(w.pieces, "")
			}
			star = true
		case '\'', '"':
			text, n, ok := unquote(s[i:])
			if !ok {
				return 0, fmt.Errorf("the quote %c isn't closed in %q", c, s)
			}
			add(text)
			i += n - 1
		case '\\':
			if i++; i == len(s) {
				return 0, errors.New("the pattern ends in a backslash")
			}
			add(s[i : i+1])
		case ';', '&', '|', '<', '>', '(', ')', '$', '`', '\n':
			return 0, fmt.Errorf("%q in the pattern: a pattern is one simple command, each command of a line is judged alone; put the character in quotes if it is meant as such", c)
		default:
			add(s[i : i+1])
		}
	}
	return len(s), nil
}

// unquote reads the quoted text that s begins with: the text, the length with
// its quotes, and whether it is closed.
func unquote(s string) (string, int, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), i + 1, true
		case s[i] == '\\' && s[0] == '"' && i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
		}
		b.WriteByte(s[i])
	}
	return "", 0, false
}

// assignment reports whether s begins with NAME=.
func assignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && identifier(name)
}

func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// spelled is how many of the first words the pattern spells out.
func (p *wordPattern) spelled() int {
	for i, g := range p.argv {
		if !g.exact() {
			return i
		}
	}
	return len(p.argv)
}

// covers reports whether an allowing pattern matches a command: its words, and
// every assignment in front that isn't harmless. The first need words must be
// spelled out.
func (p *wordPattern) covers(c *command, need int) bool {
	if len(c.argv) > 0 && p.spelled() < need || c.exact && p.rest {
		return false
	}
	return p.coversEnv(c.env) && p.coversArgv(c.argv)
}

// open reports whether word k is the last one and nothing but a star.
func (p *wordPattern) open(k int) bool {
	return p.rest && k == len(p.argv)-1 && len(p.argv[k].pieces) == 2 && p.argv[k].head() == ""
}

func (p *wordPattern) coversEnv(env []word) bool {
	for _, g := range p.env {
		if !slices.ContainsFunc(env, func(w word) bool { return w.whole && g.match(w.text) }) {
			return false
		}
	}
	for _, w := range env {
		named := slices.ContainsFunc(p.env, func(g *glob) bool { return w.whole && g.match(w.text) })
		if !named && !w.harmless() {
			return false
		}
	}
	return true
}

func (p *wordPattern) coversArgv(argv []word) bool {
	n := len(p.argv)
	if p.rest {
		n--
	}
	if len(argv) < n || !p.rest && len(argv) > n {
		return false
	}
	for i, g := range p.argv[:n] {
		if !argv[i].whole || !g.match(argv[i].text) {
			return false
		}
	}
	if !p.rest || p.open(n) {
		return true
	}
	// The last star covers whatever the word's unknown end may become.
	return len(argv) > n && p.argv[n].match(argv[n].text)
}

// certainty is how sure it is that a rule matches.
type certainty int

const (
	no certainty = iota
	maybe
	sure
)

// catches holds a denying or asking pattern against a command. It looks
// harder than covers does: the name is compared without its folder, and
// options that stand between the pattern's words are passed over.
func (p *wordPattern) catches(c *command, fold bool) certainty {
	for _, g := range p.env {
		if !slices.ContainsFunc(c.env, func(w word) bool { return w.whole && g.match(w.text) || !w.whole && g.mayMatch(w.text) }) {
			return no
		}
	}
	if len(p.argv) == 0 { // a pattern of assignments: whatever they stand in front of
		return sure
	}
	if len(c.argv) == 0 {
		return no
	}
	s := search{p: p, argv: c.argv, fold: fold, been: map[[2]int]certainty{}}
	return s.at(0, 0)
}

// search finds the best way to lay a pattern's words over a command's.
type search struct {
	p    *wordPattern
	argv []word
	fold bool
	been map[[2]int]certainty
}

// at matches the pattern from word k on with the command from word i on.
func (s *search) at(k, i int) certainty {
	key := [2]int{k, i}
	if c, ok := s.been[key]; ok {
		return c
	}
	s.been[key] = no // for the time being
	c := s.find(k, i)
	s.been[key] = c
	return c
}

func (s *search) find(k, i int) certainty {
	switch {
	case k == len(s.p.argv) && i == len(s.argv), s.p.open(k):
		return sure
	case i == len(s.argv):
		return no
	case !s.argv[i].whole:
		// It may become nothing, or several words.
		if w := s.argv[i]; w.mayBeOption() || s.word(k, w.text, (*glob).mayMatch) {
			return maybe
		}
		return no
	case k == len(s.p.argv):
		return no
	}
	best := s.skip(k, i)
	if s.word(k, s.argv[i].text, (*glob).match) {
		if s.p.rest && k == len(s.p.argv)-1 {
			return sure
		}
		best = max(best, s.at(k+1, i+1))
	}
	return best
}

// skip passes over an option, alone and with a value behind it.
func (s *search) skip(k, i int) certainty {
	if k == 0 || !strings.HasPrefix(s.argv[i].text, "-") {
		return no
	}
	best := s.at(k, i+1)
	if i+1 < len(s.argv) {
		best = max(best, s.at(k, i+2))
	}
	return best
}

// word compares a word of the pattern; the command's name also without its
// folder, on both sides.
func (s *search) word(k int, text string, ok func(*glob, string) bool) bool {
	if k == len(s.p.argv) {
		return false
	}
	if k > 0 {
		return ok(s.p.argv[k], text)
	}
	g := s.p.argv[0].folded(s.fold)
	return ok(g, text) || ok(g, path.Base(text)) || g.exact() && ok(newGlob(path.Base(g.head()), s.fold), path.Base(text))
}
