package cli

import (
	"strings"
	"testing"
)

func TestC12_WrapKeepsEveryWord(t *testing.T) {
	text := "one two three four five six seven eight nine ten eleven\n\n    indented code stays as it is, however long it may be\n```\nfenced code stays as it is, however long it may be\n```\n| a | table row stays as it is, however long |\naverylongwordthatdoesnotfitintotheline and more words behind it\nlastlongwordthatdoesnotfitintotheline"
	got := wrap(text, 20)
	if a, b := strings.Fields(text), strings.Fields(got); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("words changed:\n%s", got)
	}
	for _, keep := range []string{"    indented code stays as it is, however long it may be", "\nfenced code stays as it is, however long it may be\n", "| a | table row stays as it is, however long |"} {
		if !strings.Contains(got, keep) {
			t.Errorf("%q was broken:\n%s", keep, got)
		}
	}
	for _, line := range strings.Split(got, "\n") {
		if len(line) > 20 && strings.HasPrefix(line, "one") {
			t.Errorf("line of %d columns: %q", len(line), line)
		}
	}
	if wrap(text, 0) != text {
		t.Error("without a terminal the text was changed")
	}
}

func TestC12_ForeignTextCantSteerTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[2J":      "\uFFFD[2J", // clears the screen
		"a\u009b2J":    "a\uFFFD2J", // the same in one character
		"a\rb":         "a\uFFFDb",  // writes over the line
		"a\r\nb\tc\n":  "a\nb\tc\n",
		"\x07\x00\x7f": "\uFFFD\uFFFD\uFFFD",
		"a\u202eb":     "a\uFFFDb", // turns the direction
		"é 作 ☑":        "é 作 ☑",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
