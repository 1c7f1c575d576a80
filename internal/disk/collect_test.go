package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestE51_E24_BlobsThatNothingNamesGo: an orphan goes, whatever is named
// anywhere stays: in an entry, in a segment that doesn't count, in a torn line,
// in a record of an unknown kind.
func TestE51_E24_BlobsThatNothingNamesGo(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	blob := func(text string) string {
		sum, err := s.PutBlob([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	orphan, named, torn, copied := blob("orphan"), blob("named"), blob("torn"), blob("copied")
	add(t, s, prompt("it is "+named))
	_, err := h.Collect(sessionID, 0, os.Getpid(), noon(), true)
	asError[*LockedError](t, err)
	_, err = h.Collect(sessionID, 0, os.Getpid(), noon(), false)
	asError[*LockedError](t, err)
	shut(t, s)
	d := dirOf(h, sessionID)
	f, err := os.OpenFile(d.segment(1), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"1-9","kind":"new","body":{"blob":"` + torn); err != nil {
		t.Fatal(err)
	}
	f.Close()
	put(t, filepath.Join(d.transcript(), "000007.lost"), []byte(`"`+copied+`"`))
	put(t, filepath.Join(d.blobs(), "not a blob"), []byte("x"))
	long := strings.Repeat("0", 64)
	put(t, filepath.Join(d.blobs(), long), []byte("y"))
	put(t, filepath.Join(d.path, "revisions.json"), []byte(`["`+long+`0"]`)) // 65 digits are another name
	before := snapshot(t, d.path)
	for _, dry := range []bool{true, false, false} {
		c, err := h.Collect(sessionID, 0, os.Getpid(), noon(), dry)
		want := Collected{Blobs: 2, Bytes: 7}
		if before == snapshot(t, d.path) != dry {
			t.Errorf("dry=%v: files changed: %v", dry, !dry)
		}
		if !dry && before == "" {
			want = Collected{}
		}
		if err != nil || c != want {
			t.Errorf("dry=%v: %+v, %v", dry, c, err)
		}
		if !dry {
			before = ""
		}
	}
	for sum, there := range map[string]bool{orphan: false, long: false, named: true, torn: true, copied: true, "not a blob": true} {
		if _, err := os.Stat(filepath.Join(d.blobs(), sum)); errors.Is(err, fs.ErrNotExist) == there {
			t.Errorf("%.9s: %v", sum, err)
		}
	}
}

// TestE51_OldSpillsGo: by their age, when asked; not a person's words.
func TestE51_OldSpillsGo(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	for name, age := range map[string]time.Duration{"old": 48 * time.Hour, "new": time.Hour, "request-1-3.txt": 48 * time.Hour} {
		w, err := s.CreateSpill(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("text")); err != nil {
			t.Fatal(err)
		}
		w.Close()
		at := noon().Add(-age)
		if err := os.Chtimes(filepath.Join(s.SpillDir(), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, s)
	if u, err := h.Usage(sessionID); err != nil || u.Spills != 12 || u.Transcript == 0 || u.Blobs != 0 || u.Total() < u.Transcript+12 {
		t.Errorf("%+v, %v", u, err)
	}
	if c, err := h.Collect(sessionID, 0, os.Getpid(), noon(), false); err != nil || c != (Collected{}) {
		t.Errorf("not asked: %+v, %v", c, err)
	}
	if c, err := h.Collect(sessionID, 24*time.Hour, os.Getpid(), noon(), false); err != nil || c != (Collected{Spills: 1, Bytes: 4}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, name := range []string{"new", "request-1-3.txt"} {
		if _, err := h.OpenSpill(sessionID, name); err != nil {
			t.Error(err)
		}
	}
}
