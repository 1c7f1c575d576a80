package cli

import (
	"encoding/json"
	"strings"
)

// readDiff reads the unified diff in the details of an edit or a write.
func readDiff(details json.RawMessage) []diffLine {
	var d struct {
		Diff string `json:"diff"`
	}
	if json.Unmarshal(details, &d) != nil || d.Diff == "" {
		return nil
	}
	var out []diffLine
	for i, l := range strings.Split(strings.TrimSuffix(d.Diff, "\n"), "\n") {
		kind := "same"
		switch {
		case i < 2 && (strings.HasPrefix(l, "+++ ") || strings.HasPrefix(l, "--- ")), strings.HasPrefix(l, "@@"):
			kind = "place"
		case strings.HasPrefix(l, "+"):
			kind = "new"
		case strings.HasPrefix(l, "-"):
			kind = "old"
		}
		out = append(out, diffLine{kind, l})
	}
	return out
}

// diff is readDiff for the page.
func (b *pageBuilder) diff(details json.RawMessage) []diffLine {
	out := readDiff(details)
	for i := range out {
		out[i].Text = b.clean(out[i].Text)
	}
	return out
}
