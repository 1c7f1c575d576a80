package disk

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// records returns the session records among entries.
func records(entries []transcript.Entry) []transcript.Entry {
	var out []transcript.Entry
	for _, e := range entries {
		switch e.Body.(type) {
		case *transcript.Arrive, *transcript.Label, *transcript.Leaf:
			out = append(out, e)
		}
	}
	return out
}

// readable checks that what could be read before a repair is in the log, or in
// what gamma session show --full prints beside it.
func readable(t testing.TB, rt *rapid.T, h *Home, entries, want []transcript.Entry) {
	t.Helper()
	have := map[transcript.ID]bool{}
	for _, e := range entries {
		have[e.ID] = true
	}
	copies, err := h.Lost(sessionID)
	if err != nil {
		rt.Fatal(err)
	}
	for _, e := range want {
		line, err := transcript.Encode(e)
		if err != nil {
			rt.Fatal(err)
		}
		if !have[e.ID] && !slices.ContainsFunc(copies, func(l Lost) bool { return strings.Contains(l.Text, string(line)) }) {
			rt.Fatalf("%s (%s) could be read and has vanished: %s", e.ID, e.Kind(), line)
		}
	}
}

// stillWait returns the arrivals that waited and that nothing lost can have
// delivered: all that is gone stood before them, and no line is there that
// wasn't written.
func stillWait(t testing.TB, d directory, all, intact []transcript.Entry) []session.Arrival {
	t.Helper()
	state, err := session.Fold(all)
	if err != nil {
		t.Fatal(err)
	}
	there := map[transcript.ID]bool{}
	for _, e := range intact {
		there[e.ID] = true
	}
	written := map[string]bool{}
	last := 0 // number of the last entry that is gone
	for _, e := range all {
		line, err := transcript.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		written[string(line)] = true
		if !there[e.ID] {
			last = e.ID.Seq
		}
	}
	tokens, _, err := d.tokens()
	if err != nil {
		return nil
	}
	for _, token := range tokens {
		data, _ := readRegular(d.segment(token))
		for line := range strings.Lines(string(data)) {
			if !written[line] {
				return nil
			}
		}
	}
	return slices.DeleteFunc(state.Queue, func(a session.Arrival) bool { return a.ID.Seq < last || !there[a.ID] })
}
