package store

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestW12_ADatabaseIsOpenedToBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gamma.db")
	if _, err := OpenReadOnly(t.Context(), path); err == nil {
		t.Fatal("a database that isn't there was opened")
	}
	db, err := OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []bool{false, true} { // beside a writer, and when its log is gone
		if closed {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		r, err := OpenReadOnly(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Runs(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if err := r.Release(t.Context(), "x", 1, 1); err == nil || !strings.Contains(err.Error(), "opened to be read only") {
			t.Errorf("a write: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	newer, err := open(t.Context(), path, append(migrations(), "SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := newer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(t.Context(), path); err == nil || !strings.Contains(err.Error(), "its schema has version 2, and this gamma reads version 1") {
		t.Errorf("a newer schema: %v", err)
	}
}
