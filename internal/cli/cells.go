package cli

import (
	"strings"
	"unicode"
)

// cell is how many columns of a terminal a character takes: 2 for wide ones of
// East Asia and pictures, 0 for marks that stand on the character before them.
func cell(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cells is how many columns a line takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cell(r)
	}
	return n
}

// cutCells cuts a line to n columns; "…" tells that something is missing.
func cutCells(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	at, wide := 0, 0
	for i, r := range s {
		if wide += cell(r); wide > n-1 {
			break
		}
		at = i + len(string(r))
	}
	if n < 1 {
		return ""
	}
	return s[:at] + "…"
}

// padCells fills a line with blanks to n columns.
func padCells(s string, n int) string { return s + strings.Repeat(" ", max(0, n-cells(s))) }

// wrapCells breaks a line at spaces so that each part has n columns at most; a
// word that is longer is broken.
func wrapCells(line string, n int) []string {
	n = max(n, 2)
	var out []string
	for cells(line) > n {
		at, blank, wide := 0, -1, 0
		for i, r := range line {
			if wide += cell(r); wide > n {
				if r == ' ' {
					blank = i
				}
				break
			}
			if at = i + len(string(r)); r == ' ' && strings.TrimSpace(line[:i]) != "" {
				blank = i
			}
		}
		if blank > 0 {
			out, line = append(out, line[:blank]), line[blank+1:]
		} else {
			out, line = append(out, line[:at]), line[at:]
		}
	}
	return append(out, line)
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
