package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// platters is what a power loss leaves at the worst: of each directory the
// names, and of each file the bytes, that it had when it was last synced.
type platters struct {
	t       *testing.T
	home    *Home
	names   map[string][]string
	bytes   map[string][]byte
	steps   int
	acked   []transcript.Entry // what callers were told is in the log
	checked int                // steps at which entries were already acknowledged
}

func (p *platters) synced(path string) {
	fi, err := os.Stat(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if !fi.IsDir() {
		p.bytes[path] = read(p.t, path)
		return
	}
	des, err := os.ReadDir(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.names[path] = nil
	for _, de := range des {
		p.names[path] = append(p.names[path], de.Name())
	}
}

// restore writes what is left of path to to.
func (p *platters) restore(path, to string) {
	fi, err := os.Stat(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if !fi.IsDir() {
		put(p.t, to, p.bytes[path])
		return
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		p.t.Fatal(err)
	}
	for _, name := range p.names[path] {
		p.restore(filepath.Join(path, name), filepath.Join(to, name))
	}
}

// lose checks what the next owner would find if the power went now.
func (p *platters) lose(step string) {
	p.t.Helper()
	p.steps++
	dir := filepath.Join(p.t.TempDir(), "after")
	p.restore(p.home.sessions(), filepath.Join(dir, "sessions"))
	after, err := OpenHome(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := quick(after).Open(sessionID, transcript.OpenWake, owner(), "test", noon())
	unfinished, missing := (*UnfinishedError)(nil), (*NotFoundError)(nil)
	if len(p.acked) == 0 && (errors.As(err, &unfinished) || errors.As(err, &missing)) {
		return // nobody was told of the session
	}
	if err != nil {
		p.t.Errorf("power lost after step %d (%s): %v", p.steps, step, err)
		return
	}
	if len(s.Entries) < len(p.acked) {
		p.t.Errorf("power lost after step %d (%s): %d of %d acknowledged entries", p.steps, step, len(s.Entries)-1, len(p.acked))
	} else {
		same(p.t, "entries after step "+step, s.Entries[:len(p.acked)], p.acked)
	}
	if len(p.acked) > 0 {
		p.checked++
	}
	shut(p.t, s)
}

// watch loses the power, on a copy, after everything that h does.
func watch(t *testing.T, h *Home) *platters {
	p := &platters{t: t, home: h, names: map[string][]string{}, bytes: map[string][]byte{}}
	p.synced(h.sessions())
	real := h.sys
	h.sys = system{
		create: func(path string) (segmentFile, error) {
			f, err := real.create(path)
			p.lose("create " + filepath.Base(path))
			return &watched{f, p, path}, err
		},
		sync: func(path string) error {
			p.lose("before sync " + filepath.Base(path))
			p.synced(path)
			p.lose("sync " + filepath.Base(path))
			return nil
		},
	}
	return p
}

type watched struct {
	segmentFile
	p    *platters
	path string
}

func (f *watched) Write(b []byte) (int, error) {
	n, err := f.segmentFile.Write(b)
	f.p.lose("write " + filepath.Base(f.path))
	return n, err
}

func (f *watched) Sync() error {
	f.p.synced(f.path)
	f.p.lose("sync " + filepath.Base(f.path))
	return nil
}

func TestE22_PowerLossAfterEachStep(t *testing.T) {
	h := newHome(t)
	p := watch(t, h)
	use := func(s *Session) *Session {
		p.acked = append(p.acked[:0:0], s.Entries...)
		p.lose("taken")
		for _, text := range []string{"a", "b"} {
			es := following(s, prompt(text), facts(text))
			if err := s.Append(es); err != nil {
				t.Fatal(err)
			}
			p.acked = append(p.acked, es...)
			p.lose("appended")
		}
		return s
	}
	s := use(create(t, h, sessionID))
	shut(t, s)
	s = use(open(t, h, sessionID))
	// Killed between write and sync: the next owner finds whole records that
	// are only in memory, and half a record.
	text, err := s.encode(following(s, prompt("not synced"), facts("not synced")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.file.Write(append(text, `{"id":"2-`...)); err != nil {
		t.Fatal(err)
	}
	vanish(s)
	s = use(open(t, h, sessionID))
	if s.Torn == nil || len(s.Entries) != 2+4+1+4+2+1 {
		t.Errorf("torn %v, %d entries", s.Torn, len(s.Entries))
	}
	vanish(s)
	put(t, s.dir.segment(4), nil) // and one that came no further than its file
	shut(t, use(open(t, h, sessionID)))
	if p.checked < 50 {
		t.Errorf("only %d steps", p.checked)
	}
}
