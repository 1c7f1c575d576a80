package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// The failures of the simulated disk.
var (
	errFull = errors.New("no space left on device")
	errIO   = errors.New("input/output error")
)

// crashed is thrown where the process dies.
type crashed struct{ point string }

// segment is an owner's file.
type segment struct {
	token  int
	data   []byte // as a reader sees it
	synced int    // how much of it survives a power loss
}

// disk is what survives of a session.
type disk struct {
	w        *world
	segments []*segment
	todo     []byte
	own      *segment // of the present owner
}

// here is a crash point.
func (d *disk) here(point string) {
	if d.w.roll(d.w.odds.crash) {
		panic(crashed{point})
	}
}

// write appends bytes to the owner's segment and syncs them. Any step can
// crash or fail.
func (d *disk) write(step string, text []byte) error {
	w, s := d.w, d.own
	if n := answeredStep(text); n > 0 && !w.calm && w.roll(0.4) { // a place that is rarely met by chance
		s.data = append(s.data, text[:n]...)
		panic(crashed{step + ".torn"})
	}
	if w.roll(w.odds.crash) || step == "append" && w.roll(w.odds.torn) {
		s.data = append(s.data, text[:w.tear(text)]...)
		panic(crashed{step + ".torn"})
	}
	if w.roll(w.odds.full) {
		s.data = append(s.data, text[:w.tear(text)]...)
		w.totals.Faults["short write"]++
		return errFull
	}
	s.data = append(s.data, text...)
	d.here(step + ".after-write")
	if w.roll(w.odds.full) {
		w.totals.Faults["failed sync"]++
		if w.roll(0.5) {
			s.data = s.data[:s.synced+w.rng.IntN(len(s.data)-s.synced+1)]
		}
		return errIO
	}
	s.synced = len(s.data)
	d.here(step + ".after-sync")
	return nil
}

// answeredStep returns where the answer of a workflow's step ends in a write
// that settles it, or 0.
func answeredStep(text []byte) int {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if !bytes.Contains(first, []byte(`"kind":"assistant"`)) || !bytes.Contains(rest, []byte(`"attempt":`)) {
		return 0
	}
	return len(first) + 1
}

// tear says how much of a write gets through: any number of bytes, half of the
// time whole lines.
func (w *world) tear(text []byte) int {
	n := w.rng.IntN(len(text))
	if w.roll(0.5) {
		n = bytes.LastIndexByte(text[:n], '\n') + 1
	}
	return n
}

// Append implements agent.Store.
func (d *disk) Append(entries []transcript.Entry) error {
	d.here("append.before")
	var text []byte
	for _, e := range entries {
		line, err := transcript.Encode(e)
		if err != nil {
			return fmt.Errorf("append: %w", err)
		}
		text = append(text, line...)
	}
	d.w.appended(entries)
	if d.w.Off == "disk.SyncSkipped" {
		d.own.data = append(d.own.data, text...)
		return nil
	}
	return d.write("append", text)
}

// WriteTodo implements agent.Store.
func (d *disk) WriteTodo(b []byte) error {
	if d.w.roll(d.w.odds.full) {
		d.w.totals.Faults["failed replace"]++
		return errFull
	}
	d.here("replace.before-rename")
	d.w.see(audit.Seen{Kind: audit.Projected, Text: string(b)})
	d.todo = bytes.Clone(b)
	d.here("replace.after-rename")
	return nil
}

// lose applies a power loss: of what isn't synced, any part may stay.
func (d *disk) lose() {
	for _, s := range d.segments {
		if n := len(s.data) - s.synced; n > 0 {
			s.data = s.data[:s.synced+d.w.rng.IntN(n+1)]
		}
	}
}

// create begins the session: the open entry and the header in one write.
func (d *disk) create(now time.Time, header *transcript.Session) error {
	d.own = &segment{token: 1}
	d.segments, d.todo = []*segment{d.own}, nil
	open := &transcript.Open{Segment: 1, Why: transcript.OpenStart}
	return d.begin("create",
		transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: 1}, Time: now, V: transcript.Version, Body: open},
		transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: 2}, Time: now, V: transcript.Version, Body: header})
}

func (d *disk) begin(step string, entries ...transcript.Entry) error {
	var text []byte
	for _, e := range entries {
		line, err := transcript.Encode(e)
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	return d.write(step, text)
}

// open takes the session: it reads what counts, seals it, and begins the
// owner's segment.
func (d *disk) open(now time.Time, why transcript.OpenWhy) ([]transcript.Entry, error) {
	d.here("open.locked")
	token := d.segments[len(d.segments)-1].token + 1
	last := d.newest()
	d.own = &segment{token: token}
	d.segments = append(d.segments, d.own)
	d.here("open.segment-created")
	entries, err := d.read(last)
	if err != nil {
		return nil, err
	}
	last.synced = len(last.data)
	counts := d.counts(last)
	sum := sha256.Sum256(last.data[:counts])
	e := transcript.Entry{ID: transcript.ID{Epoch: token, Seq: len(entries) + 1}, Time: now, V: transcript.Version,
		Body: &transcript.Open{Segment: token, Why: why,
			Prev: &transcript.Sealed{Token: last.token, Length: int64(counts), SHA256: hex.EncodeToString(sum[:])}}}
	if err := d.begin("open", e); err != nil {
		d.segments = d.segments[:len(d.segments)-1] // void: removed
		return nil, err
	}
	return append(entries, e), nil
}

// counts is how much of the newest segment is whole lines.
func (d *disk) counts(last *segment) int {
	switch d.w.Off {
	case "disk.TailNotCut":
		return len(last.data)
	case "disk.SealTooShort":
		cut := bytes.LastIndexByte(last.data[:max(0, len(last.data)-1)], '\n') + 1
		if cut > 0 {
			return cut
		}
	}
	return bytes.LastIndexByte(last.data, '\n') + 1
}

// newest is the newest segment that has a whole first line.
func (d *disk) newest() *segment {
	for i := len(d.segments) - 1; i > 0; i-- {
		if bytes.IndexByte(d.segments[i].data, '\n') >= 0 {
			return d.segments[i]
		}
	}
	return d.segments[0]
}

// unfinished reports whether the session's header was never written whole.
func (d *disk) unfinished() bool {
	return len(d.segments) == 0 || bytes.Count(d.segments[0].data, []byte("\n")) < 2
}

// read decodes the log up to the end of a segment, following the seals.
func (d *disk) read(last *segment) ([]transcript.Entry, error) {
	type piece struct {
		s   *segment
		len int
	}
	pieces := []piece{{last, d.counts(last)}}
	for {
		s := pieces[0].s
		first, err := d.w.decode(s.data[:bytes.IndexByte(s.data, '\n')+1])
		if err != nil {
			return nil, err
		}
		open, ok := first.Body.(*transcript.Open)
		if !ok || open.Prev == nil {
			break
		}
		for _, p := range d.segments {
			if p.token == open.Prev.Token {
				pieces = append([]piece{{p, int(open.Prev.Length)}}, pieces...)
			}
		}
	}
	var out []transcript.Entry
	for _, p := range pieces {
		for data := p.s.data[:p.len]; len(data) > 0; {
			n := bytes.IndexByte(data, '\n') + 1
			if n == 0 {
				n = len(data)
			}
			e, err := d.w.decode(data[:n])
			if err != nil {
				return nil, fmt.Errorf("segment %d: %w", p.s.token, err)
			}
			out = append(out, e)
			data = data[n:]
		}
	}
	return out, nil
}

// fold reads the whole log and folds it.
func (d *disk) fold() (*session.State, error) {
	entries, err := d.read(d.newest())
	if err != nil {
		return nil, err
	}
	return session.Fold(entries)
}
