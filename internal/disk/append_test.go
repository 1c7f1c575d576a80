package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// faulty is a segment that fails as told.
type faulty struct {
	segmentFile
	short    int // >= 0: writes only this many bytes
	writeErr error
	syncErr  error
	writes   int
	syncs    int
}

func (f *faulty) Write(b []byte) (int, error) {
	f.writes++
	if f.short >= 0 && f.short < len(b) {
		n, err := f.segmentFile.Write(b[:f.short])
		return n, errors.Join(f.writeErr, err)
	}
	return f.segmentFile.Write(b)
}

func (f *faulty) Sync() error {
	f.syncs++
	if f.syncErr != nil {
		return f.syncErr
	}
	return f.segmentFile.Sync()
}

func TestE22_OneWriteAndOneSyncABatch(t *testing.T) {
	s := create(t, newHome(t), sessionID)
	f := &faulty{segmentFile: s.file, short: -1}
	s.file = f
	add(t, s, prompt("a"), facts("b"), facts("c"), prompt("d"))
	if err := s.Append(nil); err != nil {
		t.Error(err)
	}
	if f.writes != 1 || f.syncs != 1 {
		t.Errorf("%d writes, %d syncs", f.writes, f.syncs)
	}
}

func TestE22_R6_FailedAppendStopsTheSession(t *testing.T) {
	disk := func(e error) error { return &fs.PathError{Op: "write", Path: "p", Err: e} }
	for name, c := range map[string]struct {
		fault faulty
		cause error
		says  string
		kept  int // records of the failed batch of two that are whole
	}{
		"no space, nothing written":      {faulty{short: 0, writeErr: disk(syscall.ENOSPC)}, syscall.ENOSPC, "no space left on device. Make room", 0},
		"no space, some bytes written":   {faulty{short: 30, writeErr: disk(syscall.ENOSPC)}, syscall.ENOSPC, "Make room", 0},
		"no space, a record written":     {faulty{short: 190, writeErr: disk(syscall.ENOSPC)}, syscall.ENOSPC, "Make room", 1},
		"quota":                          {faulty{short: 0, writeErr: disk(syscall.EDQUOT)}, syscall.EDQUOT, "Make room", 0},
		"short write without an error":   {faulty{short: 30}, io.ErrShortWrite, "short write", 0},
		"input/output error at the sync": {faulty{short: -1, syncErr: disk(syscall.EIO)}, syscall.EIO, "may be failing", 2},
		"no space at the sync":           {faulty{short: -1, syncErr: disk(syscall.ENOSPC)}, syscall.ENOSPC, "Make room", 2},
		"read-only":                      {faulty{short: 0, writeErr: disk(syscall.EROFS)}, syscall.EROFS, "writable", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			s := create(t, h, sessionID)
			kept := add(t, s, prompt("kept"))
			real := s.file
			f := c.fault
			f.segmentFile = real
			s.file = &f
			err := s.Append(following(s, prompt("failed"), facts("failed")))
			if !errors.Is(err, ErrStopped) || !errors.Is(err, c.cause) {
				t.Fatalf("got %v", err)
			}
			contains(t, err, c.says, s.path, sessionID, "every acknowledged entry is kept")

			s.file = &faulty{segmentFile: real, short: -1} // the disk works again
			writes := s.file.(*faulty)
			if again := s.Append(following(s, prompt("later"))); again != err {
				t.Errorf("the second append got %v", again)
			}
			if todo := s.WriteTodo([]byte("{}")); todo != err {
				t.Errorf("WriteTodo got %v", todo)
			}
			if writes.writes+writes.syncs != 0 {
				t.Errorf("a stopped session wrote")
			}
			shut(t, s)
			s = open(t, h, sessionID)
			same(t, "acknowledged entries", s.Entries[2:3], kept)
			if n := len(s.Entries); n != 3+c.kept+1 {
				t.Errorf("%d entries", n)
			}
			add(t, s, prompt("goes on"))
		})
	}
}

func TestE22_ClosedSessionTakesNothing(t *testing.T) {
	s := create(t, newHome(t), sessionID)
	es := following(s, prompt("x"))
	shut(t, s)
	if err := s.Append(es); !errors.Is(err, ErrStopped) || !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// What couldn't be read again is not written.
func TestE22_RefusesEntriesThatDoNotFollow(t *testing.T) {
	id := func(e, q int) transcript.ID { return transcript.ID{Epoch: e, Seq: q} }
	for name, c := range map[string]struct {
		do   func(e *transcript.Entry)
		says string
	}{
		"a gap":                   {func(e *transcript.Entry) { e.ID = id(1, 5) }, "missing"},
		"a number again":          {func(e *transcript.Entry) { e.ID = id(1, 3) }, "used before"},
		"another epoch":           {func(e *transcript.Entry) { e.ID = id(2, 4) }, "segment 1"},
		"an unknown parent":       {func(e *transcript.Entry) { e.Parent = id(1, 9) }, "parent 1-9"},
		"a record as parent":      {func(e *transcript.Entry) { e.Parent = id(1, 2) }, "parent 1-2"},
		"itself as parent":        {func(e *transcript.Entry) { e.Parent = id(1, 4) }, "parent 1-4"},
		"an open entry":           {func(e *transcript.Entry) { e.Body = &transcript.Open{Segment: 1} }, "open entry"},
		"a header":                {func(e *transcript.Entry) { h := header("x"); e.Body = &h }, "session header"},
		"a version from tomorrow": {func(e *transcript.Entry) { e.V = 2 }, "version 2"},
		"JSON that is none": {func(e *transcript.Entry) {
			e.Body = &transcript.Result{Output: transcript.Output{Details: []byte("{")}}
		}, "1-4"},
		"JSON with a name twice": {func(e *transcript.Entry) {
			e.Body = &transcript.Result{Output: transcript.Output{Details: []byte(`{"a":1,"a":2}`)}}
		}, "1-4"},
		"a raw item of two values": {func(e *transcript.Entry) { e.Body = &transcript.Answer{Parts: []llm.Part{{Raw: []byte(`1 2`)}}} }, "1-4"},
		"no id":                    {func(e *transcript.Entry) { e.ID = transcript.ID{} }, "id"},
	} {
		t.Run(name, func(t *testing.T) {
			h := quick(newHome(t))
			s := create(t, h, sessionID)
			add(t, s, facts("first"))
			es := following(s, facts("second"))
			c.do(&es[0])
			err := s.Append(es)
			if !errors.Is(err, ErrStopped) {
				t.Fatalf("got %v", err)
			}
			contains(t, err, c.says)
			shut(t, s)
			if s = open(t, h, sessionID); len(s.Entries) != 4 || s.Torn != nil {
				t.Errorf("%d entries, torn %v", len(s.Entries), s.Torn)
			}
		})
	}
}

func TestE22_TextThatIsNoUTF8CanBeReadAgain(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	add(t, s, prompt("cut \xe4\xbd"), facts("\xed\xa0\x80 \x00 \u2028 \ufeff"))
	shut(t, s)
	if s = open(t, h, sessionID); len(s.Entries) != 5 {
		t.Errorf("%d entries", len(s.Entries))
	}
}

// recorder notes what is asked of the system, in order.
type recorder struct {
	system
	did  []string
	fail map[string]error // by note
}

func (r *recorder) note(what, path string) error {
	note := what + " " + path[strings.LastIndexByte(path, '/')+1:]
	r.did = append(r.did, note)
	return r.fail[note]
}

func record(h *Home) *recorder {
	r := &recorder{system: h.sys, fail: map[string]error{}}
	h.sys = system{
		create: func(path string) (segmentFile, error) {
			if err := r.note("create", path); err != nil {
				return nil, err
			}
			f, err := r.system.create(path)
			return &recorded{f, r, path}, err
		},
		sync: func(path string) error {
			if err := r.note("sync", path); err != nil {
				return err
			}
			return r.system.sync(path)
		},
	}
	return r
}

type recorded struct {
	segmentFile
	r    *recorder
	path string
}

func (f *recorded) Write(b []byte) (int, error) {
	if err := f.r.note("write", f.path); err != nil {
		return 0, err
	}
	return f.segmentFile.Write(b)
}

func (f *recorded) Sync() error {
	if err := f.r.note("sync", f.path); err != nil {
		return err
	}
	return f.segmentFile.Sync()
}

func TestD5_OrderOfWrites(t *testing.T) {
	h := newHome(t)
	r := record(h)
	check := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(r.did, want) {
			t.Errorf("%s did %q, want %q", what, r.did, want)
		}
		r.did = nil
	}
	s := create(t, h, sessionID)
	check("Create", "sync "+sessionID, "sync sessions", "create 000001.jsonl", "sync transcript", "write 000001.jsonl", "sync 000001.jsonl")
	add(t, s, prompt("a"))
	check("Append", "write 000001.jsonl", "sync 000001.jsonl")
	shut(t, s)
	check("Close")
	s = open(t, h, sessionID)
	// The predecessor is synced before the line that seals it is written.
	check("Open", "create 000002.jsonl", "sync transcript", "sync 000001.jsonl", "write 000002.jsonl", "sync 000002.jsonl")
	if err := s.WriteTodo([]byte("{}")); err != nil {
		t.Error(err)
	}
	check("WriteTodo", "sync "+sessionID)
	if _, err := s.PutBlob([]byte("x")); err != nil {
		t.Error(err)
	}
	check("PutBlob", "sync "+sessionID, "sync blobs")
}

// Whatever step of an opening fails: the error names it, the session is
// unlocked and as it was, and a full disk doesn't fill up with segments.
func TestR6_FailedOpeningCanBeTriedAgain(t *testing.T) {
	for note, says := range map[string]string{
		"create 000002.jsonl": "create", "sync transcript": "sync", "sync 000001.jsonl": "sync",
		"write 000002.jsonl": "write", "sync 000002.jsonl": "sync",
	} {
		t.Run(note, func(t *testing.T) {
			h := newHome(t)
			s := create(t, h, sessionID)
			add(t, s, prompt("a"))
			shut(t, s)
			r := record(h)
			r.fail[note] = syscall.ENOSPC
			for range 3 {
				_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("got %v", err)
				}
				contains(t, err, says, sessionID, "no space left", "Make room", note[strings.Index(note, " ")+1:])
			}
			clear(r.fail)
			s = open(t, h, sessionID)
			if note != "sync 000002.jsonl" && s.Token != 2 {
				t.Errorf("token %d after openings that wrote nothing", s.Token)
			}
			if e := s.Entries[2]; e.ID != (transcript.ID{Epoch: 1, Seq: 3}) {
				t.Errorf("entry %v", e)
			}
		})
	}
}

func TestR6_FailedCreationLeavesNothing(t *testing.T) {
	for _, note := range []string{"sync " + sessionID, "sync sessions", "create 000001.jsonl", "sync transcript", "write 000001.jsonl", "sync 000001.jsonl"} {
		t.Run(note, func(t *testing.T) {
			h := newHome(t)
			r := record(h)
			r.fail[note] = syscall.ENOSPC
			_, err := h.Create(header(sessionID), owner(), "test", noon())
			contains(t, err, sessionID, "no space left", "Make room")
			if des, err := os.ReadDir(h.sessions()); err != nil || len(des) != 0 {
				t.Errorf("left %v, %v", des, err)
			}
			clear(r.fail)
			create(t, h, sessionID)
		})
	}
}

// A segment is created exclusively: if its name is taken under our lock, the
// lock means nothing here.
func TestD5_SegmentIsCreatedExclusively(t *testing.T) {
	h := newHome(t)
	shut(t, create(t, h, sessionID))
	r := record(h)
	real := h.sys.create
	h.sys.create = func(path string) (segmentFile, error) {
		put(t, path, []byte("somebody else's\n"))
		return real(path)
	}
	_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
	contains(t, err, "file locks don't work")
	if got := string(read(t, dirOf(h, sessionID).segment(2))); got != "somebody else's\n" {
		t.Errorf("the other's segment holds %q", got)
	}
	if slices.Contains(r.did, "write 000002.jsonl") {
		t.Error("it was written")
	}
}

// A former owner that still writes when the new segment appears: what it
// wrote before that is read, what it writes later is not.
func TestD5_WritesUntilTheNewSegmentAreRead(t *testing.T) {
	h := newHome(t)
	a := create(t, h, sessionID)
	add(t, a, prompt("a1"))
	if err := os.Remove(a.dir.lock()); err != nil {
		t.Fatal(err)
	}
	real := h.sys.create
	h.sys.create = func(path string) (segmentFile, error) {
		add(t, a, prompt("a2")) // acknowledged in the last moment
		return real(path)
	}
	b := open(t, h, sessionID)
	if n := len(b.Entries); n != 5 || b.Void != nil {
		t.Errorf("%d entries, void %v", n, b.Void)
	}
	if err := a.Append(following(a, prompt("a3"))); !errors.Is(err, ErrTaken) {
		t.Errorf("the former owner got %v", err)
	}
	shut(t, b)
	h.sys.create = real
	c := open(t, h, sessionID)
	if got := fmt.Sprint(len(c.Entries)); got != "6" || c.Torn != nil {
		t.Errorf("%s entries, torn %v", got, c.Torn)
	}
}

// Bytes behind a sealed length are never read, whatever they are.
func TestD5_LateWritesOfAFormerOwnerAreNotRead(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	add(t, s, prompt("a"))
	late, err := transcript.Encode(following(s, prompt("late"))[0])
	if err != nil {
		t.Fatal(err)
	}
	old := s.path
	shut(t, s)
	s = open(t, h, sessionID)
	want := append(slices.Clone(s.Entries), add(t, s, prompt("b"))...)
	shut(t, s)
	sealed := read(t, old)
	for _, text := range []string{string(late), string(late[:20]), "\x00\x00", "}\n"} {
		put(t, old, append(slices.Clone(sealed), text...))
		log, err := h.Read(sessionID)
		if err != nil || log.Torn != nil {
			t.Fatalf("torn %v, %v", log.Torn, err)
		}
		same(t, "entries read", log.Entries, want)
		tail, err := h.Tail(sessionID, 4)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tail", tail.Entries, want[len(want)-4:])
		if c, err := s.dir.chain(); err != nil {
			t.Fatal(err)
		} else if _, ok := c.tail(len(want)); !ok {
			t.Error("the tail needed the whole log")
		}
		s = open(t, h, sessionID)
		same(t, "entries", s.Entries[:len(s.Entries)-1], want)
		want = s.Entries
		shut(t, s)
	}
}

func TestD5_SegmentNumbersAndSeals(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	add(t, s, prompt("a"))
	data := read(t, s.path)
	shut(t, s)
	for _, name := range []string{"000004.jsonl", "7.torn", "000009.jsonl.bak", "notes.txt", "x12.jsonl", "99"} {
		put(t, s.dir.transcript()+"/"+name, nil)
	}
	s = open(t, h, sessionID)
	last := s.Entries[len(s.Entries)-1]
	o := last.Body.(*transcript.Open)
	if s.Token != 10 || last.ID != (transcript.ID{Epoch: 10, Seq: 4}) || o.Segment != 10 {
		t.Errorf("token %d, entry %s, segment %d", s.Token, last.ID, o.Segment)
	}
	if o.Why != transcript.OpenWake || o.Owner != owner() || o.Build != "test" {
		t.Errorf("open entry %+v", o)
	}
	if *o.Prev != (transcript.Sealed{Token: 1, Length: int64(len(data)), SHA256: hashOf(data)}) {
		t.Errorf("seal %+v", o.Prev)
	}
	if first, err := transcript.Decode(lineOf(read(t, s.path), 1)); err != nil || first.ID != last.ID {
		t.Errorf("first line %v, %v", first, err)
	}
}

// TestE2_ADeletedSessionTakesNothing: what is written to a file without a name
// is lost, so it isn't acknowledged. A directory that was moved still takes it.
func TestE2_ADeletedSessionTakesNothing(t *testing.T) {
	h := newHome(t)
	s := create(t, h, sessionID)
	add(t, s, prompt("a"))
	if err := os.RemoveAll(h.Dir() + "/sessions/" + sessionID); err != nil {
		t.Fatal(err)
	}
	err := s.Append(following(s, prompt("b")))
	if !errors.Is(err, ErrStopped) || !errors.Is(err, ErrGone) {
		t.Errorf("the append says %v", err)
	}
}

// TestE23_ALinkedLockIsNotFollowed: a lock that is a link would be emptied
// where it leads to.
func TestE23_ALinkedLockIsNotFollowed(t *testing.T) {
	h := newHome(t)
	create(t, h, sessionID).Close()
	precious := t.TempDir() + "/precious"
	if err := os.WriteFile(precious, []byte("words"), 0o600); err != nil {
		t.Fatal(err)
	}
	lock := h.Dir() + "/sessions/" + sessionID + "/lock"
	if err := errors.Join(os.Remove(lock), os.Symlink(precious, lock)); err != nil {
		t.Fatal(err)
	}
	if s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon()); err == nil {
		s.Close()
		t.Error("a linked lock was taken")
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "words" {
		t.Errorf("the file behind the link holds %q (%v)", b, err)
	}
}
