package cli

import (
	"strings"
	"testing"
)

// TestC12_ANearNameIsSuggested: what is one or two letters off, never what is
// long.
func TestC12_ANearNameIsSuggested(t *testing.T) {
	names := []string{"deploy", "branch"}
	for text, want := range map[string]string{"depoly": "deploy", "Deploy": "deploy", "brunch": "branch", "nothing": "", strings.Repeat("x", 64): "", strings.Repeat("x", 250): "", strings.Repeat("é", 250): ""} {
		if got := nearest(text, names); got != want {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
}
