package cli

import (
	"fmt"
	"io"
	"strings"
)

// column says how a column of a table gives way on a narrow terminal.
type column struct {
	right bool // its values stand at the right
	least int  // it may be cut to so many columns of the terminal; 0: it is never cut
	tail  bool // it is cut at its beginning, as a path
	drop  int  // it may be left out; those with the lowest number go first, and are cut first; 0: it stays
}

// printTable prints rows with aligned columns. On a terminal each row is one
// line: columns are left out as their numbers say until those that may be cut
// fit. Ids are neither, since people copy them.
func printTable(w io.Writer, columns []column, rows [][]string) error {
	wide := make([]int, len(columns))
	for _, r := range rows {
		for n := range r {
			r[n] = single(r[n])
			wide[n] = max(wide[n], cells(r[n]))
		}
	}
	if width := widthOf(w); width > 0 {
		squeeze(columns, wide, width)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintln(w, tableRow(columns, wide, r)); err != nil {
			return err
		}
	}
	return nil
}

// gap is what stands between two columns.
const gap = 2

// squeeze makes the columns fit a width. A column that is left out has -1.
func squeeze(columns []column, wide []int, width int) {
	over := func(smallest bool) int {
		sum := -gap
		for n, c := range columns {
			switch {
			case wide[n] < 0:
			case smallest && c.least > 0:
				sum += min(wide[n], c.least) + gap
			default:
				sum += wide[n] + gap
			}
		}
		return sum - width
	}
	for drop := 1; drop <= len(columns) && over(true) > 0; drop++ {
		for n, c := range columns {
			if c.drop == drop {
				wide[n] = -1
			}
		}
	}
	for drop := 1; drop <= len(columns)+1; drop++ { // in the same order; what is never left out comes last
		for n, c := range columns {
			if last := c.drop == 0 && drop > len(columns); (c.drop == drop || last) && c.least > 0 && wide[n] > c.least {
				wide[n] = max(c.least, wide[n]-max(over(false), 0))
			}
		}
	}
}

func tableRow(columns []column, wide []int, r []string) string {
	var line strings.Builder
	for n, text := range r {
		switch {
		case wide[n] < 0:
			continue
		case columns[n].tail:
			text = homely(text, "", wide[n])
		case columns[n].least > 0:
			text = cutCells(text, wide[n])
		}
		blanks := strings.Repeat(" ", max(0, wide[n]-cells(text)))
		if columns[n].right {
			text = blanks + text
		} else {
			text += blanks
		}
		line.WriteString(text + strings.Repeat(" ", gap))
	}
	return strings.TrimRight(line.String(), " ")
}
