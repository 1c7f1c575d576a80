package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// twoRecords makes a session whose segment ends with two records that have
// multi-byte runes, and returns the segment's bytes and all entries.
func twoRecords(t *testing.T) ([]byte, []transcript.Entry) {
	t.Helper()
	h := newHome(t)
	s := create(t, h, sessionID)
	want := append([]transcript.Entry{}, s.Entries...)
	want = append(want, add(t, s, prompt("first"), facts("one"))...)
	want = append(want, add(t, s, prompt("作成しました 🏳️‍⚧️"), facts("two \u2028 \" \\ é"))...)
	shut(t, s)
	return read(t, s.path), want
}

// plant makes a session of this one segment.
func plant(t testing.TB, h *Home, data []byte) {
	t.Helper()
	d := dirOf(h, sessionID)
	if err := os.RemoveAll(d.path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.transcript(), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, d.segment(1), data)
}

func TestE22_BC29_EveryCutOfTheLastTwoRecords(t *testing.T) {
	data, want := twoRecords(t)
	from := len(data) - len(lineOf(data, 5)) - len(lineOf(data, 6))
	h := quick(newHome(t))
	for cut := from; cut <= len(data); cut++ {
		plant(t, h, data[:cut])
		kept := bytes.Count(data[:cut], []byte("\n"))
		whole := bytes.LastIndexByte(data[:cut], '\n') + 1

		s := open(t, h, sessionID)
		same(t, "entries", s.Entries[:len(s.Entries)-1], want[:kept])
		if (s.Torn != nil) != (whole < cut) {
			t.Fatalf("cut at %d: torn %v", cut, s.Torn)
		}
		if s.Torn != nil {
			if s.Torn.Offset != int64(whole) || s.Torn.Bytes != int64(cut-whole) || s.Torn.File != dirOf(h, sessionID).segment(1) {
				t.Fatalf("cut at %d: %+v", cut, s.Torn)
			}
			if got := read(t, s.Torn.Copy); !bytes.Equal(got, data[whole:cut]) {
				t.Fatalf("cut at %d: the copy holds %q, want %q", cut, got, data[whole:cut])
			}
		}
		more := add(t, s, prompt("after"), facts("after"))
		shut(t, s)
		if !bytes.Equal(read(t, dirOf(h, sessionID).segment(1)), data[:cut]) {
			t.Fatalf("cut at %d: the torn file was changed", cut)
		}

		again := open(t, h, sessionID)
		all := append(append([]transcript.Entry{}, s.Entries...), more...)
		same(t, "entries after a further opening", again.Entries[:len(again.Entries)-1], all)
		if again.Torn != nil {
			t.Fatalf("cut at %d: a sealed tail is reported again: %v", cut, again.Torn)
		}
		shut(t, again)
		if t.Failed() {
			t.Fatalf("at cut %d", cut)
		}
	}
}

// Each round cuts the newest segment somewhere, opens, and appends. A cut may
// fall into the open line itself or leave the file empty: that segment is
// void.
func TestE22_BC29_CutAndOpenAgainAndAgain(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	all := append([]transcript.Entry{}, s.Entries...)
	voids := 0
	for round := range 150 {
		all = append(all, add(t, s, prompt("作成"), facts("🏳️‍⚧️"))...)
		shut(t, s)
		data := read(t, s.path)
		cut := (round * 37) % (len(data) + 1)
		if round == 0 {
			cut = len(data) - 5 // the first segment keeps its header
		}
		if err := os.Truncate(s.path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		lost := bytes.Count(data[cut:], []byte("\n"))
		all = all[:len(all)-lost]
		was := s.Token
		s = open(t, h, sessionID)
		same(t, "entries", s.Entries[:len(s.Entries)-1], all)
		if s.Token != was+1 {
			t.Errorf("token %d follows %d", s.Token, was)
		}
		if void := len(s.Void) > 0 && s.Void[0].Token == was && s.Void[0].Bytes == int64(cut); void != (lost == 3) {
			t.Errorf("cut %d of %d (lost %d): void %v", cut, len(data), lost, s.Void)
		} else if void {
			voids++
		}
		all = append(all, s.Entries[len(s.Entries)-1])
		if t.Failed() {
			t.Fatalf("in round %d, cut at %d of %d", round, cut, len(data))
		}
	}
	if voids < 10 {
		t.Errorf("only %d rounds cut into the open line", voids)
	}
}

func TestE22_BC29_WhatATornTailCanLookLike(t *testing.T) {
	data, want := twoRecords(t)
	last := lineOf(data, 6)
	half := last[:len(last)/2]
	for name, tail := range map[string]string{
		"half a record":                  string(half),
		"half a record and a newline":    string(half) + "\n",
		"all but the newline":            strings.TrimSuffix(string(last), "\n"),
		"NULs":                           strings.Repeat("\x00", 5000),
		"NULs and a newline":             strings.Repeat("\x00", 100) + "\n",
		"half a record and NULs":         string(half) + strings.Repeat("\x00", 100),
		"NULs and half a record":         strings.Repeat("\x00", 100) + string(half),
		"a record with NULs inside":      string(half) + strings.Repeat("\x00", len(last)-len(half)-1) + "\n",
		"cut inside a rune":              `{"id":"1-7","body":{"text":"` + "\xe4\xbd",
		"invalid UTF-8 and a newline":    `{"id":"1-7","body":{"text":"` + "\xe4\xbd" + `"}}` + "\n",
		"an empty line":                  "\n",
		"several bad lines":              "x\ny\n{\n",
		"a bad line and a cut record":    "x\n" + string(half),
		"a number":                       "17\n",
		"a string that looks like a log": `"{}"` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			plant(t, h, append(append([]byte{}, data...), tail...))

			log, err := h.Read(sessionID)
			if err != nil || log.Torn == nil || log.Torn.Copy != "" || log.Torn.Bytes != int64(len(tail)) {
				t.Fatalf("read: torn %+v, %v", log.Torn, err)
			}
			same(t, "entries read", log.Entries, want)

			s := open(t, h, sessionID)
			same(t, "entries", s.Entries[:len(want)], want)
			if s.Torn == nil || string(read(t, s.Torn.Copy)) != tail {
				t.Fatalf("torn %+v", s.Torn)
			}
			put(t, s.dir.segment(3), []byte("{"))
			vanish(s)
			put(t, s.path, read(t, s.path)[:50])
			s = open(t, h, sessionID)
			text := strings.Join(s.Notices(), "\n")
			for _, place := range []string{s.Torn.Copy, s.Torn.File, s.dir.segment(2), s.dir.segment(3)} {
				if !strings.Contains(text, place) {
					t.Errorf("the notices don't name %s:\n%s", place, text)
				}
			}
		})
	}
}

// A line that was written whole is no torn write, whatever is wrong with it:
// setting it aside would lose an acknowledged entry in silence.
func TestE22_WholeLastLineIsNeverSetAside(t *testing.T) {
	data, _ := twoRecords(t)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(lineOf(data, 6), &fields); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"newer version":     {map[string]string{"id": `"1-7"`, "v": "9"}, "entry version 9"},
		"newer shape":       {map[string]string{"id": `{"new":1}`, "v": "2"}, "entry version 2"},
		"no id":             {map[string]string{"id": `""`}, "line 7"},
		"body of no object": {map[string]string{"id": `"1-7"`, "body": "3"}, "line 7"},
		"the same again":    {nil, "used before"},
	} {
		t.Run(name, func(t *testing.T) {
			line := map[string]json.RawMessage{}
			for k, v := range fields {
				line[k] = v
			}
			for k, v := range c.change {
				line[k] = json.RawMessage(v)
			}
			text, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			h := quick(newHome(t))
			plant(t, h, append(append([]byte{}, data...), append(text, '\n')...))
			_, err = h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			contains(t, err, c.want)
			log, err := h.Read(sessionID)
			contains(t, err, c.want)
			if len(log.Entries) != 6 {
				t.Errorf("%d entries can be read, want 6", len(log.Entries))
			}
		})
	}
}

// An opening that is stopped after the copy finds the same fragment again.
func TestE22_FragmentIsCopiedOnceAndNeverOverwritten(t *testing.T) {
	data, _ := twoRecords(t)
	h := quick(newHome(t))
	plant(t, h, data[:len(data)-3])
	d := dirOf(h, sessionID)
	first := filepath.Join(d.transcript(), "000001.torn")

	s := open(t, h, sessionID)
	if s.Torn.Copy != first {
		t.Fatalf("the copy is %s", s.Torn.Copy)
	}
	shut(t, s)
	put(t, s.path, nil) // the seal never reached the disk
	s = open(t, h, sessionID)
	if s.Torn == nil || s.Torn.Copy != first {
		t.Errorf("the same fragment again: %+v", s.Torn)
	}
	shut(t, s)
	put(t, s.path, nil)
	put(t, first, []byte("another one"))
	s = open(t, h, sessionID)
	if s.Torn.Copy != first+".2" || string(read(t, first)) != "another one" {
		t.Errorf("another fragment: %+v", s.Torn)
	}
}

func TestE22_FragmentThatCannotBeCopiedStopsTheOpening(t *testing.T) {
	data, _ := twoRecords(t)
	h := quick(newHome(t))
	plant(t, h, data[:len(data)-3])
	d := dirOf(h, sessionID)
	syncs := 0
	h.sys.sync = func(path string) error {
		if path == d.transcript() {
			syncs++
		}
		if syncs == 2 { // the first one is for the new segment
			return syscall.EIO
		}
		return nil
	}
	_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
	contains(t, err, "copy the fragment", "000001")
	if _, err := os.Stat(d.segment(2)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a segment was left behind: %v", err)
	}
	open(t, h, sessionID)
}

// What isn't a file isn't an earlier copy, and isn't waited for.
func TestE22_FragmentIsCopiedBesideAnythingElse(t *testing.T) {
	data, _ := twoRecords(t)
	for what, plug := range plugs() {
		if what == "a link to nothing" {
			continue // nothing is lost with it
		}
		t.Run(what, func(t *testing.T) {
			h := quick(newHome(t))
			plant(t, h, data[:len(data)-3])
			d := dirOf(h, sessionID)
			plug(t, filepath.Join(d.transcript(), "000001.torn"))
			if s := open(t, h, sessionID); s.Torn == nil || filepath.Base(s.Torn.Copy) != "000001.torn.2" {
				t.Errorf("%+v", s.Torn)
			}
		})
	}
}
