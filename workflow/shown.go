package workflow

import (
	"strconv"
	"strings"
)

// shownLength is how much of a name that is none is shown, in bytes.
const shownLength = 100

// shown is an author's name or path in a message: as it is if it is made of
// ids, else quoted, so that it can neither be overlooked nor pass for other
// words.
func shown(s string) string {
	plain := s != "" && len(s) <= 2*shownLength
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '.' || r == '$' }) {
		plain = plain && isID(part)
	}
	switch {
	case plain:
		return s
	case len(s) > shownLength:
		return strconv.Quote(strings.ToValidUTF8(s[:shownLength], "")) + "…"
	}
	return strconv.Quote(s)
}

func shownAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = shown(s)
	}
	return strings.Join(out, ", ")
}
