package cli

import (
	"strings"

	"github.com/rivo/uniseg"
)

// cluster is what a terminal draws as one character: a letter with its marks, a
// picture that is joined of several. rest is what follows it; columns is how
// many of the terminal it takes. A control character counts as one: what comes
// here has none but tabs and line breaks.
func cluster(s string) (first, rest string, columns int) {
	if s != "" && s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) { // it is all that most texts have
		return s[:1], s[1:], 1
	}
	first, rest, columns, _ = uniseg.FirstGraphemeClusterInString(s, -1)
	return first, rest, columns
}

// cells is how many columns a line takes.
func cells(s string) int {
	n := 0
	for s != "" {
		var wide int
		_, s, wide = cluster(s)
		n += wide
	}
	return n
}

// headCells is where the first n columns of a line end.
func headCells(line string, n int) int {
	for rest := line; rest != ""; {
		_, after, wide := cluster(rest)
		if n -= wide; n < 0 {
			return len(line) - len(rest)
		}
		rest = after
	}
	return len(line)
}

// cutCells cuts a line to n columns; "…" tells that something is missing.
func cutCells(s string, n int) string {
	if headCells(s, n) == len(s) {
		return s
	}
	if n < 1 {
		return ""
	}
	return s[:headCells(s, n-1)] + "…"
}

// padCells fills a line with blanks to n columns.
func padCells(s string, n int) string { return s + strings.Repeat(" ", max(0, n-cells(s))) }

// wrapCells breaks a line at spaces, or beside a wide character, so that each part has n columns at most; a
// word that is longer is broken.
func wrapCells(line string, n int) []string {
	n = max(n, 2)
	var out []string
	for {
		end := headCells(line, n)
		if end == len(line) {
			return append(out, line)
		}
		at, wide := strings.LastIndexByte(line[:end+1], ' '), wideEnd(line, end)
		switch {
		case wide > max(at, 0):
			out, line = append(out, line[:wide]), line[wide:]
		case at > 0 && strings.TrimSpace(line[:at]) != "":
			out, line = append(out, line[:at]), line[at+1:]
		default:
			out, line = append(out, line[:end]), line[end:]
		}
	}
}

// span is a piece of a line in one colour.
type span struct{ code, text string }

// spanned is a line of spans that fits the width. Whatever stands in the texts, it
// is one line and can't steer a terminal.
func spanned(width int, color bool, spans ...span) string {
	var b strings.Builder
	for _, s := range spans {
		text := cutCells(single(s.text), width)
		width -= cells(text)
		if !color || s.code == "" || text == "" {
			b.WriteString(text)
		} else {
			b.WriteString("\x1b[" + s.code + "m" + text + "\x1b[0m")
		}
		if strings.HasSuffix(text, "…") && text != s.text {
			break
		}
	}
	return b.String()
}
