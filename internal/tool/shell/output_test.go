package shell

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// feed writes b to a new output in pieces of the given sizes, in turn.
func feed(b []byte, sizes ...int) *output {
	o := &output{}
	for i := 0; len(b) > 0; i++ {
		n := min(max(1, sizes[i%len(sizes)]), len(b))
		o.Write(b[:n])
		b = b[n:]
	}
	o.end()
	return o
}

func text(w window) string { return shown(w, "lost") }

func TestE42_BC23_RunesSplitAcrossWrites(t *testing.T) {
	const want = "作成しました🏳️‍⚧️ é\n"
	for n := 1; n < 8; n++ {
		if got := text(feed([]byte(want), n).take()); got != want {
			t.Errorf("in pieces of %d: %q", n, got)
		}
	}
}

func TestE42_BC23_RuneSplitAcrossReads(t *testing.T) {
	o := &output{}
	b := []byte("a作🏳️b")
	var got string
	for i := range b {
		o.Write(b[i : i+1])
		w := o.take()
		if part := string(w.buf); !utf8.ValidString(part) || strings.ContainsRune(part, utf8.RuneError) {
			t.Fatalf("read %d has a piece of a rune: %q", i, part)
		} else {
			got += part
		}
	}
	if got != string(b) {
		t.Errorf("got %q", got)
	}
}

// Any bytes in any pieces: the same text, valid, within the limits, and what
// is left out is counted exactly.
func TestE42_WindowIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := bytes.Join(rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 6), func(kind int) []byte {
			switch kind {
			case 0:
				return bytes.Repeat([]byte("y\n"), 900)
			case 1:
				return bytes.Repeat([]byte("ü"), 4000)
			case 2:
				return bytes.Repeat([]byte("0123456789abcde\n"), 1500)
			case 3:
				return []byte{0xff, 0xe4, 0xbd}
			case 4:
				return bytes.Repeat([]byte("z"), 60000)
			case 5:
				return []byte("\n")
			default:
				return []byte("a\x00b🏳️‍⚧️")
			}
		}), 0, 12).Draw(t, "raw"), nil)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 70000), 1, 4).Draw(t, "sizes")
		all := string(appendText(nil, raw))
		w := feed(raw, append(slices.Clone(sizes), 999)...).take()
		if once := feed(raw, len(raw)+1).take(); text(once) != text(w) {
			t.Fatal("the text depends on the pieces")
		}
		checkWindow(t, all, w)
	})
}

func checkWindow(t *rapid.T, all string, w window) {
	if fits := len(all) <= maxBytes && lineCount(all) <= maxLines; fits == w.over {
		t.Fatalf("%d bytes, %d lines: over is %v", len(all), lineCount(all), w.over)
	}
	if !w.over && string(w.buf) != all {
		t.Fatal("a text within the limits isn't whole")
	}
	head, tail := string(w.head), string(w.buf)
	if len(head)+len(tail) > maxBytes || lineCount(head)+lineCount(tail) > maxLines {
		t.Fatalf("%d bytes, %d lines are kept", len(head)+len(tail), lineCount(head)+lineCount(tail))
	}
	if !strings.HasPrefix(all, head) || !strings.HasSuffix(all[len(head):], tail) {
		t.Fatal("head or tail is not that of the text")
	}
	cut := all[len(head) : len(all)-len(tail)]
	if int64(len(cut)) != w.cutBytes || int64(strings.Count(cut, "\n")) != w.cutLines {
		t.Fatalf("%d bytes, %d lines were left out; it says %d, %d", len(cut), strings.Count(cut, "\n"), w.cutBytes, w.cutLines)
	}
	if !utf8.ValidString(head) || !utf8.ValidString(tail) {
		t.Fatal("a rune is split")
	}
	if w.over && cut != "" && !strings.HasSuffix(cut, "\n") && len(lastLine(all)) < tailBytes {
		t.Fatal("the tail begins within a line")
	}
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// lastLine returns the last line with its end.
func lastLine(s string) string {
	i := strings.LastIndexByte(strings.TrimSuffix(s, "\n"), '\n')
	return s[i+1:]
}

func TestE42_LimitsShown(t *testing.T) {
	for _, c := range []struct {
		lines int
		over  bool
	}{{2000, false}, {2001, true}} {
		t.Run(fmt.Sprint(c.lines), func(t *testing.T) {
			var b strings.Builder
			for i := range c.lines {
				fmt.Fprintln(&b, i+1)
			}
			w := feed([]byte(b.String()), 4096).take()
			if w.over != c.over {
				t.Errorf("over is %v", w.over)
			}
			if got := text(w); c.over != strings.Contains(got, "[… 3 bytes, 1 lines left out here; lost]\n42\n") {
				t.Errorf("got %s", clip(got))
			}
		})
	}
}
