package cli

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/wire"
)

// TestI6_FragmentsNeverAddUpToTheMark cuts texts with marks in them, and with
// beginnings of marks, at random places.
func TestI6_FragmentsNeverAddUpToTheMark(t *testing.T) {
	const mark = "S4HJIDYLGVP5YNBG"
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		kind, words := "text", []string{mark, mark[:random.IntN(16)], "S4", "作", " and ", mark[1:]}
		if random.IntN(2) == 0 {
			kind, words = "call_args", append(words, `\u0053`+mark[1:], mark[:15]+`\u0047`, `\\u0053`, `\"`, `\u00e9`, `S\u0034HJIDYLGVP5YNBG`)
		}
		var text strings.Builder
		for range random.IntN(6) {
			text.WriteString(words[random.IntN(len(words))])
		}
		rest := text.String() + "!"
		r := redactor{mark: mark}
		shown := ""
		for rest != "" {
			n := 1 + random.IntN(min(len(rest), 9))
			shown += r.event(wire.Event{Delta: &wire.Delta{Type: kind, Text: rest[:n]}}).Delta.Text
			rest = rest[n:]
		}
		said := text.String() + "!"
		if kind == "call_args" {
			shown, said = unquote(t, shown), unquote(t, said)
		}
		got, want := ending(shown, mark), ending(strings.ReplaceAll(said, mark, redacted), mark)
		if strings.Contains(shown, mark) || got != want {
			t.Fatalf("%s: said %q, shown %q, want %q", kind, said, shown, want)
		}
	}
}

// ending drops what of a mark may be printed before it is known to be one.
func ending(s, mark string) string {
	for was := ""; was != s; {
		was = s
		for n := markShown; n > 0; n-- {
			s = strings.ReplaceAll(s, mark[:n]+redacted, redacted)
		}
	}
	return s
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	var out string
	if err := json.Unmarshal([]byte(`"`+s+`"`), &out); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return out
}
