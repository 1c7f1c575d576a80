package disk

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestE24_SpillsAreBounded: a session keeps so many bytes of full outputs; the
// oldest go, never one that is being written.
func TestE24_SpillsAreBounded(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	defer shut(t, s)
	s.spills.most = 1000
	begin := func(name string) io.WriteCloser {
		w, err := s.CreateSpill(name)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	put := func(w io.Writer, n int) error {
		_, err := w.Write([]byte(strings.Repeat("x", n)))
		return err
	}
	names := func() []string {
		list, err := os.ReadDir(s.SpillDir())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, de := range list {
			out = append(out, de.Name())
		}
		return out
	}
	open := begin("open")
	age := func(name string, hours int) {
		at := time.Now().Add(-time.Duration(hours) * time.Hour)
		if err := os.Chtimes(filepath.Join(s.SpillDir(), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"a", "b", "c"} {
		w := begin(name)
		if err := put(w, 300); err != nil {
			t.Fatal(err)
		}
		w.Close()
		age(name, 10-i)
	}
	if err := put(open, 100); err != nil {
		t.Fatal(err)
	}
	age("open", 100)
	d := begin("d")
	if err := put(d, 400); err != nil {
		t.Fatal(err)
	}
	if got := names(); !slices.Equal(got, []string{"c", "d", "open"}) {
		t.Errorf("left are %v", got)
	}
	if err := put(open, 450); err != nil {
		t.Error(err)
	}
	if err := put(d, 100); err == nil || !strings.Contains(err.Error(), "all of these are being written") {
		t.Errorf("got %v", err)
	}
	if err := put(open, 40); err != nil {
		t.Errorf("what still fits: %v", err)
	}
	open.Close()
	if err := put(d, 100); err != nil {
		t.Error(err)
	}
	d.Close()
	if got := names(); !slices.Equal(got, []string{"d"}) {
		t.Errorf("left are %v", got)
	}
}
