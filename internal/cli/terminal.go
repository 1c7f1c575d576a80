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

// wrapLine breaks a line of prose. A word that is longer than the line stays
// whole, since it is to be copied, such as an address; between the characters of a
// script that has no spaces, which are wide, a line may be broken anywhere.
func wrapLine(line string, width int) []string {
	var out []string
	for {
		end := headCells(line, width)
		if end == len(line) {
			return append(out, line)
		}
		at := strings.LastIndexByte(line[:end+1], ' ')
		blank := at > 0 && strings.TrimSpace(line[:at]) != ""
		if wide := wideEnd(line, end); end > 0 && wide > max(at, 0) {
			out, line = append(out, line[:wide]), strings.TrimPrefix(line[wide:], " ")
			continue
		}
		if !blank {
			at = strings.IndexByte(line[end:], ' ')
			if at < 0 {
				return append(out, line)
			}
			at += end
		}
		out = append(out, line[:at])
		line = line[at+1:]
	}
}

// wideEnd is the last place up to end where a line may be broken beside a wide
// character; 0: there is none.
func wideEnd(line string, end int) int {
	at, before := 0, false
	for rest := line; rest != ""; {
		_, after, columns := cluster(rest)
		if here := len(line) - len(rest); here > end {
			break
		} else if before || columns > 1 {
			at = here
		}
		before, rest = columns > 1, after
	}
	return at
}
