package provider

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// wide is the content of a JSON string whose characters may have been cut:
// half a surrogate pair is kept as the three bytes that UTF-8 would give its
// number, and bytes that aren't UTF-8 are kept too. A joiner makes text of it.
// Values that aren't strings read as "".
type wide string

// UnmarshalJSON takes any JSON value.
func (t *wide) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) > 0 && b[0] == '"' {
		*t = unquote(b)
	}
	return nil
}

// text returns the content with broken characters as U+FFFD.
func (t wide) text() string {
	if utf8.ValidString(string(t)) {
		return string(t)
	}
	var j joiner
	return j.add(t) + j.flush()
}

// unquote returns the content of a JSON string whose syntax was checked.
func unquote(b []byte) wide {
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return wide(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		switch c = b[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			u, _ := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
			out = appendUnit(out, rune(u))
			i += 4
		default:
			out = append(out, c)
		}
	}
	return wide(out)
}

// appendUnit appends a UTF-16 unit: the halves of a pair as three bytes each.
func appendUnit(b []byte, u rune) []byte {
	if isHigh(u) || isLow(u) {
		return append(b, 0xE0|byte(u>>12), 0x80|byte(u>>6)&0x3F, 0x80|byte(u)&0x3F)
	}
	return utf8.AppendRune(b, u)
}

func isHigh(u rune) bool { return u >= 0xD800 && u < 0xDC00 }
func isLow(u rune) bool  { return u >= 0xDC00 && u < 0xE000 }

// unit reads the half of a pair that b begins with, or returns 0.
func unit(b string) rune {
	if len(b) < 3 || b[0] != 0xED || b[1]&0xE0 != 0xA0 || b[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F)
}

// joiner makes UTF-8 text of fragments. What may be the first part of a
// character is held back until the next fragment or flush.
type joiner struct {
	all  strings.Builder
	held string
}

// add takes a fragment and returns the text that it completes.
func (j *joiner) add(fragment wide) string {
	s := j.held + string(fragment)
	j.held = ""
	if !utf8.ValidString(s) {
		n := held(s)
		j.held = strings.Clone(s[len(s)-n:])
		s = mend(s[:len(s)-n])
	}
	j.all.WriteString(s)
	return s
}

// flush ends the text and returns what had been held back, marked as broken.
func (j *joiner) flush() string {
	s := mend(j.held)
	j.held = ""
	j.all.WriteString(s)
	return s
}

// text returns all text so far.
func (j *joiner) text() string { return j.all.String() }

// held returns how many bytes at the end of s may begin a character: the
// first bytes of a rune, or a high half and perhaps the first bytes of its
// other half.
func held(s string) int {
	n := 0
	for k := 1; k <= min(3, len(s)); k++ {
		if isPart(s[len(s)-k:]) {
			n = k
			break
		}
	}
	i := len(s) - n - 3
	if i >= 0 && isHigh(unit(s[i:])) && (n == 0 || s[i+3] == 0xED) {
		n += 3
	}
	return n
}

// isPart reports whether b is the beginning, and no more, of a rune or of half
// a pair.
func isPart(b string) bool {
	if !utf8.RuneStart(b[0]) {
		return false
	}
	half := len(b) == 2 && b[0] == 0xED && b[1]&0xC0 == 0x80
	return half || !utf8.FullRuneInString(b)
}

// mend joins the halves of pairs and replaces every other broken byte or half
// by U+FFFD.
func mend(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		if u := unit(s); u != 0 {
			s = s[3:]
			low := unit(s)
			if isHigh(u) && isLow(low) {
				b.WriteRune((u-0xD800)<<10 + (low - 0xDC00) + 0x10000)
				s = s[3:]
			} else {
				b.WriteRune(utf8.RuneError)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// argText is the argument text of a call. Servers should send a JSON string;
// some send the object itself, whose text is taken as it is.
type argText struct {
	wide
	whole bool // it wasn't a string
}

// UnmarshalJSON takes any JSON value; null reads as "".
func (t *argText) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		*t = argText{wide: unquote(b)}
	case string(b) == "null":
		*t = argText{}
	default:
		*t = argText{wide: wide(b), whole: true}
	}
	return nil
}

// count is a number of tokens. What isn't a number, or is negative, reads as 0.
type count int

// UnmarshalJSON takes any JSON value.
func (c *count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || f < 0 || f > 1e12 {
		f = 0
	}
	*c = count(f)
	return nil
}

// place is an index that servers leave out, send as null or as a string.
type place struct {
	n   int
	set bool
}

// UnmarshalJSON takes any JSON value; what isn't a number reads as missing.
func (p *place) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(b), `"`))
	*p = place{n, err == nil}
	return nil
}

// span is where a value stands in the event that is read: an item may be large,
// and isn't copied to be read.
type span struct{ from, to int64 }

// UnmarshalJSONFrom passes over the value.
func (s *span) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s.from = d.InputOffset()
	if err := d.SkipValue(); err != nil {
		return err
	}
	s.to = d.InputOffset()
	return nil
}

// of returns the value, which shares the event's bytes; in front of it stand
// its colon and white space.
func (s span) of(event []byte) jsontext.Value {
	return bytes.TrimLeft(event[s.from:s.to], ": \t\r\n")
}

// isNull reports whether a value is missing or null.
func isNull(v jsontext.Value) bool { return len(v) == 0 || string(v) == "null" }

// isNone reports whether an error field says that there is no error.
func isNone(v jsontext.Value) bool {
	return isNull(v) || string(v) == `""` || string(v) == "{}" || string(v) == "false"
}

// some reports whether anything was added.
func (j *joiner) some() bool { return j.all.Len() > 0 || j.held != "" }
