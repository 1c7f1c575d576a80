package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

const forkID = "01999999-0000-7000-8000-000000000002"

// TestE20_ForkIsWholeAndAlone: a copy, also of a session in use, has the
// entries under their ids, the blobs and the spill files; it is sound, and the original isn't needed for it.
func TestE20_ForkIsWholeAndAlone(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	add(t, s, prompt("one"), facts("f"))
	shut(t, s)
	s = open(t, h, sessionID)
	add(t, s, prompt("two"))
	sum, err := s.PutBlob([]byte("body"))
	if err = errors.Join(err, s.WriteSpill("request-1-3.txt", []byte("whole"))); err != nil {
		t.Fatal(err)
	}
	log, err := h.Read(sessionID)
	if err != nil {
		t.Fatal(err)
	}
	head := log.Header
	head.Session = forkID
	head.Forked = &transcript.Fork{Session: sessionID, Entry: log.Entries[len(log.Entries)-1].ID}
	if err := h.Fork(log, head); err != nil {
		t.Fatal(err)
	}
	if err := h.Fork(log, head); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same id again: %v", err)
	}
	add(t, s, prompt("the original goes on"))
	shut(t, s)
	if _, err := h.Remove(sessionID, os.Getpid(), noon(), false); err != nil {
		t.Fatal(err)
	}
	if d, err := h.Examine(forkID); err != nil || len(d.Faults) > 0 {
		t.Errorf("the copy: %v, %+v", err, d)
	}
	c := open(t, h, forkID)
	defer shut(t, c)
	if c.Header.Mark != log.Header.Mark || c.Header.Session != forkID || c.Header.Forked.Session != sessionID {
		t.Errorf("header %+v", c.Header)
	}
	for i, e := range log.Entries {
		if got := c.Entries[i]; got.ID != e.ID || got.Kind() != e.Kind() || got.Parent != e.Parent {
			t.Errorf("entry %d is %s %s, was %s %s", i, got.ID, got.Kind(), e.ID, e.Kind())
		}
	}
	if b, err := c.Blob(sum); err != nil || string(b) != "body" {
		t.Errorf("blob %q, %v", b, err)
	}
	f, err := c.OpenSpill("request-1-3.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "whole" {
		t.Errorf("spill %q, %v", b, err)
	}
	add(t, c, prompt("the copy goes on"))
}

// TestE20_NewestOfAKind: the newest entry of a kind is found on whatever
// segment, and words that look like one aren't taken for it.
func TestE20_NewestOfAKind(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	if _, ok := h.Last(sessionID, "model_change"); ok {
		t.Error("one was found in a new session")
	}
	add(t, s, &transcript.ModelChange{From: "a", Model: "b"}, prompt(`{"kind":"model_change"}`))
	shut(t, s)
	s = open(t, h, sessionID)
	add(t, s, prompt(`"kind":"model_change"`))
	shut(t, s)
	e, ok := h.Last(sessionID, "model_change")
	if !ok || e.Body.(*transcript.ModelChange).Model != "b" {
		t.Errorf("found %v, %+v", ok, e)
	}
	if err := os.Remove(filepath.Join(dirOf(h, sessionID).transcript(), "1.jsonl")); err == nil {
		if _, ok := h.Last(sessionID, "model_change"); ok {
			t.Error("found in a damaged log")
		}
	}
}

// TestE20_AForkThatIsBeingWrittenIsNoTrash: who tidies up at that moment leaves
// it alone; what a dead process left of one goes.
func TestE20_AForkThatIsBeingWrittenIsNoTrash(t *testing.T) {
	h := quick(newHome(t))
	stage := directory{id: forkID, path: filepath.Join(h.sessions(), trashPrefix+forkID), sys: h.sys}
	release, err := stage.begin()
	if err != nil {
		t.Fatal(err)
	}
	put(t, stage.todo(), []byte("half"))
	if n, err := h.EmptyTrash(); n != 0 || err != nil {
		t.Errorf("%d bytes removed, %v", n, err)
	}
	if _, err := os.Stat(stage.todo()); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if n, err := h.EmptyTrash(); n < 4 || err != nil {
		t.Errorf("%d bytes removed, %v", n, err)
	}
}
