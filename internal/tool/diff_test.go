package tool

import (
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"
)

// The diff of the part around the spans is the diff of the whole.
func TestE43_DiffOfSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "long line\n", "\n", "c"}), 1, 40).Draw(t, "content"), "")
		start := rapid.IntRange(0, len(content)).Draw(t, "start")
		mid := rapid.IntRange(start, len(content)).Draw(t, "mid")
		next := rapid.IntRange(mid, len(content)).Draw(t, "next")
		end := rapid.IntRange(next, len(content)).Draw(t, "end")
		text := rapid.SampledFrom([]string{"", "x", "x\ny\n", "\n"}).Draw(t, "text")
		spans := []span{{start, mid, text}, {next, end, text}}
		want, err := udiff.ToUnified("a/f", "b/f", content, []udiff.Edit{{Start: start, End: mid, New: text}, {Start: next, End: end, New: text}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := diffSpans("f", content, spans); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}
