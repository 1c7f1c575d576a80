package cli

import (
	"encoding/json"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
)

// argLine shows arguments in one line of at most width columns (100 if that is
// too few to be meant): the value that says most.
func argLine(raw json.RawMessage, width int) string {
	if width < 20 {
		width = 100
	}
	m := session.DecodeArgs(string(raw))
	if name, ok := m["workflow"].(string); ok && m["action"] == "start" {
		return firstLine("start "+name, width-1)
	}
	for _, key := range []string{"command", "path", "name", "action", "message"} {
		if v, ok := m[key].(string); ok {
			return firstLine(v, width-1)
		}
	}
	return firstLine(string(raw), width-1)
}

// oneLine joins the lines of a text and cuts it to n columns.
func oneLine(s string, n int) string { return firstLine(strings.Join(strings.Fields(s), " "), n) }

// firstLine cuts text to its first line and n columns.
func firstLine(s string, n int) string {
	s, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	if end := headCells(s, n); end < len(s) {
		return s[:end] + "…"
	}
	if more && strings.TrimSpace(rest) != "" {
		return s + " …"
	}
	return s
}
