package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

func mender() Mender {
	return Mender{Owner: owner(), Build: "test", Now: noon().Add(2 * time.Hour), Header: header("")}
}

// files of a session by name, without what isn't history.
func history(t testing.TB, d directory) map[string]string {
	t.Helper()
	out := map[string]string{}
	des, err := d.listing()
	if err != nil && !errors.As(err, new(*DamageError)) {
		t.Fatal(err)
	}
	for _, de := range des {
		if de.Type().IsRegular() {
			out[de.Name()] = string(read(t, filepath.Join(d.transcript(), de.Name())))
		}
	}
	return out
}

// mend repairs a session and checks what holds after each repair: no file was
// changed or removed, a second look finds nothing, the log opens without a
// notice and can be folded, and a third owner reads the same.
func mend(t testing.TB, h *Home) (*Mending, []transcript.Entry) {
	t.Helper()
	d := dirOf(h, sessionID)
	before := history(t, d)
	m, err := h.Mend(sessionID, mender())
	if err != nil {
		t.Fatalf("mend: %v", err)
	}
	after := history(t, d)
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s was changed by the repair", name)
		}
	}
	again, err := h.Examine(sessionID)
	if err != nil || !again.Sound() {
		t.Fatalf("after the repair: %+v, %v\nbefore: %+v", again, err, m.Faults)
	}
	s := open(t, h, sessionID)
	if n := s.Notices(); len(n) > 0 {
		t.Errorf("notices after the repair: %q", n)
	}
	if _, err := session.Fold(s.Entries); err != nil {
		t.Errorf("fold after the repair: %v", err)
	}
	if s.Header.Session != sessionID {
		t.Errorf("header %+v", s.Header)
	}
	entries := s.Entries
	add(t, s, prompt("after the repair"))
	shut(t, s)
	log, err := h.Read(sessionID)
	if err != nil || len(log.Entries) != len(entries)+1 {
		t.Fatalf("read after the repair: %d entries, want %d, %v", len(log.Entries), len(entries)+1, err)
	}
	return m, entries
}

// Each kind of damage is named with file, line and offset, the repair leaves
// all files as they are, and what reads well is still there.
func TestE22_BC28_EachDamageIsNamedAndMended(t *testing.T) {
	for _, c := range damageCases() {
		t.Run(c.name, func(t *testing.T) {
			h := quick(newHome(t))
			all := threeSegments(t, h)
			d := dirOf(h, sessionID)
			c.do(t, d)
			files := snapshot(t, d.path)
			found, err := h.Examine(sessionID)
			if err != nil || found.Sound() {
				t.Fatalf("examined: %+v, %v", found, err)
			}
			if snapshot(t, d.path) != files {
				t.Error("looking changed files")
			}
			if !names(found.Faults, d.segment(c.segment), c.line) {
				t.Errorf("no fault in segment %d line %d: %v", c.segment, c.line, found.Faults)
			}
			m, entries := mend(t, h)
			if m.Segment == "" {
				t.Error("no segment with the repair")
			}
			got := map[transcript.ID]transcript.Entry{}
			for _, e := range entries {
				got[e.ID] = e
			}
			missing := 0
			for _, e := range all {
				if _, ok := got[e.ID]; !ok {
					missing++
				}
			}
			if missing > 8 {
				t.Errorf("%d of %d entries are gone", missing, len(all))
			}
		})
	}
}

// names reports whether a fault stands at a file's line.
func names(faults []Fault, file string, line int) bool {
	for _, f := range faults {
		if f.File == file && !f.Note && (line == 0 || f.Line == line || f.Line == line+1) {
			return true
		}
	}
	return false
}

func TestE22_BC29_TornTailIsNamedAndSetAside(t *testing.T) {
	for name, tail := range map[string]string{"a fragment": `{"id":"3-15","ki`, "NULs": "\x00\x00\x00\x00", "NULs and lines": "\x00\n\x00\n", "half a rune": "{\"id\":\"\xe4\xbd"} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			all := threeSegments(t, h)
			d := dirOf(h, sessionID)
			data := read(t, d.segment(3))
			put(t, d.segment(3), append(data[:len(data):len(data)], tail...))
			found, err := h.Examine(sessionID)
			if err != nil || len(found.Faults) != 1 || found.Faults[0].Kind != TornTail || found.Faults[0].Offset != int64(len(data)) || found.Faults[0].Length != int64(len(tail)) {
				t.Fatalf("%+v, %v", found, err)
			}
			_, entries := mend(t, h)
			same(t, "entries", entries[:len(all)], all)
			if got := string(read(t, filepath.Join(d.transcript(), "000003.torn"))); got != tail {
				t.Errorf("the copy holds %q", got)
			}
		})
	}
}

func TestE22_SoundSessionIsLeftAlone(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	files := snapshot(t, d.path)
	found, err := h.Examine(sessionID)
	if err != nil || !found.Sound() || len(found.Faults) > 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	m, err := h.Mend(sessionID, mender())
	if err != nil || m.Segment != "" || m.Todo || snapshot(t, d.path) != files {
		t.Errorf("%+v, %v: changed", m, err)
	}
}

func TestE23_DoctorRefusesASessionInUse(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	if _, err := h.Mend(sessionID, mender()); err == nil || !errors.As(err, new(*LockedError)) {
		t.Errorf("mended while owned: %v", err)
	}
	put(t, s.path, append(read(t, s.path), `{"id":`...)) // as if a record were just being written
	found, err := h.Examine(sessionID)
	if err != nil || !found.Sound() {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestC9_DoctorRefusesNewerVersions(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	change(t, d.segment(3), 3, `"v":1`, `"v":7`)
	files := snapshot(t, d.path)
	for _, do := range []func() error{
		func() error { _, err := h.Examine(sessionID); return err },
		func() error { _, err := h.Mend(sessionID, mender()); return err },
	} {
		asError[*NewerError](t, do())
	}
	if snapshot(t, d.path) != files {
		t.Error("a refusal changed files")
	}
}

// A number that is too new in bytes that aren't those that were sealed is
// damage, not a newer gamma's.
func TestC9_ChangedVersionInASealedSegmentIsDamage(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	change(t, dirOf(h, sessionID).segment(2), 2, `"v":1`, `"v":7`)
	m, _ := mend(t, h)
	if !names(m.Faults, dirOf(h, sessionID).segment(2), 2) {
		t.Errorf("%v", m.Faults)
	}
}

func TestE22_SwappedLinesCountInTheirPlaces(t *testing.T) {
	h := quick(newHome(t))
	all := threeSegments(t, h)
	d := dirOf(h, sessionID)
	lines := strings.SplitAfter(string(read(t, d.segment(3))), "\n")
	lines[2], lines[3] = lines[3], lines[2]
	put(t, d.segment(3), []byte(strings.Join(lines, "")))
	m, entries := mend(t, h)
	same(t, "entries", entries[:len(all)], all)
	if m.Moved || m.Left > 0 {
		t.Errorf("the conversation was changed: %+v", m)
	}
}

func TestE24_LostBlobIsNamedAndAccepted(t *testing.T) {
	h := quick(newHome(t))
	head := header(sessionID)
	sum := hashOf([]byte("body"))
	head.Preloaded = []transcript.SkillFact{{Name: "notes", Blob: sum}}
	s, err := h.Create(head, owner(), "test", noon())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutBlob([]byte("body")); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	path := filepath.Join(dirOf(h, sessionID).blobs(), sum)
	put(t, path, []byte("other"))
	found, err := h.Examine(sessionID)
	if err != nil || len(found.Faults) != 1 || found.Faults[0].Kind != BadBlob || found.Faults[0].File != path {
		t.Fatalf("%+v, %v", found, err)
	}
	mend(t, h)
	found, err = h.Examine(sessionID)
	if err != nil || len(found.Faults) != 1 || !found.Faults[0].Note {
		t.Errorf("afterwards: %+v, %v", found, err)
	}
}

// TestE24_LostContentOfAnUndoIsNamed: a rewind would need it.
func TestE24_LostContentOfAnUndoIsNamed(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	sum, err := s.PutBlob([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, &transcript.Result{Call: "c1.1", Output: transcript.Output{Undo: []transcript.FileState{{Path: "a.txt", Before: sum}, {Path: "new.txt"}}}})
	shut(t, s)
	if err := os.Remove(filepath.Join(dirOf(h, sessionID).blobs(), sum)); err != nil {
		t.Fatal(err)
	}
	found, err := h.Examine(sessionID)
	named := func(f Fault) bool { return f.Kind == BadBlob && strings.Contains(f.Reason, `"a.txt"`) }
	if err != nil || !slices.ContainsFunc(found.Faults, named) {
		t.Fatalf("%+v, %v", found, err)
	}
}

func TestS20_StaleTodoIsNamedAndWrittenAgain(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	put(t, d.todo(), []byte(`{"revision":9}`))
	found, err := h.Examine(sessionID)
	if err != nil || len(found.Faults) != 1 || found.Faults[0].Kind != StaleTodo {
		t.Fatalf("%+v, %v", found, err)
	}
	m, _ := mend(t, h)
	if !m.Todo || m.Segment != "" {
		t.Errorf("%+v", m)
	}
}

func TestE20_ForeignFilesAreNoted(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	put(t, filepath.Join(d.transcript(), "notes.txt"), []byte("x"))
	put(t, filepath.Join(d.transcript(), "000002.jsonl.bak"), []byte("x"))
	found, err := h.Examine(sessionID)
	if err != nil || !found.Sound() || len(found.Faults) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, f := range found.Faults {
		if f.Kind != Foreign || !f.Note {
			t.Errorf("%+v", f)
		}
	}
}

func TestE22_HeaderIsMadeAnewOfWhatCanBeRead(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	change(t, dirOf(h, sessionID).segment(1), 2, `"schema":1,`, `"schema":,`)
	m, entries := mend(t, h)
	if m.Header == nil || m.Header.Model != "script:x" || m.Header.Workspace != "/w" || m.Header.Mark != "MARKMARKMARK" {
		t.Errorf("header %+v", m.Header)
	}
	list, err := h.List()
	if err != nil || len(list) != 1 || list[0].Err != nil || list[0].Workspace != "/w" || list[0].Prompt == "" {
		t.Errorf("%+v, %v, %d entries", list, err, len(entries))
	}
}

func TestE22_MendedSessionCanBeDamagedAndMendedAgain(t *testing.T) {
	for line := 1; line <= 3; line++ {
		for token := 1; token <= 6; token++ {
			t.Run(fmt.Sprintf("segment %d line %d", token, line), func(t *testing.T) {
				h := quick(newHome(t))
				threeSegments(t, h)
				d := dirOf(h, sessionID)
				change(t, d.segment(3), 3, "{", "[")
				change(t, d.segment(1), 4, "{", "[")
				mend(t, h) // repair: 4, open: 5
				s := open(t, h, sessionID)
				add(t, s, prompt("f"), facts("F"))
				shut(t, s)
				data := read(t, d.segment(token))
				if strings.Count(string(data), "\n") < line {
					return
				}
				at := offsetOf(data, line-1)
				put(t, d.segment(token), append(append(append([]byte{}, data[:at]...), "garbage\n"...), data[at+1:]...))
				mend(t, h)
			})
		}
	}
}

// Entries that stand well in the log and contradict each other.
func TestE34_BC28_ContradictionsAreNamedAndLeft(t *testing.T) {
	for name, body := range map[string]func(k *talk) transcript.Body{
		"a request while calls are open": func(*talk) transcript.Body { return &transcript.Request{} },
		"a result without its call":      func(*talk) transcript.Body { return &transcript.Result{Call: "c77.1"} },
		"a second settle":                func(k *talk) transcript.Body { return &transcript.Settled{Run: k.state.Last.ID} },
		"a leaf record to nowhere":       func(*talk) transcript.Body { return &transcript.Leaf{To: transcript.ID{Epoch: 1, Seq: 3}} },
	} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			k := newTalk(t, h)
			k.own(create(t, h, sessionID))
			k.say("one")
			k.settle()
			settled := k.state.Last.Settled
			k.say("two")
			k.work(1)
			forged := add(t, k.s, body(k))[0]
			add(t, k.s, facts("behind it"))
			shut(t, k.s)
			found, err := h.Examine(sessionID)
			if err != nil || len(found.Faults) == 0 || found.Faults[0].Kind != Contradiction || found.Faults[0].Entry != forged.ID || found.Faults[0].Line != forged.ID.Seq {
				if name != "a leaf record to nowhere" { // the node behind it has the last word
					t.Fatalf("%+v, %v; want entry %s", found, err, forged.ID)
				}
				return
			}
			m, _ := mend(t, h)
			if !m.Moved || m.Leaf != settled {
				t.Errorf("it goes on behind %s, want %s", m.Leaf, settled)
			}
			goesOn(t, h)
		})
	}
}

// A run whose newest nodes are lost isn't gone on with: what they did can't be
// known.
func TestE22_BC28_LostEndOfARunLeavesTheRun(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	k.say("one")
	k.settle()
	settled := k.state.Last.Settled
	k.say("two")
	k.work(1) // an answer with two calls, and their intents
	k.say("three")
	shut(t, k.s)
	d := dirOf(h, sessionID)
	var keep []string
	for _, l := range strings.SplitAfter(string(read(t, d.segment(1))), "\n") {
		if e, err := transcript.Decode([]byte(l)); err == nil && e.IsNode() && e.ID.Seq > k.state.Req.Seq && e.ID.Seq > settled.Seq+3 && e.Kind() != "request" {
			continue
		}
		keep = append(keep, l)
	}
	put(t, d.segment(1), []byte(strings.Join(keep, "")))
	m, _ := mend(t, h)
	if !m.Moved || m.Leaf != settled || m.Left == 0 {
		t.Errorf("%+v, want to go on behind %s", m, settled)
	}
	goesOn(t, h)
}

func TestE22_BC31_CopyHoldsWhatIsSkipped(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	change(t, d.segment(3), 3, "{", "[")
	line := string(lineOf(read(t, d.segment(3)), 3))
	m, _ := mend(t, h)
	if got := string(read(t, m.Copy)); !strings.Contains(got, line) || !strings.Contains(got, "segment 3") {
		t.Errorf("the copy holds %q", got)
	}
	if len(m.Skipped) != 1 || m.Skipped[0].Length != int64(len(line)) {
		t.Errorf("skipped %+v", m.Skipped)
	}
}

// A byte changed in the list of a repair shows, though the list still reads well.
func TestE22_ChangedRepairIsDamage(t *testing.T) {
	h := quick(newHome(t))
	all := threeSegments(t, h)
	d := dirOf(h, sessionID)
	change(t, d.segment(3), 3, "{", "[")
	if _, err := h.Mend(sessionID, mender()); err != nil {
		t.Fatal(err)
	}
	change(t, d.segment(4), 1, `"skip":[{"offset":`, `"skip":[{"offset":1`)
	_, err := h.Read(sessionID)
	asError[*DamageError](t, err) // the old damage comes first
	m, entries := mend(t, h)
	if !names(m.Faults, d.segment(4), 1) || len(entries) < len(all) {
		t.Errorf("%d entries, %v", len(entries), m.Faults)
	}
}
