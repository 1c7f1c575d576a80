package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestC12_ColumnsOfATerminal: what a terminal draws as one character counts as
// one, wide ones as two.
func TestC12_ColumnsOfATerminal(t *testing.T) {
	for text, want := range map[string]int{
		"":             0,
		"abc":          3,
		"日本語":          6,
		"한국어":          6,
		"ﾊﾝｶｸ":         4, // half width
		"e\u0301":      1, // a letter and its mark
		"Zalgo\u0336":  5,
		"👍":            2,
		"👍🏽":           2, // with a skin
		"👨‍👩‍👧‍👦":      2, // four people and what joins them
		"🇩🇪":           2, // a flag is two letters
		"a\u200bb":     2, // what nobody sees
		"…─│✓✗▶":       6,
		"नमस्ते":       4,
		"ไทย":          3,
		"𠮷野家":          6,
		"\u0301alone":  5,
		"\uFFFD\uFFFD": 2,
	} {
		if got := cells(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
}

// drawable are texts of what makes columns hard to count.
func drawable() *rapid.Generator[string] {
	pieces := []string{"a", "word", " ", "  ", "日本", "語", "한", "👍🏽", "👨‍👩‍👧", "🇩🇪", "e\u0301", "\u0301", "\u200d", "…", "│", "a-long-word-of-letters-that-is-not-broken"}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
	})
}

// TestC12_NoLineIsWiderThanTheTerminal: whatever is broken or cut fits, and
// nothing is lost by breaking.
func TestC12_NoLineIsWiderThanTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, width := drawable().Draw(t, "text"), rapid.IntRange(20, 60).Draw(t, "width")
		bare := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, bar, " ")), "") }
		for i, l := range strings.Split(barred(text, width), "\n") {
			if cells(l) > width || !strings.HasPrefix(l, bar) {
				t.Fatalf("line %d of %q has %d columns: %q", i, text, cells(l), l)
			}
		}
		if got := bare(strings.ReplaceAll(barred(text, width), "\n", "")); !strings.Contains(text, "│") && got != bare(text) {
			t.Fatalf("barred: %q became %q", text, got)
		}
		if got := cutCells(text, width); cells(got) > width || got != text && !strings.HasSuffix(got, "…") {
			t.Fatalf("cut: %q has %d columns", got, cells(got))
		}
		if got := strings.Join(strings.Fields(strings.Join(wrapLine(text, width), " ")), ""); got != strings.Join(strings.Fields(text), "") {
			t.Fatalf("wrapped: %q became %q", text, got)
		}
		for _, l := range wrapLine(text, width) {
			if cells(l) > width && !strings.Contains(l, "a-long-word") && wideEnd(l, headCells(l, width)) > 0 {
				t.Fatalf("wrapped: %q has %d columns", l, cells(l))
			}
		}
		if got := oneLine(text, width); cells(got) > width+1 {
			t.Fatalf("one line: %q has %d columns", got, cells(got))
		}
		if got := homely("/"+text, "", width); cells(got) > width {
			t.Fatalf("path: %q has %d columns", got, cells(got))
		}
	})
}

// TestC12_APathIsCutAtItsBeginning: its end says most.
func TestC12_APathIsCutAtItsBeginning(t *testing.T) {
	row := tableRow([]column{{}, {least: 5, tail: true}, {least: 5}}, []int{2, 8, 6}, []string{"id", "/home/ann/日本語", "some words"})
	if want := "id  …/日本語  some …"; strings.Join(strings.Fields(row), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got %q, want %q", row, want)
	}
}
