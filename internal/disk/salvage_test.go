package disk

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
)

// A sealed segment that lacks only its last byte, a line feed, has lost
// nothing; nor has its last line if another line was changed as well.
func TestE22_BC29_SealedSegmentWithoutItsLastLineFeed(t *testing.T) {
	for _, other := range []bool{false, true} {
		h := quick(newHome(t))
		s := create(t, h, sessionID)
		add(t, s, facts("A"), prompt("b"))
		shut(t, s)
		shut(t, open(t, h, sessionID))
		d := dirOf(h, sessionID)
		all, err := h.Read(sessionID)
		if err != nil {
			t.Fatal(err)
		}
		data := read(t, d.segment(1))
		put(t, d.segment(1), data[:len(data)-1])
		if other {
			change(t, d.segment(1), 3, `"A"`, `"X"`)
		}
		found, err := h.Examine(sessionID)
		if err != nil || !hasFault(found.Faults, SealMismatch, d.segment(1)) {
			t.Fatalf("%v, %v", found, err)
		}
		m, entries := mend(t, h)
		if len(m.Skipped) > 0 || len(m.Taken) > 0 || len(entries) != len(all.Entries)+2 {
			t.Errorf("%+v: %d entries, there were %d", m, len(entries), len(all.Entries))
		}
		m, _ = mend(t, h) // nothing is left to do
		if m.Segment != "" {
			t.Errorf("again: %+v", m)
		}
		change(t, d.segment(2), 1, "{", "[") // and judged anew
		if _, entries := mend(t, h); entries[3].ID.Seq != 4 || entries[3].Kind() != "arrive" {
			t.Errorf("entry 4 is %+v", entries[3])
		}
	}
}

// What arrived after the lost part can't have been delivered in it: an
// acknowledged message waits on, whatever stands in the place of a segment.
func TestE22_BC28_WhatArrivedAfterTheLossWaitsOn(t *testing.T) {
	harms := plugs()
	harms["nothing"] = func(t testing.TB, path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	harms["another file"] = func(t testing.TB, path string) { put(t, path, []byte("{\"a\":1}\nhello\n")) }
	for what, harm := range harms {
		for _, token := range []int{2, 4} { // in the middle; the next one
			t.Run(fmt.Sprintf("%s in segment %d", what, token), func(t *testing.T) {
				h := quick(newHome(t))
				k := newTalk(t, h)
				k.own(create(t, h, sessionID))
				k.say("one")
				k.settle()
				shut(t, k.s)
				k.own(open(t, h, sessionID))
				k.say("two")
				k.settle()
				shut(t, k.s)
				k.own(open(t, h, sessionID))
				note, err := session.Inject("note", session.SystemNote, "remember")
				if err != nil {
					t.Fatal(err)
				}
				k.do(session.Arrives{Arrive: note})
				shut(t, k.s)
				d := dirOf(h, sessionID)
				if token == 4 && what == "nothing" {
					return
				}
				harm(t, d.segment(token))
				m, entries := mend(t, h)
				if len(m.Taken) > 0 {
					t.Errorf("taken: %+v; %v", m.Taken, m.Faults)
				}
				state, err := session.Fold(entries)
				if err != nil || len(state.Queue) != 1 || state.Queue[0].Text != "remember" {
					t.Errorf("waits: %+v, %v", state.Queue, err)
				}
			})
		}
	}
}

// A link in the place of the newest segment that leads to it shows that there
// was one, and what it held can't be known.
func TestE22_BC28_HiddenSegmentMayHaveDelivered(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	s := create(t, h, sessionID)
	add(t, s, prompt("once"))
	shut(t, s)
	k.own(open(t, h, sessionID))
	k.settle()
	shut(t, k.s)
	d := dirOf(h, sessionID)
	if err := errors.Join(os.Rename(d.segment(2), d.transcript()+"/moved"), os.Symlink("moved", d.segment(2))); err != nil {
		t.Fatal(err)
	}
	if m, _ := mend(t, h); len(m.Taken) != 1 {
		t.Errorf("%+v", m)
	}
}
