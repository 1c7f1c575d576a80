package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

func TestE20_LayoutAndModes(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	add(t, s, prompt("a"))
	sum, err1 := s.PutBlob([]byte("blob"))
	w, err2 := s.CreateSpill("c1.1.txt")
	files, err3 := s.FilesDir()
	if err := errors.Join(err1, err2, err3, s.WriteTodo([]byte("[]"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if files != filepath.Join(s.dir.path, "files") || s.SpillDir() != filepath.Join(s.dir.path, "spill") {
		t.Errorf("files %s, spill %s", files, s.SpillDir())
	}
	shut(t, s)
	put(t, s.path, append(read(t, s.path), "{"...))
	shut(t, open(t, h, sessionID))
	got := map[string]fs.FileMode{}
	root := filepath.Join(h.Dir(), "sessions", sessionID)
	err := filepath.WalkDir(root, func(path string, de fs.DirEntry, err error) error {
		if err == nil {
			var fi fs.FileInfo
			fi, err = de.Info()
			got[strings.TrimPrefix(path, root)] = fi.Mode()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "/transcript", "/blobs", "/spill", "/files"} {
		if got[name] != fs.ModeDir|0o700 {
			t.Errorf("%s has mode %v", name, got[name])
		}
		delete(got, name)
	}
	for _, name := range []string{"/transcript/000001.jsonl", "/transcript/000001.torn", "/transcript/000002.jsonl", "/todo.json", "/blobs/" + sum, "/spill/c1.1.txt", "/lock"} {
		if got[name] != 0o600 {
			t.Errorf("%s has mode %v", name, got[name])
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("more files: %v", got)
	}
}

func TestC1_HomeIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	h, err := OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "sessions")); err != nil || fi.Mode() != fs.ModeDir|0o700 || h.Dir() != dir {
		t.Errorf("%v, %v", fi, err)
	}
	if _, err := OpenHome(dir); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	put(t, file, nil)
	_, err = OpenHome(file)
	contains(t, err, "data directory", file, "GAMMA_HOME")
}

func TestE20_CreateWritesTheHeader(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	if len(s.Entries) != 2 || s.Token != 1 || s.ID != sessionID || s.Header.Schema != transcript.Schema {
		t.Errorf("%+v", s.Log)
	}
	log, err := h.Read(sessionID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "entries", log.Entries, s.Entries)
	if o := log.Entries[0].Body.(*transcript.Open); o.Why != transcript.OpenStart || o.Prev != nil || o.Segment != 1 {
		t.Errorf("open entry %+v", o)
	}
	_, err = h.Create(header(sessionID), owner(), "test", noon())
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second creation: %v", err)
	}
	big := header("big")
	big.Label = strings.Repeat("x", createMax)
	_, err = h.Create(big, owner(), "test", noon())
	contains(t, err, "big", "bytes")
	_, err = h.Find("big")
	asError[*NotFoundError](t, err)
}

func TestE24_Blobs(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	data := []byte("some large output\x00\xff")
	sum, err := s.PutBlob(data)
	if err != nil || sum != hashOf(data) {
		t.Fatal(sum, err)
	}
	check := func(when string) {
		t.Helper()
		got, err := s.Blob(sum)
		if err != nil || string(got) != string(data) {
			t.Errorf("%s: %q, %v", when, got, err)
		}
	}
	check("stored")
	path := filepath.Join(s.dir.blobs(), sum)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutBlob(data); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the same data was stored twice: %v", err)
	}
	t.Run("damaged", func(t *testing.T) {
		for _, text := range []string{"some large output\x00\xfe", "", "some"} {
			put(t, path, []byte(text))
			_, err := s.Blob(sum)
			if e := asError[*DamageError](t, err); e.File != path {
				t.Errorf("file %s", e.File)
			}
			contains(t, err, "another hash", "backup")
			_, err = h.Blob(sessionID, sum)
			asError[*DamageError](t, err)
			if _, err := s.PutBlob(data); err != nil {
				t.Error(err)
			}
			check("stored again")
		}
	})
	t.Run("missing", func(t *testing.T) {
		_, err := s.Blob(hashOf([]byte("other")))
		asError[*DamageError](t, err)
		contains(t, err, "missing")
	})
	t.Run("names", func(t *testing.T) {
		for _, name := range []string{"", "../lock", strings.ToUpper(sum), sum[:63], sum + "0", "../" + sum[3:], strings.Repeat("z", 64)} {
			_, err := s.Blob(name)
			contains(t, err, "want a SHA-256")
		}
	})
	t.Run("several at once", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				b := []byte{byte(i / 2)}
				sum, err := s.PutBlob(b)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Blob(sum); err != nil || string(got) != string(b) {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestE20_TodoIsReplacedWhole(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	if _, err := s.Todo(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("never written: %v", err)
	}
	for _, text := range []string{strings.Repeat("long", 1000), "short", ""} {
		if err := s.WriteTodo([]byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err1 := s.Todo()
		other, err2 := h.Todo(sessionID)
		if err := errors.Join(err1, err2); err != nil || string(got) != text || string(other) != text {
			t.Errorf("%q, %q, %v", got, other, err)
		}
	}
	old, err := os.Open(s.dir.todo())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := s.WriteTodo([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(old); err != nil || len(b) != 0 {
		t.Errorf("the old file was changed: %q, %v", b, err)
	}
	// A directory of that name can't be replaced: an error, no file left, and
	// the session goes on.
	if err := errors.Join(os.Remove(s.dir.todo()), os.MkdirAll(filepath.Join(s.dir.todo(), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	contains(t, s.WriteTodo([]byte("x")), s.dir.todo(), sessionID)
	des, err := os.ReadDir(s.dir.path)
	if err != nil || slices.ContainsFunc(des, func(de fs.DirEntry) bool { return strings.HasPrefix(de.Name(), tempPrefix) }) {
		t.Errorf("left %v, %v", des, err)
	}
	add(t, s, prompt("goes on"))
}

// What a killed owner left without a name is removed by the next one.
func TestE20_UnnamedReplacementsAreSwept(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	left := filepath.Join(s.dir.path, tempPrefix+"1")
	put(t, left, []byte("half"))
	vanish(s)
	open(t, h, sessionID)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestE20_Spill(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	if _, err := s.OpenSpill("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	for _, text := range []string{"the long full output", "again"} {
		w, err := s.CreateSpill("c7.1.out")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := h.OpenSpill(sessionID, "c7.1.out")
		if err != nil {
			t.Fatal(err)
		}
		_, err1 := r.Seek(2, io.SeekStart)
		b, err2 := io.ReadAll(r)
		if err := errors.Join(err1, err2, r.Close()); err != nil || string(b) != text[2:] {
			t.Errorf("%q, %v", b, err)
		}
	}
	if _, err := s.OpenSpill("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, name := range []string{"", ".", "..", "../todo.json", "a/b", "/x", ".hidden", "a\x00", "a b", "é", strings.Repeat("a", 129)} {
		_, err1 := s.CreateSpill(name)
		_, err2 := s.OpenSpill(name)
		contains(t, err1, "want 1 to 128")
		contains(t, err2, "want 1 to 128")
	}
}

func TestC2_SpillLeadsNowhereElse(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	w, err := s.CreateSpill("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../transcript/000001.jsonl", filepath.Join(s.SpillDir(), "link")); err != nil {
		t.Fatal(err)
	}
	before := read(t, s.path)
	if f, err := s.OpenSpill("link"); err == nil {
		f.Close()
		t.Error("read the transcript through a link")
	}
	if f, err := s.CreateSpill("link"); err == nil {
		f.Close()
		t.Error("opened the transcript for writing through a link")
	}
	if string(read(t, s.path)) != string(before) {
		t.Error("the transcript was changed")
	}
}
