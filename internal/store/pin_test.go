package store

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestD1_LibcIsTheOneThatSQLiteWants: the driver works with exactly the libc of
// its own go.mod; another dependency could raise it silently.
func TestD1_LibcIsTheOneThatSQLiteWants(t *testing.T) {
	list := func(format, module string) string {
		out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	mod, err := os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range strings.Lines(string(mod)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(line, "require")), "modernc.org/libc "); ok {
			want, _, _ = strings.Cut(v, " ")
		}
	}
	if got := list("{{.Version}}", "modernc.org/libc"); got != want || want == "" {
		t.Errorf("modernc.org/libc is %s, and SQLite wants %q: go get modernc.org/libc@%s", got, want, want)
	}
}
