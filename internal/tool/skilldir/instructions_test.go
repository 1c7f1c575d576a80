package skilldir

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestS3_InstructionsFromTheRepositoryDown(t *testing.T) {
	dir := tree(t, map[string]string{
		"AGENTS.md": "above", "repo/.git/": "", "repo/AGENTS.md": "root\n", "repo/a/AGENTS.md": "not this", "repo/a/AGENTS.override.md": "override\n",
		"repo/a/b/readme.md": "x", "repo/a/b/c/AGENTS.md": "leaf\n", "repo/a/b/c/d/AGENTS.md": "below", "repo/other/AGENTS.md": "beside",
		"worktree/.git": "gitdir: elsewhere\n", "worktree/AGENTS.md": "wt", "worktree/sub/": "", "plain/sub/AGENTS.md": "sub", "plain/AGENTS.md": "parent",
		"blank/.git/": "", "blank/AGENTS.override.md": " \n", "blank/AGENTS.md": "used", "blank/s/AGENTS.md": "\n", "to-c": "->repo/a/b/c",
	})
	for name, want := range map[string]string{
		"repo/a/b/c":   "=== AGENTS.md ===\nroot\n\n=== a/AGENTS.override.md ===\noverride\n\n=== a/b/c/AGENTS.md ===\nleaf",
		"to-c":         "=== AGENTS.md ===\nroot\n\n=== a/AGENTS.override.md ===\noverride\n\n=== a/b/c/AGENTS.md ===\nleaf",
		"repo":         "=== AGENTS.md ===\nroot",
		"worktree/sub": "=== AGENTS.md ===\nwt",
		"plain/sub":    "=== AGENTS.md ===\nsub",
		"blank/s":      "=== AGENTS.md ===\nused",
		"repo/a/../..": "=== AGENTS.md ===\nabove",
	} {
		text, notes, err := Instructions(filepath.Join(dir, name))
		if text != want || len(notes) > 0 || err != nil {
			t.Errorf("%s: got %q, %q, %v", name, text, notes, err)
		}
	}
}

func TestS3_InstructionsThatCannotBeRead(t *testing.T) {
	secret := tree(t, map[string]string{"secret": "TOKEN"})
	dir := tree(t, map[string]string{
		".git/": "", "AGENTS.md": "->" + secret + "/secret", "a/AGENTS.md/": "", "a/b/AGENTS.md": "->../../docs/x.md", "docs/x.md": "inside",
		"a/b/c/AGENTS.override.md": "->nowhere", "a/b/c/AGENTS.md": "plain", "a/b/c/d/": "",
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "a/b/c/d/AGENTS.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, notes, err := Instructions(filepath.Join(dir, "a/b/c/d"))
	if want := "=== a/b/AGENTS.md ===\ninside\n\n=== a/b/c/AGENTS.md ===\nplain"; text != want || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	want := []string{
		"AGENTS.md: left out: path escapes from parent (a link out of the repository isn't followed: copy the file)",
		"a/AGENTS.md: left out: it is not a regular file",
		"a/b/c/AGENTS.override.md: left out: no such file or directory",
		"a/b/c/d/AGENTS.md: left out: it is not a regular file",
	}
	if d := cmp.Diff(want, notes); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"no/such", "docs/x.md"} {
		if _, _, err := Instructions(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "instruction files of "+filepath.Join(dir, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestS3_InstructionsAreCutAndReported(t *testing.T) {
	dir := tree(t, map[string]string{".git/": "", "AGENTS.md": strings.Repeat("root\n", 10_000), "a/AGENTS.md": strings.Repeat("leaf\n", 2_000) + "caf\xe9"})
	text, notes, err := Instructions(filepath.Join(dir, "a"))
	if err != nil || len(text) > 32<<10 || strings.Count(text, "leaf") != 2000 || !strings.Contains(text, "[the rest of AGENTS.md, 50000 bytes in all, is left out]") {
		t.Errorf("%d bytes, %d lines of the leaf, %v", len(text), strings.Count(text, "leaf"), err)
	}
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "AGENTS.md: ") || !strings.Contains(notes[0], " of 50000 bytes are left out") || !strings.HasPrefix(notes[1], "a/AGENTS.md: bytes that aren't UTF-8") {
		t.Errorf("notes %q", notes)
	}
}

func TestR20_RepositoryOfAnotherUser(t *testing.T) {
	dir := tree(t, map[string]string{".git/": "", "AGENTS.md": "evil", "mine/AGENTS.md": "good"})
	mine := filepath.Join(dir, "mine")
	for name, owner := range map[string]func(string) (uint32, error){
		"other owner": func(d string) (uint32, error) { return uint32(len(d)), nil },
		"unknown":     func(string) (uint32, error) { return 0, errors.New("unknown") },
	} {
		text, notes, err := instructions(mine, owner)
		if text != "=== AGENTS.md ===\ngood" || len(notes) != 1 || !strings.Contains(notes[0], "belongs to another user") || err != nil {
			t.Errorf("%s: got %q, %q, %v", name, text, notes, err)
		}
	}
}
