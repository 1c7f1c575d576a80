package tool

import (
	"strings"
	"unicode/utf8"
)

// likeness says how far two texts may differ and still be alike.
type likeness int

const (
	sameLineEnds likeness = iota + 1 // but for CRLF and LF
	sameLooks                        // and blanks at line ends, and characters that look alike
)

// view is a simpler form of a text.
type view struct {
	text   string
	starts []int32 // of each byte of text: where its character starts in the original
	size   int     // of the original
	cutEnd bool    // blanks at the very end were dropped
}

// view returns the content's simpler form.
func (v *views) view(like likeness) *view {
	if v.made == nil {
		v.made = map[likeness]*view{}
	}
	if v.made[like] == nil {
		v.made[like] = simplify(v.content, like, func() bool { return v.effort.spend(0) })
	}
	return v.made[like]
}

// at returns the place in the original of the byte i of the simpler form.
func (w *view) at(i int) int {
	if i < len(w.starts) {
		return int(w.starts[i])
	}
	return w.size
}

// after returns the place behind the original of the byte i.
func (w *view) after(original string, i int) int {
	start := w.at(i)
	if strings.HasPrefix(original[start:], "\r\n") {
		return start + 2
	}
	_, n := utf8.DecodeRuneInString(original[start:])
	return start + n
}

// simplify makes the simpler form of a text. It stops in the middle when goOn
// says no; then nobody wants the rest.
func simplify(s string, like likeness, goOn func() bool) *view {
	w := &view{size: len(s), starts: make([]int32, 0, len(s))}
	out := make([]byte, 0, len(s))
	keep := 0 // length of out without the blanks at its end
	put := func(c string, at int) {
		out = append(out, c...)
		for range len(c) {
			w.starts = append(w.starts, int32(at))
		}
	}
	for i, steps := 0, 1; i < len(s); steps++ {
		if steps%(1<<16) == 0 && !goOn() {
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		c := s[i : i+n]
		if like == sameLooks && r != utf8.RuneError {
			c = plain(r, c)
		}
		switch {
		case strings.HasPrefix(s[i:], "\r\n"):
			n, c = 2, "\n"
			fallthrough
		case c == "\n":
			if like == sameLooks {
				out, w.starts = out[:keep], w.starts[:keep]
			}
			put(c, i)
			keep = len(out)
		default:
			put(c, i)
			if c != " " && c != "\t" && c != "" {
				keep = len(out)
			}
		}
		i += n
	}
	if like == sameLooks {
		w.cutEnd = keep < len(out)
		out, w.starts = out[:keep], w.starts[:keep]
	}
	w.text = string(out)
	return w
}

// plain returns the ASCII character that looks like r, "" for one that can't
// be seen, or c.
func plain(r rune, c string) string {
	switch r {
	case '‘', '’', '‚', '‛', '′':
		return "'"
	case '“', '”', '„', '‟', '″':
		return `"`
	case '‐', '‑', '‒', '–', '—', '―', '−', '－':
		return "-"
	case '\u00a0', '\u202f', '\u205f', '\u3000':
		return " "
	case '\u200b', '\u2060', '\ufeff':
		return ""
	}
	if r >= '\u2000' && r <= '\u200a' {
		return " "
	}
	return c
}

// differences names what differs between oldText and the text it was matched
// with.
func differences(old, found string) []string {
	var out []string
	if strings.Contains(old, "\r\n") != strings.Contains(found, "\r\n") || strings.Count(old, "\r\n") != strings.Count(found, "\r\n") {
		out = append(out, "line ends (CRLF, LF)")
	}
	looksOld, looksFound := looks(unixEnds(old)), looks(unixEnds(found))
	if looksOld != unixEnds(old) || looksFound != unixEnds(found) {
		out = append(out, "quotes, dashes or special blanks")
	}
	if looksOld != looksFound {
		out = append(out, "blanks at line ends")
	}
	return out
}

// looks replaces characters by those that look alike.
func looks(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteString(plain(r, s[i:i+n]))
		}
		i += n
	}
	return b.String()
}
