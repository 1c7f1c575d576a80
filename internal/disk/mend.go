package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Mender is who repairs a session.
type Mender struct {
	Owner transcript.Owner
	Build string
	Now   time.Time
	// Header has what a new session header gets where the old one is lost
	// and can't be read.
	Header transcript.Session
}

// Mending is what a repair did.
type Mending struct {
	Diagnosis         // what was found before
	Segment   string  // path of the segment with the repair; "" if none was needed
	Copy      string  // path of the copy of what doesn't count any more; "" if there is none
	Skipped   []Range // what doesn't count any more
	// Moved: the conversation goes on behind entry Leaf (zero: at its
	// beginning); Left entries behind it are no longer part of it.
	Moved bool
	Leaf  transcript.ID
	Left  int
	// Gaps is how often the conversation goes on over lost entries.
	Gaps int
	// Taken are messages that may have been delivered in what is lost. They
	// are kept and wait no longer.
	Taken  []transcript.Arrive
	Header *transcript.Session // the new header, if the old one was lost
	Todo   bool                // todo.json was written again
	Aside  []Aside             // what got another name
}

// Range is a range of bytes of a segment.
type Range struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Why    string `json:"why"`
}

// Mend repairs a session into a new segment: no file of the transcript is
// changed or removed. It returns a *LockedError if somebody owns the session,
// and Examine's errors. A sound session is left alone.
func (h *Home) Mend(id string, by Mender) (m *Mending, err error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	places, err := d.misplaced() // while the lock's place is still among them
	if err != nil {
		return nil, err
	}
	m = &Mending{}
	if m.Aside, err = d.clearLock(); err != nil {
		return nil, err
	}
	lock, err := acquire(id, d.lock(), Holder{by.Owner.PID, by.Owner.Host, by.Now.UTC()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := m.clear(d); err != nil {
		return nil, err
	}
	e, err := d.examine(true)
	if err != nil {
		return nil, err
	}
	if err := m.clearBlobs(d, e.blobs); err != nil {
		return nil, err
	}
	m.Diagnosis = e.Diagnosis
	defer func() {
		if m != nil {
			m.Faults = append(slices.Clone(places), m.Faults...)
		}
	}()
	switch {
	case e.chain || len(e.blobs) > 0:
		err = d.repair(m, by)
	case e.loose:
		err = d.succeed(lock, by)
	}
	if err != nil {
		return nil, err
	}
	if err := m.renewTodo(d); err != nil {
		return nil, err
	}
	return m, nil
}

// clear sets aside what stands in the place of something of ours. The lock is
// held.
func (m *Mending) clear(d directory) error {
	places, err := d.misplaced()
	if err != nil {
		return err
	}
	more, err := d.clearPlaces(places)
	m.Aside = append(m.Aside, more...)
	return err
}

// clearBlobs sets aside what stands in the place of a blob.
func (m *Mending) clearBlobs(d directory, sums []string) error {
	for _, sum := range sums {
		path := filepath.Join(d.blobs(), sum)
		if k := (*kindError)(nil); !validSum(sum) || !errors.As(checkKind(path, false), &k) {
			continue
		}
		a, err := d.setAside(path)
		if err != nil {
			return err
		}
		m.Aside = append(m.Aside, a)
	}
	return nil
}

// succeed lets an ordinary owner set a torn tail aside and leave void segments
// behind.
func (d directory) succeed(lock *lock, by Mender) error {
	s := &Session{Log: Log{ID: d.id}, dir: d, lock: lock}
	open := transcript.Open{Why: transcript.OpenDeposit, Owner: by.Owner, Build: by.Build}
	if err := s.open(0, open, stamp(by.Now)); err != nil {
		return err
	}
	return s.file.Close()
}

// renewTodo writes todo.json again if it differs from the transcript. What it
// held is copied aside first: the transcript may have lost the tasks that it
// shows, and then it is all that is left of them.
func (m *Mending) renewTodo(d directory) error {
	l, err := d.look()
	if err != nil {
		return fmt.Errorf("the repair doesn't hold; this is a fault of gamma: %w", err)
	}
	s, err := session.Fold(l.log.Entries)
	if err != nil {
		return fmt.Errorf("session %s: the repair doesn't hold; this is a fault of gamma: %w", d.id, err)
	}
	e := &examination{state: s}
	if err := e.lookAtTodo(d); err != nil || len(e.Faults) == 0 {
		return err
	}
	text, err := todoOf(s)
	if err != nil {
		return err
	}
	if err := m.keepTodo(d); err != nil {
		return err
	}
	if err := d.sys.replace(d.path, d.todo(), text); err != nil {
		return failed(d.id, "write", d.todo(), err)
	}
	m.Todo = true
	return nil
}

// keepTodo copies todo.json aside, unless an earlier repair, which was killed
// behind this step, has done it.
func (m *Mending) keepTodo(d directory) error {
	old, err := readRegular(d.todo())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(old)) == 0 {
		return nil
	}
	if err != nil {
		return failed(d.id, "read", d.todo(), err)
	}
	to := d.todo() + asideExt
	if kept, err := readRegular(to); err != nil || !bytes.Equal(kept, old) {
		if to, err = asideName(d.todo()); err != nil {
			return failed(d.id, "copy aside", d.todo(), err)
		}
		if err := d.sys.replace(d.path, to, old); err != nil {
			return failed(d.id, "write", to, err)
		}
	}
	m.Aside = append(m.Aside, Aside{d.todo(), to})
	return nil
}

// repair writes the segment that says what counts. The order matters:
//
//  1. create it, empty: a former owner that still writes sees it and stops,
//     and until the last step it is a void segment;
//  2. read everything that it will name, and sync it;
//  3. copy aside what won't count;
//  4. put its lines in place, all at once.
func (d directory) repair(m *Mending, by Mender) error {
	if err := d.sys.mkdir(d.transcript()); err != nil {
		return failed(d.id, "create", d.transcript(), err)
	}
	_, highest, err := d.tokens()
	if err != nil {
		return err
	}
	token := highest + 1
	file, err := d.newSegment(token)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return failed(d.id, "create", d.segment(token), err)
	}
	crashpoint.Here("repair.segment-created")
	e, err := d.examineBefore(token)
	if err != nil {
		return errors.Join(err, os.Remove(d.segment(token)))
	}
	m.Diagnosis = e.Diagnosis
	text, lost, err := e.write(m, by, token)
	if err != nil {
		return errors.Join(err, os.Remove(d.segment(token)))
	}
	for _, f := range e.scan.files {
		if err := d.sys.sync(f.path); err != nil {
			return failed(d.id, "sync", f.path, err)
		}
	}
	if len(lost) > 0 {
		m.Copy = d.lostPath(token)
		if err := d.sys.replace(d.path, m.Copy, lost); err != nil {
			return failed(d.id, "write", m.Copy, err)
		}
	}
	crashpoint.Here("repair.copied")
	m.Segment = d.segment(token)
	if err := d.sys.replace(d.path, m.Segment, text); err != nil {
		return failed(d.id, "write", m.Segment, err)
	}
	return nil
}

// examineBefore examines the session and makes sure that it is planned for
// although only blobs may be damaged. The void segment is the repair's own.
func (d directory) examineBefore(token int) (*examination, error) {
	e, err := d.examine(true)
	if err != nil {
		return nil, err
	}
	own := d.segment(token)
	e.Faults = slices.DeleteFunc(e.Faults, func(f Fault) bool { return f.Kind == VoidSegment && f.File == own })
	if e.scan == nil {
		if e.scan, err = d.scan(); err != nil {
			return nil, err
		}
		e.scan.choose()
		if err = e.scan.design(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (d directory) lostPath(token int) string {
	return fmt.Sprintf("%s/%06d%s", d.transcript(), token, lostExt)
}

// lostExt ends the name of the copy of what a repair skips.
const lostExt = ".lost"

// write makes the lines of the repair's segment and the copy of what it skips.
func (e *examination) write(m *Mending, by Mender, token int) (text, lost []byte, err error) {
	s, p := e.scan, e.scan.plan
	open := &transcript.Open{Segment: token, Why: transcript.OpenDeposit, Owner: by.Owner, Build: by.Build, Repair: p.repair()}
	r := open.Repair
	r.Blobs = e.blobs
	r.Segments = []transcript.Mended{}
	for _, f := range s.files {
		if part := f.mend(m); part != nil {
			r.Segments = append(r.Segments, *part)
		}
	}
	if n := len(r.Segments); n > 0 {
		prev := r.Segments[n-1].Sealed
		open.Prev = &prev
	}
	bodies := []transcript.Body{open}
	if p.header != nil {
		r.Header = transcript.Place{Token: p.header.file.token, Offset: p.header.offset}
	} else {
		h := s.newHeader(by.Header)
		r.Header, m.Header = transcript.Place{Token: token}, &h
		bodies = append(bodies, &h)
	}
	if r.Sum, err = sumOf(r); err != nil {
		return nil, nil, fmt.Errorf("session %s: repair: %w", s.dir.id, err)
	}
	if p.moves {
		bodies = append(bodies, &transcript.Leaf{To: p.leaf, Why: leafWhy})
	}
	m.Moved, m.Leaf, m.Left, m.Gaps = p.moves, p.leaf, p.left, len(p.gaps)
	r.Gaps = p.gaps
	for _, a := range p.taken {
		m.Taken = append(m.Taken, a.Arrive)
	}
	text, err = s.encode(bodies, token, by.Now)
	return text, s.copies(m.Skipped), err
}

// encode makes the lines and judges them as a reader will.
func (s *scan) encode(bodies []transcript.Body, token int, now time.Time) ([]byte, error) {
	x := &index{}
	for _, f := range s.plan.records {
		if err := x.addMended(f.entry, f.file.token); err != nil {
			return nil, fmt.Errorf("session %s: repair: %w", s.dir.id, err)
		}
	}
	w := &Session{Token: token, index: *x}
	var entries []transcript.Entry
	for i, b := range bodies {
		entries = append(entries, transcript.Entry{ID: transcript.ID{Epoch: token, Seq: s.plan.next + i}, Time: stamp(now), V: transcript.Version, Body: b})
	}
	text, err := w.encode(entries)
	if err != nil {
		return nil, fmt.Errorf("session %s: repair: %w", s.dir.id, err)
	}
	return text, nil
}

// mend describes what counts of a file, or returns nil if nothing does. What
// doesn't is added to m.Skipped.
func (f *scanned) mend(m *Mending) *transcript.Mended {
	var skip []transcript.Skip
	end := int64(0) // of the last record that counts
	old := f.oldSkips()
	for _, r := range f.records {
		for len(old) > 0 && old[0].Offset < r.offset {
			skip, old = append(skip, old[0]), old[1:]
		}
		n, why := int64(len(r.text)), r.bad+r.skip
		if r.ok() {
			end = r.offset + n
			continue
		}
		skip = append(skip, transcript.Skip{Offset: r.offset, Length: n, Why: why})
		m.Skipped = append(m.Skipped, Range{File: f.path, Offset: r.offset, Length: n, Why: why})
	}
	if f.newest && f.limit < int64(len(f.data)) {
		m.Skipped = append(m.Skipped, Range{File: f.path, Offset: f.limit, Length: int64(len(f.data)) - f.limit, Why: "torn tail"})
	}
	if end == 0 {
		return nil
	}
	for len(skip) > 0 && skip[len(skip)-1].Offset >= end {
		skip = skip[:len(skip)-1]
	}
	return &transcript.Mended{Sealed: transcript.Sealed{Token: f.token, Length: end, SHA256: hashOf(f.data[:end])}, Skip: merge(skip)}
}

func (f *scanned) oldSkips() []transcript.Skip {
	if f.mended == nil {
		return nil
	}
	return f.mended.Skip
}

// merge joins ranges that touch; the first reason stands for all.
func merge(skip []transcript.Skip) []transcript.Skip {
	var out []transcript.Skip
	for _, s := range skip {
		if n := len(out); n > 0 && out[n-1].Offset+out[n-1].Length == s.Offset {
			out[n-1].Length += s.Length
			continue
		}
		out = append(out, s)
	}
	return out
}

// copyMost is how much of one range is copied aside; the segment keeps all.
const copyMost = 1 << 20

// copies is the text of the copy: for people, with the bytes as they are.
func (s *scan) copies(ranges []Range) []byte {
	var b bytes.Buffer
	for _, r := range ranges {
		i := slices.IndexFunc(s.files, func(f *scanned) bool { return f.path == r.File })
		data := s.files[i].data[r.Offset : r.Offset+r.Length]
		what := ""
		if len(data) > copyMost {
			data, what = data[:copyMost], fmt.Sprintf(", only the first %d copied", copyMost)
		}
		fmt.Fprintf(&b, "# segment %d, %d bytes from byte %d%s: %s\n", s.files[i].token, r.Length, r.Offset, what, r.Why)
		b.Write(data)
		if !bytes.HasSuffix(data, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// newHeader makes a header of what can still be read of the old one, and of
// the repairer's defaults.
func (s *scan) newHeader(defaults transcript.Session) transcript.Session {
	h := defaults
	h.Session, h.Schema = s.dir.id, transcript.Schema
	for _, f := range s.files {
		for _, r := range f.records {
			if r.bad == "" || !bytes.Contains(r.text, []byte(`"kind":"session"`)) && !bytes.Contains(r.text, []byte(`"mark":"`)) {
				continue
			}
			for _, field := range []struct {
				name string
				to   *string
			}{{"variant", &h.Variant}, {"mark", &h.Mark}, {"model", &h.Model}, {"workspace", &h.Workspace}, {"label", &h.Label}} {
				if v := readString(r.text, field.name); v != "" {
					*field.to = v
				}
			}
		}
	}
	return h
}

// readString finds a string member in damaged JSON.
func readString(text []byte, name string) string {
	m := submatch(`"`+name+`":("(?:[^"\\\x00-\x1f]|\\.)*")`, text)
	var v string
	if m == "" || json.Unmarshal([]byte(m), &v) != nil {
		return ""
	}
	return v
}
