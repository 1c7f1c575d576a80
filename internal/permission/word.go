package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command after the quotes are gone.
type word struct {
	// text is the whole word, or what comes before its first expansion:
	// parameter, command, arithmetic, glob, brace, tilde.
	text  string
	whole bool
	// single: it is one word whatever its expansions give.
	single bool
	// full is the word with the known variables put in and a NUL for each
	// other expansion; it is only searched for closed folders.
	full string
}

func literal(text string) word { return word{text: text, whole: true, single: true, full: text} }

// mayBeOption reports whether the word can become one that begins with "-".
func (w word) mayBeOption() bool {
	return !w.whole && (w.text == "" || strings.HasPrefix(w.text, "-"))
}

// option reports whether the word is one that begins with "-".
func (w word) option() bool { return strings.HasPrefix(w.text, "-") }

// cut returns what is known of the word if it is cut at text, which a wrapper
// replaces when it runs.
func (w word) cut(text string) word {
	if before, _, found := strings.Cut(w.text, text); found && text != "" {
		w.text, w.whole, w.single = before, false, false
	}
	return w
}

// harmless reports whether an assignment in front of a command changes only
// how it prints.
func (w word) harmless() bool {
	name, value, ok := strings.Cut(w.text, "=")
	if !ok || !w.whole || strings.Contains(value, "..") || strings.HasPrefix(value, "/") ||
		strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@+-/") != "" {
		return false
	}
	switch name {
	case "LANG", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "CI":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// spelling builds a word.
type spelling struct {
	at     place
	text   strings.Builder
	full   strings.Builder
	whole  bool
	single bool
	braces bool // the word has a brace expansion
}

// wordOf resolves a word of the tree. A missing word is the empty text.
func (at place) wordOf(w *syntax.Word) word {
	s := spelling{at: at, whole: true, single: true}
	if w != nil && w.Lit() == "[" {
		return literal("[") // no glob without its other end
	}
	if w != nil {
		s.braces = hasBraces(w)
		for i, part := range w.Parts {
			s.part(part, i == 0)
		}
	}
	return word{text: s.text.String(), whole: s.whole, single: s.single, full: s.full.String()}
}

// hasBraces reports whether the unquoted text of a word may be a brace
// expansion.
func hasBraces(w *syntax.Word) bool {
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		}
	}
	_, rest, found := strings.Cut(b.String(), "{")
	return found && (strings.Contains(rest, ",") || strings.Contains(rest, ".."))
}

func (s *spelling) add(text string) {
	if s.whole {
		s.text.WriteString(text)
	}
	s.full.WriteString(text)
}

// expansion ends what is known of the word.
func (s *spelling) expansion(known string) {
	s.whole = false
	s.full.WriteString(known)
}

const unknown = "\x00"

func (s *spelling) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		s.plain(p.Value, first)
	case *syntax.SglQuoted:
		text, ok := p.Value, true
		if p.Dollar {
			text, ok = decodeANSI(p.Value)
		}
		if ok {
			s.add(text)
		} else {
			s.expansion(unknown)
		}
	case *syntax.DblQuoted:
		s.double(p)
	case *syntax.ParamExp:
		s.expansion(s.at.value(p))
		s.single = false
	default:
		s.expansion(unknown)
		s.single = false
	}
}

// double takes text in double quotes.
func (s *spelling) double(q *syntax.DblQuoted) {
	for _, part := range q.Parts {
		single := s.single
		switch p := part.(type) {
		case *syntax.Lit:
			s.add(unescapeDouble(p.Value))
		case *syntax.ParamExp:
			s.part(part, false)
			s.single = single && p.Index == nil && p.Param != nil && p.Param.Value != "@"
		default:
			s.part(part, false)
			s.single = single
		}
	}
}

// plain takes text without quotes.
func (s *spelling) plain(v string, first bool) {
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case c == '\\' && i+1 < len(v):
			i++
			s.add(v[i : i+1])
		case c == '~' && (first && i == 0 || i > 0 && (v[i-1] == '=' || v[i-1] == ':')):
			s.tilde(v[i+1:])
		case strings.IndexByte("*?[", c) >= 0, c == '{' && s.braces:
			s.expansion(unknown)
			s.single = false
		default:
			s.add(v[i : i+1])
		}
	}
}

// tilde takes a home folder. Its name begins with a slash, so the word can't
// become an option.
func (s *spelling) tilde(rest string) {
	if s.whole {
		s.text.WriteString("~")
	}
	if (rest == "" || rest[0] == '/') && s.at.home != "" {
		s.expansion(s.at.home)
	} else {
		s.expansion(unknown)
	}
}

// value is what a variable is known to hold.
func (at place) value(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil {
		return unknown
	}
	v := ""
	switch p.Param.Value {
	case "HOME":
		v = at.home
	case "PWD":
		v = at.workspace
	case "GAMMA_HOME":
		if len(at.closed) > 0 {
			v = at.closed[0]
		}
	}
	if v == "" {
		return unknown
	}
	return v
}

// unescapeDouble removes the backslashes that count within double quotes.
func unescapeDouble(v string) string {
	if !strings.Contains(v, "\\") {
		return v
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(v)
}

// decodeANSI reads the text of $'…'. It takes only escapes that give ASCII
// characters everywhere.
func decodeANSI(v string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(v); {
		if v[i] != '\\' {
			b.WriteByte(v[i])
			i++
			continue
		}
		c, n := escape(v[i+1:])
		if n == 0 || c == 0 || c >= 0x80 {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 1 + n
	}
	return b.String(), true
}

// escape decodes what follows a backslash: the character and the length, 0 if
// it isn't a known escape.
func escape(s string) (c, n int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte("abeEfnrtv\\'\"?", s[0]); i >= 0 {
		return int("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i]), 1
	}
	switch s[0] {
	case 'x':
		return digits(s, 1, 2, 16)
	case 'u':
		return digits(s, 1, 4, 16)
	case 'U':
		return digits(s, 1, 8, 16)
	}
	return digits(s, 0, 3, 8)
}

// digits reads up to most digits of a base from s[from:].
func digits(s string, from, most, base int) (c, n int) {
	for n = from; n < len(s) && n < from+most; n++ {
		d := strings.IndexByte("0123456789abcdefABCDEF", s[n])
		if d > 15 {
			d -= 6
		}
		if d < 0 || d >= base {
			break
		}
		c = c*base + d
	}
	if n == from {
		return 0, 0
	}
	return c, n
}
