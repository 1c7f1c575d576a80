package disk

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

func TestE23_SecondOpeningInOneProcessIsRefused(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	for range 2 {
		_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
		e := asError[*LockedError](t, err)
		if e.PID != os.Getpid() || e.Path != dirOf(h, sessionID).lock() || !e.Since.Equal(noon()) {
			t.Errorf("locked by %+v", e)
		}
		contains(t, err, sessionID, "on here since 2026-11-30", "gamma session show")
	}
	add(t, s, prompt("the owner isn't disturbed"))
	shut(t, s)
	s = open(t, h, sessionID)
	if len(s.Entries) != 4 {
		t.Errorf("%d entries", len(s.Entries))
	}
}

func TestE23_LockFileStaysAndNamesNobodyAfterClose(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	before, err := os.Stat(s.dir.lock())
	if err != nil || before.Size() == 0 {
		t.Fatalf("%v, %v", before, err)
	}
	shut(t, s)
	shut(t, s) // a second time is fine
	after, err := os.Stat(s.dir.lock())
	if err != nil || !os.SameFile(before, after) || after.Size() != 0 {
		t.Errorf("%v, %v", after, err)
	}
}

// What stands in the file decides nothing, and a name that can't be right is
// not shown.
func TestE23_StaleContentMisleadsNobody(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	gone := `{"pid":999999999,"host":"` + host + `","since":"2026-01-01T00:00:00Z"}`
	for name, text := range map[string]string{
		"a process that is gone": gone, "nothing": "", "half a name": gone[:20],
		"garbage": "\x00\x00", "a pid of 0": `{"pid":0,"host":"x"}`, "a negative pid": `{"pid":-1,"host":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			s := create(t, h, sessionID)
			put(t, s.dir.lock(), []byte(text)) // the same file, other text
			_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			if e := asError[*LockedError](t, err); e.PID != 0 || e.Host != "" {
				t.Errorf("locked by %+v", e)
			}
			contains(t, err, "in use by another process")
			list, err := h.List()
			if err != nil || list[0].Locked == nil || list[0].Locked.PID != 0 {
				t.Errorf("listed %+v, %v", list, err)
			}
			shut(t, s)
			put(t, s.dir.lock(), []byte(text))
			if list, err = h.List(); err != nil || list[0].Locked != nil {
				t.Errorf("nobody holds it, listed %+v, %v", list[0].Locked, err)
			}
			open(t, h, sessionID)
		})
	}
}

// List looks at a lock by sharing it for a moment. An opening at that moment
// waits a little instead of failing.
func TestE23_LookingAtTheLockDisturbsNoOpening(t *testing.T) {
	h := quick(newHome(t))
	shut(t, create(t, h, sessionID))
	f, err := os.Open(dirOf(h, sessionID).lock())
	if err != nil {
		t.Fatal(err)
	}
	if err := flock(f, syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
	if e := asError[*LockedError](t, err); e.PID != 0 {
		t.Errorf("locked by %+v", e)
	}
	if waited := time.Since(began); waited < (lockTries-1)*lockPause {
		t.Errorf("gave up after %v", waited)
	}
	opened := make(chan error)
	go func() {
		s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// If the lock doesn't hold (somebody deletes the file), two own the session.
// The first one notices before it acknowledges anything that is not read.
func TestD5_FormerOwnerStops(t *testing.T) {
	h := newHome(t)
	a := create(t, h, sessionID)
	kept := add(t, a, prompt("a1"))
	if err := os.Remove(a.dir.lock()); err != nil {
		t.Fatal(err)
	}
	b := open(t, h, sessionID)
	same(t, "what the second owner reads", b.Entries[2:3], kept)

	err := a.Append(following(a, prompt("a2")))
	if !errors.Is(err, ErrStopped) || !errors.Is(err, ErrTaken) {
		t.Errorf("the first owner got %v", err)
	}
	contains(t, err, "another owner")
	if err := a.WriteTodo([]byte("{}")); err == nil {
		t.Error("the first owner wrote todo.json")
	}
	add(t, b, prompt("b1"))
	shut(t, b)
	c := open(t, h, sessionID)
	var said []string
	for _, e := range c.Entries {
		if a, ok := e.Body.(*transcript.Arrive); ok {
			said = append(said, a.Text)
		}
	}
	if got := strings.Join(said, " "); got != "a1 b1" {
		t.Errorf("the log says %q", got)
	}
}

func TestD5_FormerOwnerWritesNoTodo(t *testing.T) {
	h := newHome(t)
	a := create(t, h, sessionID)
	if err := os.Remove(a.dir.lock()); err != nil {
		t.Fatal(err)
	}
	b := open(t, h, sessionID)
	if err := b.WriteTodo([]byte("b")); err != nil {
		t.Fatal(err)
	}
	if err := a.WriteTodo([]byte("a")); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v", err)
	}
	if got, err := h.Todo(sessionID); err != nil || string(got) != "b" {
		t.Errorf("todo.json: %s, %v", got, err)
	}
}
