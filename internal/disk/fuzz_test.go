package disk

import (
	"errors"
	"os"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Whatever the files hold: no panic, an error that is understood, nothing
// changed by a refusal, and what can be opened can be used and read.
func FuzzE22_AnyBytes(f *testing.F) {
	dir, err := os.MkdirTemp(f.TempDir(), "seed")
	if err != nil {
		f.Fatal(err)
	}
	h, err := OpenHome(dir)
	if err != nil {
		f.Fatal(err)
	}
	s := create(f, h, sessionID)
	add(f, s, prompt("a"), facts("b"))
	shut(f, s)
	one := read(f, s.path)
	s = open(f, h, sessionID)
	add(f, s, prompt("c"))
	shut(f, s)
	two := read(f, s.path)
	f.Add(one, two)
	f.Add(one[:len(one)-4], []byte{})
	f.Add(one, two[:20])
	f.Add([]byte{}, two)
	f.Add([]byte("\n\n"), []byte("{}\n\x00"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		h := quick(newHome(t))
		plant(t, h, one)
		d := dirOf(h, sessionID)
		if len(two) > 0 {
			put(t, d.segment(2), two)
		}
		files := snapshot(t, d.path)
		log, readErr := h.Read(sessionID)
		_, tailErr := h.Tail(sessionID, 3)
		if _, err := h.List(); err != nil {
			t.Fatal(err)
		}
		s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
		if (err == nil) != (readErr == nil) || err == nil && tailErr != nil {
			t.Fatalf("Open says %v, Read %v, Tail %v", err, readErr, tailErr)
		}
		if err != nil {
			if !errors.As(err, new(*DamageError)) && !errors.As(err, new(*NewerError)) && !errors.As(err, new(*UnfinishedError)) {
				t.Fatalf("%T: %v", err, err)
			}
			if snapshot(t, d.path) != files {
				t.Fatal("a refusal changed files")
			}
			return
		}
		same(t, "entries", s.Entries[:len(s.Entries)-1], log.Entries)
		add(t, s, prompt("on"), facts("and on"))
		shut(t, s)
		again, err := h.Read(sessionID)
		if err != nil || len(again.Entries) != len(s.Entries)+2 || again.Torn != nil {
			t.Fatalf("%v, %v", again, err)
		}
	})
}

// Whatever the files hold, the doctor says what is wrong and, unless a newer
// gamma wrote them or nothing was ever written, leaves a log that goes on.
func FuzzE22_BC28_DoctorOverAnyBytes(f *testing.F) {
	dir, err := os.MkdirTemp(f.TempDir(), "seed")
	if err != nil {
		f.Fatal(err)
	}
	h, err := OpenHome(dir)
	if err != nil {
		f.Fatal(err)
	}
	k := newTalk(f, h)
	k.own(create(f, h, sessionID))
	k.say("words")
	k.work(1)
	shut(f, k.s)
	k.own(open(f, h, sessionID))
	k.say("more")
	k.settle()
	shut(f, k.s)
	d := dirOf(h, sessionID)
	one, two := read(f, d.segment(1)), read(f, d.segment(2))
	f.Add(one, two)
	f.Add(two, one)
	f.Add(one[:len(one)/2], two[len(two)/2:])
	f.Add([]byte{}, two)
	f.Add([]byte("{}\n\n[1]\n"), []byte("{}\n\x00"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		h := quick(newHome(t))
		plant(t, h, one)
		d := dirOf(h, sessionID)
		put(t, d.todo(), []byte("{}"))
		if len(two) > 0 {
			put(t, d.segment(2), two)
		}
		files := snapshot(t, d.path)
		_, err := h.Examine(sessionID)
		if snapshot(t, d.path) != files {
			t.Fatal("looking changed files")
		}
		if err != nil {
			if !errors.As(err, new(*NewerError)) && !errors.As(err, new(*UnfinishedError)) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		mend(t, h)
		goesOn(t, h)
	})
}
