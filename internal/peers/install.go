package peers

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed npm/package.json
var manifest []byte

//go:embed npm/package-lock.json
var lock []byte

// Limits of an installation and of each request of it.
const (
	installPatience = 10 * time.Minute
	fetchPatience   = 30 * time.Second
)

// Install returns the Pi that is pinned, after installing it below dir if it
// isn't there. It takes some minutes at most; without npm or without a registry
// that npm reaches the error says so.
func Install(ctx context.Context, dir string) (*Pi, error) {
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok || runtime.GOOS != "linux" {
		return nil, fmt.Errorf("install Pi: Node comes for Linux on amd64 and arm64 only, this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	sum := sha256.Sum256(lock)
	place := filepath.Join(dir, "pi-"+hex.EncodeToString(sum[:6]))
	modules := filepath.Join(place, "node_modules")
	p := &Pi{modules: modules, node: filepath.Join(modules, "node-linux-"+arch)}
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
		if err := install(ctx, place); err != nil {
			return nil, fmt.Errorf("install Pi: %w", err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("install Pi: %w", err)
	}
	if err := p.ask(ctx); err != nil {
		return nil, fmt.Errorf("Pi in %s doesn't run: %w. Remove the folder and try again", place, err)
	}
	return p, nil
}

// unfinished begins the names of installations that aren't whole.
const unfinished = "new-"

// sweep removes what killed installations left. One that still goes on is
// younger.
func sweep(dir string, now time.Time) {
	left, err := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	if err != nil {
		return // a pattern in the folder's own name: nothing is swept
	}
	for _, path := range left {
		if fi, err := os.Stat(path); err == nil && now.Sub(fi.ModTime()) > 2*installPatience {
			_ = os.RemoveAll(path) // the next sweep tries again
		}
	}
}

// install fills a new folder and gives it its name when it is whole.
func install(ctx context.Context, place string) (err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm isn't on PATH: install it (Debian: apt-get install npm)")
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	sweep(filepath.Dir(place), time.Now())
	tmp, err := os.MkdirTemp(filepath.Dir(place), unfinished)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }() // gone already if it was renamed
	for name, text := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(tmp, name), text, 0o644); err != nil {
			return err
		}
	}
	if err := fetch(ctx, npm, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, place); err != nil && !isDir(place) { // else another process was faster
		return err
	}
	return nil
}

// fetch lets npm install what the lock file names, within a bounded time.
func fetch(ctx context.Context, npm, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, installPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
		"--no-progress", "--loglevel=error", "--fetch-retries=1", fmt.Sprintf("--fetch-timeout=%d", fetchPatience.Milliseconds()))
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return fmt.Errorf("npm ci: %w (it needs a package registry that npm reaches; its settings are the user's own):\n%s",
		cmp.Or(context.Cause(ctx), err), tail(string(out)))
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// tail is the end of what a program printed.
func tail(s string) string {
	const most = 2000
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "… " + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}

// sizeOf adds up the bytes of the files below path, which may be a file,
// without the folders that skip names.
func sizeOf(path string, skip ...string) (bytes int64, err error) {
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, s := range skip {
			if name == s {
				return fs.SkipDir
			}
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
