package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestE51_RemoveRefusesASessionInUse(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	for _, dry := range []bool{true, false} {
		_, err := h.Remove(sessionID, os.Getpid(), noon(), dry)
		asError[*LockedError](t, err)
	}
	add(t, s, prompt("still here"))
}

func TestE51_RemovalThatWasCutShortIsFinished(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	trash := filepath.Join(h.sessions(), trashPrefix+sessionID)
	if err := os.Rename(d.path, trash); err != nil { // as a crash behind the renaming leaves it
		t.Fatal(err)
	}
	list, err := h.List()
	if err != nil || len(list) != 0 {
		t.Errorf("listed: %v, %v", list, err)
	}
	if _, err := h.Find(sessionID); err == nil {
		t.Error("found")
	}
	foreign := filepath.Join(h.sessions(), trashPrefix+"Not Ours")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	threeSegments(t, h) // an id can be used again
	n, err := h.Remove(sessionID, os.Getpid(), noon(), false)
	if err != nil || n == 0 {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := h.EmptyTrash(); err != nil || n == 0 {
		t.Errorf("%d, %v", n, err)
	}
	des, err := os.ReadDir(h.sessions())
	if err != nil || len(des) != 1 || des[0].Name() != filepath.Base(foreign) {
		t.Errorf("left: %v, %v", des, err)
	}
}

// TestE51_RemoveAsksUnderTheLock: who decides about a removal decides while
// nobody can take the session, and a refusal leaves all of it.
func TestE51_RemoveAsksUnderTheLock(t *testing.T) {
	h := quick(newHome(t))
	shut(t, create(t, h, sessionID))
	no := errors.New("it is needed")
	_, err := h.RemoveIf(sessionID, 1, noon(), false, func() error {
		if owner, err := h.Holder(sessionID); err != nil || owner == nil {
			t.Errorf("nobody holds it: %v", err)
		}
		return no
	})
	if !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if owner, err := h.Holder(sessionID); err != nil || owner != nil {
		t.Errorf("held by %v, %v", owner, err)
	}
	shut(t, open(t, h, sessionID))
}
