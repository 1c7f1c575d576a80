package played

import "testing"

func TestPlayedAgainKeepsCommentsAndForgetsWhatCame(t *testing.T) {
	do := func(line string) string { return "did " + line + "\n" }
	got := again("# why\n\n> one\nold\n  old\n> two\n\n", do)
	if want := "# why\n\n> one\ndid one\n> two\ndid two\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
