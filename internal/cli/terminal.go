package cli

import (
	"io"
	"os"
	"strings"
)

// widthOf returns the columns of the terminal that w is, 80 if it doesn't
// tell, and 0 if w isn't a terminal.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	return columns(f)
}

// wrap breaks the lines of prose at spaces so that each fits the width.
// Indented lines, tables and fenced code stay as they are. Width 0: no change.
func wrap(text string, width int) string {
	if width < 20 {
		return text
	}
	var out []string
	fenced := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "|") {
			out = append(out, line)
			continue
		}
		out = append(out, wrapLine(line, width)...)
	}
	return strings.Join(out, "\n")
}

func wrapLine(line string, width int) []string {
	var out []string
	for {
		end := headCells(line, width)
		if end == len(line) {
			return append(out, line)
		}
		at := strings.LastIndexByte(line[:end], ' ')
		if strings.TrimSpace(line[:max(at, 0)]) == "" {
			at = strings.IndexByte(line[end:], ' ') // one long word: keep it whole
			if at < 0 {
				return append(out, line)
			}
			at += end
		}
		out = append(out, line[:at])
		line = line[at+1:]
	}
}

// headCells is where the first n columns of a line end.
func headCells(line string, n int) int {
	for i, r := range line {
		if n -= cell(r); n < 0 {
			return i
		}
	}
	return len(line)
}
