package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Create makes the session that header names and returns it with its first
// two entries: 1-1 (open) and 1-2 (header). header.Schema is set. It fails if
// the id is in use.
func (h *Home) Create(header transcript.Session, owner transcript.Owner, build string, now time.Time) (*Session, error) {
	d := directory{id: header.Session, path: filepath.Join(h.sessions(), header.Session), sys: h.sys}
	if err := checkID(d.id); err != nil {
		return nil, err
	}
	header.Schema = transcript.Schema
	open := &transcript.Open{Segment: 1, Why: transcript.OpenStart, Owner: owner, Build: build}
	entries := []transcript.Entry{
		{ID: transcript.ID{Epoch: 1, Seq: 1}, Time: stamp(now), V: transcript.Version, Body: open},
		{ID: transcript.ID{Epoch: 1, Seq: 2}, Time: stamp(now), V: transcript.Version, Body: &header},
	}
	s := &Session{Log: Log{ID: d.id, Header: header, Entries: entries}, Token: 1, dir: d, path: d.segment(1)}
	text, err := s.encode(entries)
	if err != nil {
		return nil, fmt.Errorf("session %s: create: %w", d.id, err)
	}
	if len(text) > createMax {
		return nil, fmt.Errorf("session %s: create: the header has %d bytes, more than %d", d.id, len(text), createMax)
	}
	if err := os.Mkdir(d.path, 0o700); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("session %s exists already: %w", d.id, fs.ErrExist)
	} else if err != nil {
		return nil, failed(d.id, "create", d.path, err)
	}
	if err := s.create(owner, now, text); err != nil {
		d.discard()
		return nil, err
	}
	return s, nil
}

// create takes the lock of a new session directory and writes the opening.
func (s *Session) create(owner transcript.Owner, now time.Time, text []byte) (err error) {
	d := s.dir
	if s.lock, err = acquire(d.id, d.lock(), Holder{owner.PID, owner.Host, now.UTC()}); err != nil {
		return err
	}
	crashpoint.Here("create.dir-made")
	// The directories first: whoever finds a whole header may rely on them.
	err = d.sys.mkdir(d.transcript())
	if err == nil {
		err = d.sys.sync(filepath.Dir(d.path))
	}
	if err != nil {
		return errors.Join(failed(d.id, "create", d.transcript(), err), s.lock.Release())
	}
	if s.file, err = d.newSegment(1); err == nil {
		crashpoint.Here("create.segment-created")
		err = s.begin("create", text)
	}
	if err != nil {
		return errors.Join(err, s.lock.Release())
	}
	return nil
}

// discard removes a session directory whose creation failed. Nobody was told
// its id. What it can't remove is an unfinished creation.
func (d directory) discard() {
	for _, p := range []string{d.segment(1), d.transcript(), d.lock(), d.path} {
		_ = os.Remove(p)
	}
}

// newSegment creates a segment that is in its directory for good.
func (d directory) newSegment(token int) (segmentFile, error) {
	path := d.segment(token)
	f, err := d.sys.create(path)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("session %s: somebody created %s while this process held the lock: file locks don't work on this file system", d.id, path)
	}
	if err != nil {
		return nil, failed(d.id, "create", path, err)
	}
	if err := d.sys.sync(d.transcript()); err != nil {
		return nil, errors.Join(failed(d.id, "sync", d.transcript(), err), f.Close(), os.Remove(path))
	}
	return f, nil
}

// begin writes and syncs the opening of a new segment. If it can't be written
// whole, the segment is void, and removed: a full disk that is tried again
// and again must not fill up with void segments.
func (s *Session) begin(step string, text []byte) error {
	crashpoint.Torn(step+".torn", s.file, text)
	n, err := s.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return errors.Join(failed(s.ID, "write", s.path, err), s.file.Close(), os.Remove(s.path))
	}
	crashpoint.Here(step + ".after-write")
	if err := s.file.Sync(); err != nil {
		return errors.Join(failed(s.ID, "sync", s.path, err), s.file.Close())
	}
	crashpoint.Here(step + ".after-sync")
	return nil
}

// Open takes the session: it locks it, reads its log, seals what is there and
// begins a new segment, whose open entry is the last of Entries. It returns a
// *LockedError, *NotFoundError, *UnfinishedError, *DamageError or *NewerError
// if it can't; the transcript is then as it was.
func (h *Home) Open(id string, why transcript.OpenWhy, owner transcript.Owner, build string, now time.Time) (*Session, error) {
	return h.OpenAbove(id, 0, why, owner, build, now)
}

// OpenAbove is Open, with a token that is larger than one that somebody knows of
// the session: the directory can be an older copy, or made anew under the id of
// one that was removed, and then has forgotten tokens that were used.
func (h *Home) OpenAbove(id string, used int64, why transcript.OpenWhy, owner transcript.Owner, build string, now time.Time) (*Session, error) {
	if used < 0 || used > maxUsed {
		return nil, fmt.Errorf("session %s: its owners can't have used the token %d", id, used)
	}
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(id, d.lock(), Holder{owner.PID, owner.Host, now.UTC()})
	if err != nil {
		return nil, err
	}
	crashpoint.Here("open.locked")
	s := &Session{Log: Log{ID: id}, dir: d, lock: lock}
	open := transcript.Open{Why: why, Owner: owner, Build: build}
	if err := s.open(int(used), open, stamp(now)); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return s, nil
}

// maxUsed keeps tokens far below the 15 digits that a segment's name can have.
const maxUsed = 1e12

// open reads, seals and begins. The order matters:
//
//  1. create the new segment, which tells a former owner that still writes
//     that it is one (Session.fence);
//  2. read again what it wrote before that;
//  3. copy a fragment aside;
//  4. sync the predecessor: its last records may be whole and yet only in
//     memory, and what is sealed must not get lost;
//  5. write and sync the line that seals it.
func (s *Session) open(used int, open transcript.Open, now time.Time) error {
	d := s.dir
	c, l, err := d.sealable()
	if err != nil {
		return err
	}
	s.Token = max(c.highest, used) + 1
	s.path = d.segment(s.Token)
	if s.file, err = d.newSegment(s.Token); err != nil {
		return err
	}
	crashpoint.Here("open.segment-created")
	text, err := s.seal(open, now, c, l)
	if err != nil {
		return errors.Join(err, s.file.Close(), os.Remove(s.path))
	}
	return s.begin("open", text)
}

// sealable reads the chain and the log of a session that can be opened.
func (d directory) sealable() (chain, *loader, error) {
	c, err := d.chain()
	if err != nil {
		return c, nil, d.explain(err)
	}
	l, err := d.load(c, true)
	return c, l, err
}

// explain replaces damage that the first lines show by the first place of all.
func (d directory) explain(err error) error {
	if damage := (*DamageError)(nil); errors.As(err, &damage) {
		_, err = d.look()
	}
	return err
}

// seal returns the open line of the new, still empty segment.
func (s *Session) seal(open transcript.Open, now time.Time, c chain, l *loader) ([]byte, error) {
	d, last := s.dir, c.segments[len(c.segments)-1]
	fi, err := os.Stat(last.path)
	if err == nil && fi.Size() != l.size {
		if c, l, err = d.sealable(); err != nil {
			return nil, err
		}
		l.log.Void = c.voidBelow(s.Token)
	}
	if err != nil {
		return nil, failed(d.id, "read", last.path, err)
	}
	if err := d.sweep(); err != nil {
		return nil, err
	}
	if l.log.Torn != nil {
		if err := d.copyFragment(l.log.Torn, l.tail.Token); err != nil {
			return nil, failed(d.id, "copy the fragment at the end of", l.log.Torn.File, err)
		}
		crashpoint.Here("open.torn-copied")
	}
	if err := d.sys.sync(last.path); err != nil {
		return nil, failed(d.id, "sync", last.path, err)
	}
	s.Log, s.index = *l.log, l.index
	open.Segment, open.Prev = s.Token, &l.tail
	e := transcript.Entry{ID: transcript.ID{Epoch: s.Token, Seq: s.index.last.Seq + 1}, Time: now, V: transcript.Version, Body: &open}
	text, err := s.encode([]transcript.Entry{e})
	if err != nil {
		return nil, fmt.Errorf("session %s: open: %w", d.id, err)
	}
	s.Entries = append(s.Entries, e)
	if len(text) > openMax {
		return nil, fmt.Errorf("session %s: open: the open entry has %d bytes, more than %d", d.id, len(text), openMax)
	}
	return text, nil
}

// voidBelow drops the owner's own segment, which is void until it is sealed.
func (c chain) voidBelow(token int) []Void {
	var out []Void
	for _, v := range c.void {
		if v.Token < token {
			out = append(out, v)
		}
	}
	return out
}

// copyFragment copies a fragment to a file of its own beside the segment. If
// an earlier attempt to open has done it, that copy is kept.
func (d directory) copyFragment(t *Torn, token int) error {
	f, err := openRegular(t.File)
	if err != nil {
		return err
	}
	defer f.Close()
	fragment := make([]byte, t.Bytes)
	if _, err := f.ReadAt(fragment, t.Offset); err != nil {
		return err
	}
	base := strings.TrimSuffix(d.segment(token), segmentExt) + fragmentExt
	for i := 1; ; i++ {
		t.Copy = base
		if i > 1 {
			t.Copy = base + "." + strconv.Itoa(i)
		}
		old, err := readRegular(t.Copy)
		if k := (*kindError)(nil); errors.As(err, &k) {
			continue // it is no copy of ours
		}
		if errors.Is(err, fs.ErrNotExist) {
			return d.sys.replace(d.path, t.Copy, fragment)
		}
		if err != nil || bytes.Equal(old, fragment) {
			return err
		}
	}
}

// sweep removes replacements that a killed owner left without a name.
func (d directory) sweep() error {
	des, err := os.ReadDir(d.path)
	if err != nil {
		return failed(d.id, "list", d.path, err)
	}
	for _, de := range des {
		if strings.HasPrefix(de.Name(), tempPrefix) && de.Type().IsRegular() {
			if err := os.Remove(filepath.Join(d.path, de.Name())); err != nil {
				return failed(d.id, "remove", de.Name(), err)
			}
		}
	}
	return nil
}

// stamp is the time as entries hold it: UTC, milliseconds.
func stamp(now time.Time) time.Time { return now.UTC().Truncate(time.Millisecond) }
