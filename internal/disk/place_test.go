package disk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// plugs put something else than a file under a name.
func plugs() map[string]func(testing.TB, string) {
	clear := func(t testing.TB, path string) {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(testing.TB, string){
		"a directory": func(t testing.TB, path string) {
			clear(t, path)
			if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"a link to a file": func(t testing.TB, path string) {
			clear(t, path)
			put(t, filepath.Join(filepath.Dir(path), "elsewhere"), []byte("hello\n"))
			if err := os.Symlink("elsewhere", path); err != nil {
				t.Fatal(err)
			}
		},
		"a link to nothing": func(t testing.TB, path string) {
			clear(t, path)
			if err := os.Symlink("nowhere", path); err != nil {
				t.Fatal(err)
			}
		},
		"a link to itself": func(t testing.TB, path string) {
			clear(t, path)
			if err := os.Symlink(filepath.Base(path), path); err != nil {
				t.Fatal(err)
			}
		},
		"a FIFO": func(t testing.TB, path string) {
			clear(t, path)
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a link to a device": func(t testing.TB, path string) {
			clear(t, path)
			if err := os.Symlink("/dev/zero", path); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// looks reads the session in every way that takes no lock.
func looks(t testing.TB, h *Home) {
	t.Helper()
	if _, err := h.List(); err != nil {
		t.Errorf("list: %v", err)
	}
	_, _ = h.Read(sessionID)
	_, _ = h.Tail(sessionID, 3)
	_, _ = h.Todo(sessionID)
	_, _ = h.OpenSpill(sessionID, "x")
	_, _ = h.Remove(sessionID, 1, noon(), true)
	if s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon()); err == nil {
		shut(t, s)
	}
}

// Whatever stands under a name of the session directory is named by the
// doctor and set aside by the repair, and nothing waits for it.
func TestE22_BC28_OtherKindsOfFilesAreNamedAndSetAside(t *testing.T) {
	names := map[string]func(directory) string{"lock": directory.lock, "todo.json": directory.todo}
	for name, path := range names {
		for what, plug := range plugs() {
			t.Run(name+" is "+what, func(t *testing.T) { setsAside(t, path, plug) })
		}
	}
	for name, path := range map[string]func(directory) string{"transcript": directory.transcript, "blobs": directory.blobs, "spill": directory.spill, "files": directory.files} {
		for what, plug := range plugs() {
			if what == "a directory" {
				continue
			}
			t.Run(name+" is "+what, func(t *testing.T) { setsAside(t, path, plug) })
		}
		t.Run(name+" is a file", func(t *testing.T) {
			setsAside(t, path, func(t testing.TB, path string) {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				put(t, path, []byte("words\n"))
			})
		})
	}
}

func setsAside(t *testing.T, path func(directory) string, plug func(testing.TB, string)) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	plug(t, path(d))
	before, err := os.Lstat(path(d))
	if err != nil {
		t.Fatal(err)
	}
	looks(t, h)
	found, err := h.Examine(sessionID)
	if err != nil || !hasFault(found.Faults, WrongKind, path(d)) {
		t.Fatalf("examined: %+v, %v", found, err)
	}
	m, _ := mend(t, h)
	if !hasFault(m.Faults, WrongKind, path(d)) {
		t.Errorf("the repair doesn't say what it found: %v", m.Faults)
	}
	if len(m.Aside) != 1 || m.Aside[0].File != path(d) {
		t.Fatalf("set aside: %+v", m.Aside)
	}
	if after, err := os.Lstat(m.Aside[0].To); err != nil || !os.SameFile(before, after) {
		t.Errorf("%s: %v, it isn't what stood there", m.Aside[0].To, err)
	}
}

func hasFault(faults []Fault, kind FaultKind, file string) bool {
	for _, f := range faults {
		if f.Kind == kind && f.File == file && !f.Note {
			return true
		}
	}
	return false
}

// Who needs the lock and finds no file says so and what to do.
func TestE23_LockThatIsNoFileIsSaid(t *testing.T) {
	for what, plug := range plugs() {
		t.Run(what, func(t *testing.T) {
			h := quick(newHome(t))
			threeSegments(t, h)
			plug(t, dirOf(h, sessionID).lock())
			_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
			asError[*DamageError](t, err)
			contains(t, err, "lock", "not a file", "gamma session doctor", "--fix")
			list, err := h.List()
			if err != nil || len(list) != 1 || list[0].Err == nil {
				t.Errorf("%+v, %v", list, err)
			}
			if log, err := h.Read(sessionID); err != nil || len(log.Entries) != 14 {
				t.Errorf("it can't be read: %v", err)
			}
			if _, err := h.Remove(sessionID, 1, noon(), false); err != nil {
				t.Errorf("it can't be removed: %v", err)
			}
		})
	}
}

// A leftover of another kind doesn't keep anybody out.
func TestE22_LeftoversOfOtherKindsAreLeftAlone(t *testing.T) {
	for what, plug := range plugs() {
		t.Run(what, func(t *testing.T) {
			h := quick(newHome(t))
			threeSegments(t, h)
			plug(t, filepath.Join(dirOf(h, sessionID).path, tempPrefix+"1"))
			shut(t, open(t, h, sessionID))
		})
	}
}

// What an older todo.json holds may be all that is left of the tasks.
func TestE22_S20_OldTodoIsKept(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	k.say("one")
	k.work(2)
	k.settle()
	text, err := todoOf(k.state)
	if err != nil || k.state.Tasks.Revision == 0 {
		t.Fatalf("%s, %v", text, err)
	}
	if err := k.s.WriteTodo(text); err != nil {
		t.Fatal(err)
	}
	shut(t, k.s)
	shut(t, open(t, h, sessionID))
	d := dirOf(h, sessionID)
	if err := os.Remove(d.segment(1)); err != nil {
		t.Fatal(err)
	}
	m, _ := mend(t, h)
	if len(m.Aside) != 1 || m.Aside[0].File != d.todo() || !m.Todo {
		t.Fatalf("%+v", m)
	}
	if kept := string(read(t, m.Aside[0].To)); kept != string(text) {
		t.Errorf("kept: %q", kept)
	}
	// Another projection is kept beside it; the same one isn't kept twice.
	for _, c := range [][2]string{{"other", ".aside.2"}, {string(text), ".aside"}} {
		put(t, d.todo(), []byte(c[0]))
		m, _ := mend(t, h)
		if len(m.Aside) != 1 || !strings.HasSuffix(m.Aside[0].To, "todo.json"+c[1]) {
			t.Errorf("%+v, want %s", m.Aside, c[1])
		}
	}
}

// A blob of another kind is damage of that blob and costs nothing else.
func TestE24_BlobThatIsNoFile(t *testing.T) {
	for what, plug := range plugs() {
		t.Run(what, func(t *testing.T) {
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
			plug(t, path)
			mend(t, h)
			s = open(t, h, sessionID)
			if _, err := s.PutBlob([]byte("body")); err != nil {
				t.Errorf("it can't be stored again: %v", err)
			}
			if _, err := s.Blob(sum); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestE42_SpillThatIsNoFileIsRefused(t *testing.T) {
	for what, plug := range plugs() {
		t.Run(what, func(t *testing.T) {
			h := quick(newHome(t))
			s := create(t, h, sessionID)
			if err := os.Mkdir(s.dir.spill(), 0o700); err != nil {
				t.Fatal(err)
			}
			plug(t, filepath.Join(s.dir.spill(), "x"))
			if f, err := s.OpenSpill("x"); err == nil && what != "a link to a file" {
				f.Close()
				t.Error("it was opened")
			}
			if f, err := s.CreateSpill("x"); err == nil && what != "a link to a file" && what != "a link to nothing" {
				f.Close()
				t.Error("it was made")
			}
		})
	}
}

// A file as large as none of ours isn't read whole.
func TestE22_BC28_HugeFilesTakeNoMemory(t *testing.T) {
	h := quick(newHome(t))
	threeSegments(t, h)
	d := dirOf(h, sessionID)
	put(t, d.todo(), []byte("{"))
	if err := os.Truncate(d.todo(), 1<<40); err != nil {
		t.Fatal(err)
	}
	found, err := h.Examine(sessionID)
	if err != nil || !hasFault(found.Faults, WrongKind, d.todo()) {
		t.Fatalf("%+v, %v", found, err)
	}
	if m, _ := mend(t, h); len(m.Aside) != 1 {
		t.Errorf("%+v", m)
	}
	for token := 3; token <= 4; token++ {
		if err := os.Truncate(d.segment(token), 1<<40); err != nil {
			t.Fatal(err)
		}
		found, err = h.Examine(sessionID)
		if token == 3 && (err != nil || !found.Sound()) { // behind its seal nothing is read
			t.Errorf("%+v, %v", found, err)
		}
	}
	contains(t, err, "000004.jsonl", "truncate -s")
}
