package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestE42_RealPathsOfMany: what is looked at once for many paths is the same
// as what the system resolves for each: the deepest part that it can resolve,
// and the rest as named.
func TestE42_RealPathsOfMany(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		base := filepath.Join(root, strconv.Itoa(n))
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		path := rapid.Custom(func(t *rapid.T) string {
			return filepath.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "names")...)
		})
		if err := os.MkdirAll(base, 0o700); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 8).Draw(t, "entries") {
			at := filepath.Join(base, path.Draw(t, "at"))
			// What can't be made, since a file or a broken link is in the way, isn't there.
			_ = os.MkdirAll(filepath.Dir(at), 0o700)
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				_ = os.Mkdir(at, 0o700)
			case 1:
				_ = os.WriteFile(at, nil, 0o600)
			case 2:
				_ = os.Symlink(filepath.Join(base, path.Draw(t, "target")), at)
			default:
				_ = os.Symlink(filepath.Join("..", path.Draw(t, "target")), at)
			}
		}
		reals := realPaths{}
		for range 12 {
			abs := filepath.Join(base, path.Draw(t, "path"))
			if got, want := reals.of(abs), resolved(abs); got != want {
				t.Fatalf("%s is %s, want %s", abs, got, want)
			}
		}
	})
}

// resolved asks the system anew for each part of the path.
func resolved(abs string) string {
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}
