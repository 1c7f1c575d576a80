package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// printTable prints rows with aligned columns. On a terminal each row is one
// line: the columns that may shrink are cut, the last of them first.
func printTable(w io.Writer, rows [][]string, shrink ...int) error {
	if len(rows) == 0 {
		return nil
	}
	const gap, least = 2, 6
	wide := make([]int, len(rows[0]))
	for _, r := range rows {
		for n := range r {
			r[n] = single(r[n])
			wide[n] = max(wide[n], cells(r[n]))
		}
	}
	if width := widthOf(w); width > 0 {
		over := gap * (len(wide) - 1)
		for _, n := range wide {
			over += n
		}
		over -= width
		for _, n := range slices.Backward(shrink) {
			cut := min(max(over, 0), max(wide[n]-least, 0))
			wide[n], over = wide[n]-cut, over-cut
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for n, text := range r {
			if slices.Contains(shrink, n) {
				text = cutCells(text, wide[n])
			}
			line.WriteString(padCells(text, wide[n]) + strings.Repeat(" ", gap))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
