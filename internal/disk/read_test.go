package disk

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

func TestE23_ReadWhileAnotherOwns(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	add(t, s, prompt("a"))
	shut(t, s)
	s = open(t, h, sessionID)
	want := append(slices.Clone(s.Entries), add(t, s, prompt("作成"), facts("b"))...)
	next, err := transcript.Encode(following(s, prompt("作成"))[0])
	if err != nil {
		t.Fatal(err)
	}
	whole := read(t, s.path)
	for cut := range next { // the owner is in the middle of a write
		put(t, s.path, append(slices.Clone(whole), next[:cut]...))
		log, err := h.Read(sessionID)
		if err != nil || log.Torn != nil || log.Void != nil {
			t.Fatalf("cut %d: torn %v, void %v, %v", cut, log.Torn, log.Void, err)
		}
		same(t, "entries", log.Entries, want)
		tail, err := h.Tail(sessionID, 2)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tail", tail.Entries, want[len(want)-2:])
	}
	put(t, s.dir.segment(3), nil) // the next owner is on its way
	if log, err := h.Read(sessionID); err != nil || log.Void != nil || log.Torn != nil {
		t.Errorf("%v, %v", log, err)
	}
	shut(t, s)
	if log, err := h.Read(sessionID); err != nil || len(log.Void) != 1 || log.Torn == nil {
		t.Errorf("nobody owns it: void %v, torn %v, %v", log.Void, log.Torn, err)
	}
}

func TestE23_ReadingChangesNothing(t *testing.T) {
	h := newHome(t)
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	put(t, d.segment(3), append(read(t, d.segment(3)), "{"...))
	if err := os.Remove(d.lock()); err != nil {
		t.Fatal(err)
	}
	files := snapshot(t, h.Dir())
	log, err := h.Read(sessionID)
	if err != nil || log.Torn == nil || log.Header.Mark != "MARKMARKMARK" || log.ID != sessionID {
		t.Fatalf("%+v, %v", log, err)
	}
	if _, err := h.Tail(sessionID, 3); err != nil {
		t.Error(err)
	}
	if _, err := h.List(); err != nil {
		t.Error(err)
	}
	if _, err := h.Find("0192"); err != nil {
		t.Error(err)
	}
	if snapshot(t, h.Dir()) != files {
		t.Error("files were changed")
	}
}

// Large segments are decoded in pieces. Every line must come out once, in
// order, and damage at the same place, wherever the pieces meet.
func TestE25_PiecesGiveTheSameAnswer(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	var want []transcript.Entry
	for i := range 300 {
		want = append(want, add(t, s, prompt(fmt.Sprint(i)), facts(strings.Repeat("x", i*13%4000)))...)
	}
	shut(t, s)
	data := read(t, s.path)
	if len(data) < 3*pieceBytes {
		t.Fatalf("only %d bytes", len(data))
	}
	s = open(t, h, sessionID)
	same(t, "entries", s.Entries[2:602], want)
	shut(t, s)
	for _, line := range []int{1, 150, 299, 300, 301, 302, 303, 450, 601} {
		at := offsetOf(data, line)
		bad := slices.Clone(data)
		bad[at] = '['
		bad[offsetOf(data, 500)] = '[' // a later one is not the first
		entries, b := decodeLines(bad)
		if n := min(line, 500); b == nil || len(entries) != n || b.number != n+1 || b.offset != offsetOf(data, n) {
			t.Errorf("line %d: %d entries, bad line %+v", line, len(entries), b)
		}
	}
}

func TestE25_TailOfEveryLength(t *testing.T) {
	h := quick(newHome(t))
	all := threeSegments(t, h)
	for n := range len(all) + 3 {
		log, err := h.Tail(sessionID, n)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("tail %d", n), log.Entries, all[max(0, len(all)-n):])
		if log.Header.Session != sessionID || log.ID != sessionID {
			t.Errorf("header %+v", log.Header)
		}
	}
	s := open(t, h, sessionID)
	all = s.Entries
	all = append(all, add(t, s, facts(strings.Repeat("é", 3*windowBytes)), prompt("last"))...)
	shut(t, s)
	for n := range 5 {
		log, err := h.Tail(sessionID, n)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("tail %d with a long record", n), log.Entries, all[len(all)-n:])
	}
}

func TestE25_TailReadsOnlyTheEnd(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	for range 40 {
		add(t, s, facts(strings.Repeat("x", windowBytes/4)))
	}
	shut(t, s)
	data := read(t, s.path)
	for i := range data[:len(data)/2] {
		if i > 1000 {
			data[i] = 0
		}
	}
	put(t, s.path, data)
	log, err := h.Tail(sessionID, 5)
	if err != nil || len(log.Entries) != 5 || log.Entries[4].ID.Seq != 42 {
		t.Errorf("%v, %v", log, err)
	}
}

func TestE25_TailFallsBackToTheWholeStory(t *testing.T) {
	for _, c := range damageCases() {
		seen := strings.HasPrefix(c.reason, "not an") || strings.Contains(c.reason, "missing") || strings.Contains(c.reason, "stands in")
		if c.segment != 3 || c.line < 2 || !seen {
			continue // Tail doesn't judge what an entry refers to
		}
		h := quick(newHome(t))
		all := threeSegments(t, h)
		c.do(t, dirOf(h, sessionID))
		log, err := h.Tail(sessionID, 4)
		e := asError[*DamageError](t, err)
		if e.Line != c.line {
			t.Errorf("%s: line %d", c.name, e.Line)
		}
		same(t, c.name, log.Entries, all[c.kept-4:c.kept])
	}
}
