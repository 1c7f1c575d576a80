package cli

import (
	"strings"
	"testing"
)

func TestC12_TablesFitTheTerminal(t *testing.T) {
	const id = "01a22e86-fc1e-7f24-aa20-267e4bc9cae9"
	rows := [][]string{
		{id, "11-30 22:01", "human-decision", "waiting (decision)", "~/work", "write the tests, then the code", "7"},
		{id, "11-30 22:01", "作作作作作作作作", "completed", "…/a/long/folder/of/work", "", "12"},
	}
	for width := 36; width <= 160; width++ {
		wide := make([]int, len(runColumns())+1)
		columns := append(runColumns(), column{right: true, drop: 1})
		for _, r := range rows {
			for n := range r {
				wide[n] = max(wide[n], cells(r[n]))
			}
		}
		squeeze(columns, wide, width)
		for _, r := range rows {
			line := tableRow(columns, wide, r)
			if cells(line) > width || !strings.HasPrefix(line, id) {
				t.Errorf("%d columns: %q has %d", width, line, cells(line))
			}
			if width == 160 && (!strings.Contains(line, r[5]) || !strings.HasSuffix(line, r[6]) || cells(line) != cells(tableRow(columns, wide, rows[0]))) {
				t.Errorf("with room: %q", line)
			}
		}
	}
}
