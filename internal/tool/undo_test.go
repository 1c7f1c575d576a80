package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
)

// blobs keeps contents in memory, or fails.
type blobs struct {
	kept map[string]string
	full bool
}

func (b *blobs) PutBlob(data []byte) (string, error) {
	if b.full {
		return "", errors.New("no space left on device")
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	b.kept[name] = string(data)
	return name, nil
}

// TestE48_ContentBeforeIsKept: write and edit keep what was there before they
// change it; what can't be kept is named and stops nothing.
func TestE48_ContentBeforeIsKept(t *testing.T) {
	ws := t.TempDir()
	b := &blobs{kept: map[string]string{}}
	set, err := New(Config{Workspace: ws, Blobs: b})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	run := func(name, args string) session.Output {
		t.Helper()
		out := set.Run(t.Context(), session.ToolCall{ID: "c1.1", Name: name, Args: []byte(args)}, nil)
		if out.Outcome != "ok" || len(out.Undo) != 1 {
			t.Fatalf("%s: %s %s, %d states", name, out.Outcome, out.Text, len(out.Undo))
		}
		return out
	}
	if u := run("write", `{"path":"d/a","content":"one"}`).Undo[0]; u.Path != "d/a" || u.Before != "" || u.After != sumOf([]byte("one")) || u.Lost != "" {
		t.Errorf("a new file: %+v", u)
	}
	if u := run("edit", `{"path":"d/a","edits":[{"oldText":"one","newText":"two"}]}`).Undo[0]; b.kept[u.Before] != "one" || u.After != sumOf([]byte("two")) {
		t.Errorf("an edit: %+v", u)
	}
	b.full = true
	if u := run("write", `{"path":"d/a","content":"three"}`).Undo[0]; u.Before != "" || !strings.Contains(u.Lost, "no space") {
		t.Errorf("a full disk: %+v", u)
	}
	b.full = false
	if err := os.WriteFile(filepath.Join(ws, "big"), make([]byte, undoMost+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if u := run("write", `{"path":"big","content":"small"}`).Undo[0]; !strings.Contains(u.Lost, "more than are kept") {
		t.Errorf("a big file: %+v", u)
	}
}

// TestE48_FilesAreRestoredInTheWorkspaceOnly: no path and no symlink leads
// out; what is gone is no fault.
func TestE48_FilesAreRestoredInTheWorkspaceOnly(t *testing.T) {
	ws, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(ws, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(ws, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, "real"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFiles(Config{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{"../x", "/etc/x", "link/x", "alias"} {
		if err := f.Put(name, []byte("y")); err == nil {
			t.Errorf("%s was written", name)
		}
		if err := f.Remove(name); err == nil {
			t.Errorf("%s was removed", name)
		}
	}
	if err := errors.Join(f.Put("deep/er/file", []byte("y")), f.Remove("gone")); err != nil {
		t.Error(err)
	}
	if sum, err := f.Sum("deep/er/file"); err != nil || sum != sumOf([]byte("y")) {
		t.Errorf("sum %s, %v", sum, err)
	}
	if sum, err := f.Sum("gone"); err != nil || sum != "" {
		t.Errorf("of what is gone: %q, %v", sum, err)
	}
	if err := f.Remove("deep/er/file"); err != nil {
		t.Error(err)
	}
}
