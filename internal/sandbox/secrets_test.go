package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each name is one in $HOME, stands once, and isn't within another.
func TestR21_NamesOfSecretsAreCleanAndApart(t *testing.T) {
	names := SecretNames()
	if len(names) < 300 {
		t.Errorf("only %d names", len(names))
	}
	for i, n := range names {
		if !filepath.IsLocal(n) || filepath.Clean(n) != n || n == "." {
			t.Errorf("%q isn't a clean name in a folder", n)
		}
		if slices.Index(names, n) != i {
			t.Errorf("%q stands twice", n)
		}
		for _, m := range names {
			if strings.HasPrefix(n, m+"/") {
				t.Errorf("%q is within %q", n, m)
			}
		}
	}
}
