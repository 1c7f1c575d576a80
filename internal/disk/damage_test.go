package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// threeSegments makes a session of three segments:
//
//	1: open, header, arrive, facts, arrive, facts      (1-1 … 1-6)
//	2: open, arrive, facts                             (2-7 … 2-9)
//	3: open, arrive, facts, arrive, facts              (3-10 … 3-14)
func threeSegments(t *testing.T, h *Home) []transcript.Entry {
	t.Helper()
	s := create(t, h, sessionID)
	add(t, s, prompt("a"), facts("A"), prompt("b"), facts("B"))
	shut(t, s)
	s = open(t, h, sessionID)
	add(t, s, prompt("c"), facts("C"))
	shut(t, s)
	s = open(t, h, sessionID)
	add(t, s, prompt("d"), facts("D"), prompt("e"), facts("E"))
	shut(t, s)
	log, err := h.Read(sessionID)
	if err != nil || len(log.Entries) != 14 {
		t.Fatalf("%d entries, %v", len(log.Entries), err)
	}
	return log.Entries
}

// change replaces a part of one line of a segment.
func change(t *testing.T, path string, line int, old, new string) {
	t.Helper()
	data := read(t, path)
	lines := bytes.SplitAfter(data, []byte("\n"))
	changed := bytes.Replace(lines[line-1], []byte(old), []byte(new), 1)
	if bytes.Equal(changed, lines[line-1]) {
		t.Fatalf("no %q in %q", old, lines[line-1])
	}
	lines[line-1] = changed
	put(t, path, bytes.Join(lines, nil))
}

// damageCase changes a session of threeSegments. Then the damage stands in
// the segment at line and byte (byte -1: at the line's beginning as it was
// before), and the first kept entries are still readable.
type damageCase struct {
	name    string
	do      func(t *testing.T, d directory)
	segment int
	line    int
	kept    int
	reason  string
}

func damageCases() []damageCase {
	edit := func(token, line int, old, new string) func(*testing.T, directory) {
		return func(t *testing.T, d directory) { change(t, d.segment(token), line, old, new) }
	}
	remove := func(token int) func(*testing.T, directory) {
		return func(t *testing.T, d directory) {
			if err := os.Remove(d.segment(token)); err != nil {
				t.Fatal(err)
			}
		}
	}
	rewrite := func(token int, f func([]byte) []byte) func(*testing.T, directory) {
		return func(t *testing.T, d directory) { put(t, d.segment(token), f(read(t, d.segment(token)))) }
	}
	nul := func(b []byte) []byte {
		at := bytes.Index(b, lineOf(b, 3))
		return append(append(append([]byte{}, b[:at]...), make([]byte, len(lineOf(b, 3)))...), b[at+len(lineOf(b, 3)):]...)
	}
	return []damageCase{
		{"a bad line before good ones", edit(3, 3, "{", "["), 3, 3, 11, "not an entry"},
		{"bad UTF-8 before good lines", edit(3, 3, `"D"`, "\"\xe4\xbd\""), 3, 3, 11, "not an entry"},
		{"an empty line", edit(3, 3, "{", "\n{"), 3, 3, 11, "not an entry"},
		{"a record of NULs", rewrite(3, nul), 3, 3, 11, "not an entry"},
		{"two records on one line", edit(3, 3, "\n", ""), 3, 3, 11, "not an entry"},
		{"a fragment with a record glued on", edit(3, 2, "}\n", ""), 3, 2, 10, "not an entry"},
		{"a name twice", edit(3, 3, `"v":1`, `"v":1,"v":1`), 3, 3, 11, "not an entry"},
		{"a node without a parent", edit(3, 3, `"parent":"2-9",`, ``), 3, 3, 11, "a node has a parent"},
		{"a missing line", edit(3, 3, string(`{"id":"3-12"`), "\x00{"), 3, 3, 11, "not an entry"},
		{"a gap", rewrite(3, func(b []byte) []byte { return bytes.Replace(b, lineOf(b, 3), nil, 1) }), 3, 3, 11, "entries are missing"},
		{"a line twice", rewrite(3, func(b []byte) []byte {
			return bytes.Replace(b, lineOf(b, 3), append(append([]byte{}, lineOf(b, 3)...), lineOf(b, 3)...), 1)
		}), 3, 4, 12, "used before"},
		{"two lines swapped", rewrite(3, func(b []byte) []byte {
			l := bytes.SplitAfter(b, []byte("\n"))
			l[2], l[3] = l[3], l[2]
			return bytes.Join(l, nil)
		}), 3, 3, 11, "entries are missing"},
		{"a wrong epoch", edit(3, 3, `"id":"3-12"`, `"id":"2-12"`), 3, 3, 11, "stands in segment 3"},
		{"a parent that doesn't exist", edit(3, 3, `"parent":"2-9"`, `"parent":"2-99"`), 3, 3, 11, "parent 2-99"},
		{"a parent of another epoch", edit(3, 3, `"parent":"2-9"`, `"parent":"1-9"`), 3, 3, 11, "parent 1-9"},
		{"a parent that is no node", edit(3, 3, `"parent":"2-9"`, `"parent":"2-8"`), 3, 3, 11, "parent 2-8"},
		{"an entry that is its own parent", edit(3, 3, `"parent":"2-9"`, `"parent":"3-12"`), 3, 3, 11, "parent 3-12"},
		{"a second open entry", rewrite(3, func(b []byte) []byte {
			l := bytes.SplitAfter(b, []byte("\n"))
			l[2] = bytes.Replace(l[0], []byte(`"3-10"`), []byte(`"3-12"`), 1)
			return bytes.Join(l, nil)
		}), 3, 3, 11, "open entry"},
		{"a second header", edit(3, 2, `"kind":"arrive"`, `"kind":"session"`), 3, 2, 10, "session header"},
		{"a bad first line before good ones", edit(3, 1, "{", "("), 3, 1, 9, "not an entry"},
		{"a byte order mark", edit(3, 1, "{", "\ufeff{"), 3, 1, 9, "not an entry"},
		{"a first line that opens nothing", edit(3, 1, `"kind":"open"`, `"kind":"label"`), 3, 1, 9, "open entry"},
		{"the segment of another number", edit(3, 1, `"segment":3`, `"segment":4`), 3, 1, 9, "open entry of segment 3"},
		{"a newest segment of NULs", rewrite(3, func(b []byte) []byte { return make([]byte, openMax+1) }), 3, 1, 9, "not an entry"},
		{"a first segment without end", edit(3, 1, `"prev":`, `"past":`), 3, 1, 9, "no segment before it"},
		{"a first segment that isn't", edit(1, 1, `"segment":1`, `"segment":1,"prev":{"token":1,"length":9}`), 1, 1, 0, "names one before it"},
		{"a seal of itself", edit(3, 1, `"token":2`, `"token":3`), 3, 1, 9, "can't continue segment 3"},
		{"a seal of a later segment", edit(3, 1, `"token":2`, `"token":8`), 3, 1, 9, "can't continue segment 8"},
		{"a seal of nothing", edit(3, 1, `"length":`, `"length":0,"was":`), 3, 1, 9, "with 0 bytes"},
		{"a missing segment", remove(2), 2, 0, 6, "missing"},
		{"a missing first segment", remove(1), 1, 0, 0, "missing"},
		{"a letter changed in a sealed segment", edit(2, 3, `"C"`, `"X"`), 2, 0, 9, "differ"},
		{"a bad line in a sealed segment", edit(2, 3, "{", "["), 2, 3, 8, "not an entry"},
		{"a bad first line of a sealed segment", edit(2, 1, "{", "["), 2, 1, 6, "not an entry"},
		{"a cut in a sealed segment", rewrite(2, func(b []byte) []byte { return b[:len(b)-4] }), 2, 3, 8, "cut off"},
		{"a sealed segment without its last line", rewrite(2, func(b []byte) []byte { return b[:len(b)-len(lineOf(b, 3))] }), 2, 3, 8, "ends here"},
		{"an empty sealed segment", rewrite(2, func(b []byte) []byte { return nil }), 2, 1, 6, "can't be read"},
		{"a line more in a sealed segment", edit(1, 3, "{", `{}`+"\n{"), 1, 3, 2, "no id"},
		{"the header of another session", edit(1, 2, sessionID, "0192ffff"), 1, 2, 0, "transcript of session 0192ffff"},
		{"no header", edit(1, 2, `"kind":"session"`, `"kind":"label"`), 1, 2, 0, "session header"},
		{"a bad header", edit(1, 2, `{`, `(`), 1, 2, 0, "not an entry"},
		{"two damages: the first is named", func(t *testing.T, d directory) {
			change(t, d.segment(3), 3, "{", "[")
			change(t, d.segment(1), 4, "{", "[")
		}, 1, 4, 3, "not an entry"},
		{"a sealed segment without its header", rewrite(1, func(b []byte) []byte { return lineOf(b, 1) }), 1, 2, 0, "header is missing"},
		{"a missing segment behind a lost header", func(t *testing.T, d directory) {
			remove(2)(t, d)
			rewrite(1, func(b []byte) []byte { return lineOf(b, 1) })(t, d)
		}, 2, 0, 0, "missing"},
		{"a missing segment behind late writes", func(t *testing.T, d directory) {
			remove(2)(t, d)
			rewrite(1, func(b []byte) []byte { return append(b, "{"...) })(t, d)
		}, 2, 0, 6, "missing"},
		{"a missing segment behind a bad line", func(t *testing.T, d directory) {
			remove(2)(t, d)
			change(t, d.segment(1), 4, "{", "[")
		}, 1, 4, 3, "not an entry"},
		{"a newest segment that is a link", func(t *testing.T, d directory) {
			data := read(t, d.segment(3))
			put(t, d.transcript()+"/elsewhere", data)
			if err := errors.Join(os.Remove(d.segment(3)), os.Symlink("elsewhere", d.segment(3))); err != nil {
				t.Fatal(err)
			}
		}, 3, 0, 9, "regular file"},
	}
}

func TestE22_BC28_DamageIsFoundAtItsPlace(t *testing.T) {
	for _, c := range damageCases() {
		t.Run(c.name, func(t *testing.T) {
			h := quick(newHome(t))
			all := threeSegments(t, h)
			d := dirOf(h, sessionID)
			before := read(t, d.segment(c.segment))
			c.do(t, d)
			files := snapshot(t, d.path)

			_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			e := asError[*DamageError](t, err)
			var offset int64
			if c.line > 0 {
				offset = offsetOf(before, c.line-1)
			}
			if e.File != d.segment(c.segment) || e.Line != c.line || e.Offset != offset || e.Session != sessionID {
				t.Errorf("damage at %s line %d byte %d, want segment %d line %d byte %d", e.File, e.Line, e.Offset, c.segment, c.line, offset)
			}
			contains(t, err, c.reason, e.File, "Nothing was changed", "backup", "gamma session show "+sessionID)
			if c.line > 0 {
				contains(t, err, fmt.Sprintf("line %d (byte %d)", c.line, offset))
			}

			log, err := h.Read(sessionID)
			if got := asError[*DamageError](t, err); *got != *e {
				t.Errorf("Read says %v, Open says %v", got, e)
			}
			if c.line != 0 || c.reason != "differ" {
				same(t, "entries before the damage", log.Entries, all[:c.kept:c.kept])
			} else if len(log.Entries) != c.kept {
				t.Errorf("%d entries, want %d", len(log.Entries), c.kept)
			}
			if snapshot(t, d.path) != files {
				t.Errorf("the session directory was changed")
			}
			_, err = h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			asError[*DamageError](t, err) // not a lock left behind
		})
	}
}

func TestE22_BC31_LastGoodEntryIsNamed(t *testing.T) {
	for _, c := range damageCases() {
		h := quick(newHome(t))
		all := threeSegments(t, h)
		c.do(t, dirOf(h, sessionID))
		log, err := h.Read(sessionID)
		e := asError[*DamageError](t, err)
		var want transcript.ID
		if c.kept > 0 {
			want = all[c.kept-1].ID
		}
		if c.reason == "differ" {
			want = all[5].ID // nothing of the changed segment is certain
		}
		if e.Good != want {
			t.Errorf("%s: the last good entry is %q, want %q", c.name, e.Good, want)
		}
		if log.Torn != nil {
			t.Errorf("%s: torn %v", c.name, log.Torn)
		}
	}
}

func TestC9_NewerTranscriptIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		segment, line int
		old, new      string
		want          string
		kept          int
	}{
		"entry":         {3, 3, `"v":1`, `"v":7`, "entry version 7", 11},
		"open entry":    {3, 1, `"v":1`, `"v":7`, "entry version 7", 9},
		"sealed":        {1, 3, `"v":1`, `"v":7`, "entry version 7", 2},
		"header":        {1, 2, `"schema":1`, `"schema":12`, "transcript schema 12", 0},
		"header's line": {1, 2, `"v":1`, `"v":3`, "entry version 3", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			threeSegments(t, h)
			d := dirOf(h, sessionID)
			change(t, d.segment(c.segment), c.line, c.old, c.new)
			files := snapshot(t, d.path)
			_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			e := asError[*NewerError](t, err)
			if e.File != d.segment(c.segment) || e.Line != c.line {
				t.Errorf("at %s line %d", e.File, e.Line)
			}
			contains(t, err, c.want, "reads up to 1", "use a newer gamma")
			log, err := h.Read(sessionID)
			asError[*NewerError](t, err)
			if len(log.Entries) != c.kept {
				t.Errorf("%d entries can be read, want %d", len(log.Entries), c.kept)
			}
			if snapshot(t, d.path) != files {
				t.Error("the session directory was changed")
			}
		})
	}
}

func TestE21_UnknownKindsAreKept(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	change(t, d.segment(3), 4, `"kind":"arrive"`, `"kind":"hologram"`)
	s := open(t, h, sessionID)
	if e := s.Entries[12]; e.Kind() != "hologram" {
		t.Errorf("entry 13 is %s", e.Kind())
	}
}

// A creation that was cut short left nothing that anybody was told of.
func TestE20_UnfinishedCreation(t *testing.T) {
	h := quick(newHome(t))
	create(t, h, "whole")
	data := read(t, dirOf(h, "whole").segment(1))
	d := dirOf(h, sessionID)
	check := func(what string) {
		t.Helper()
		_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
		e := asError[*UnfinishedError](t, err)
		if e.Dir != d.path {
			t.Errorf("%s: directory %s", what, e.Dir)
		}
		contains(t, err, "never finished", "start a new session", d.path)
		list, err := h.List()
		if err != nil || len(list) != 1 || list[0].ID != "whole" {
			t.Errorf("%s: listed %v, %v", what, list, err)
		}
		if _, err := h.Find(sessionID[:6]); err == nil {
			t.Errorf("%s: found by its beginning", what)
		}
		_, err = h.Create(header(sessionID), owner(), "test", noon())
		contains(t, err, "exists already")
	}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		t.Fatal(err)
	}
	check("directory only")
	if err := os.Mkdir(d.transcript(), 0o700); err != nil {
		t.Fatal(err)
	}
	check("no segment")
	for cut := 0; cut < len(data); cut += 7 {
		put(t, d.segment(1), data[:cut])
		check(fmt.Sprintf("cut at %d", cut))
	}
	put(t, d.segment(1), append(data[:len(data)-9:len(data)-9], make([]byte, 300)...))
	check("NULs at the end")
}

// What only looks like an unfinished creation is damage, and listed.
func TestE20_LostTranscriptIsNoUnfinishedCreation(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, d directory){
		"directory gone, files there": func(t *testing.T, d directory) {
			put(t, d.todo(), []byte("{}"))
			if err := os.RemoveAll(d.transcript()); err != nil {
				t.Fatal(err)
			}
		},
		"later segments there": func(t *testing.T, d directory) {
			put(t, d.segment(1), nil)
			put(t, d.segment(2), nil)
		},
		"a large file of NULs": func(t *testing.T, d directory) { put(t, d.segment(1), make([]byte, createMax+1)) },
		"records behind a bad header": func(t *testing.T, d directory) {
			change(t, d.segment(1), 2, "{", "[")
		},
		"records behind a bad first line": func(t *testing.T, d directory) {
			change(t, d.segment(1), 1, "{", "[")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			s := create(t, h, sessionID)
			add(t, s, prompt("a"))
			shut(t, s)
			do(t, dirOf(h, sessionID))
			_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			asError[*DamageError](t, err)
			list, err := h.List()
			if err != nil || len(list) != 1 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), "damaged") {
				t.Errorf("listed %+v, %v", list, err)
			}
		})
	}
}
