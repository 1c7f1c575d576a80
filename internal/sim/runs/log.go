package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// errFull is the disk's failure.
var errFull = errors.New("no space left on device")

// segment is an owner's file.
type segment struct {
	token  int64
	host   *host  // that writes it
	data   []byte // as a reader sees it
	synced int    // how much of it survives a power loss
}

// newest is the newest segment before a token that has a whole first line, nil
// if there is none. Where the session was never made whole it has no header
// behind that, and the next owner makes it.
func (s *sessionDir) newest(before int64) *segment {
	for i := len(s.segments) - 1; i >= 0; i-- {
		g := s.segments[i]
		first := bytes.IndexByte(g.data, '\n')
		if g.token < before && first >= 0 && (sealOf(g.data).Token > 0 || whole(g.data) > first+1) {
			return g
		}
	}
	return nil
}

// whole is how much of a segment is whole lines.
func whole(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }

// lose is a power loss of a host: of what it hasn't synced any part may stay.
func (s *sessionDir) lose(w *world, h *host) {
	for _, g := range s.segments {
		if n := len(g.data) - g.synced; n > 0 && g.host == h {
			g.data = g.data[:g.synced+int(w.n(int64(n+1)))]
		}
	}
}

// lines are the lines that count, following the seals from the newest segment.
func (s *sessionDir) lines(w *world) [][]byte {
	last := s.newest(s.token + 1)
	if last == nil {
		return nil
	}
	return s.upTo(w, last, whole(last.data))
}

func (s *sessionDir) upTo(w *world, g *segment, length int) [][]byte {
	data := g.data[:min(length, len(g.data))]
	if w.off == "session.SegmentUnfenced" {
		data = g.data[:whole(g.data)]
	}
	var out [][]byte
	if p := sealOf(data); p.Token > 0 {
		for _, before := range s.segments {
			if before.token == int64(p.Token) {
				out = s.upTo(w, before, p.Length)
			}
		}
	}
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 {
			n = len(data)
		}
		out = append(out, data[:n])
		data = data[n:]
	}
	return out
}

// entries decodes the lines that count.
func (s *sessionDir) entries(w *world) ([]transcript.Entry, error) {
	var out []transcript.Entry
	for _, line := range s.lines(w) {
		e, ok := w.decoded[string(line)]
		if !ok {
			var err error
			if e, err = transcript.Decode(line); err != nil {
				return nil, fmt.Errorf("%s: %w", s.id, err)
			}
			w.decoded[string(line)] = e
		}
		out = append(out, e)
	}
	return out, nil
}

func encode(entries []transcript.Entry) ([]byte, error) {
	var text []byte
	for _, e := range entries {
		line, err := transcript.Encode(e)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	return text, nil
}

// take opens the session for an owner: it reads what counts, seals it, and
// begins the owner's segment. Now and then the branch moves with it.
func (o *owned) take(w *world) (*session.State, error) {
	s := o.s
	last := s.newest(o.token)
	now := o.host.time(w)
	if last == nil {
		first := []transcript.Entry{
			{ID: transcript.ID{Epoch: int(o.token), Seq: 1}, Time: now, V: transcript.Version, Body: &transcript.Open{Segment: int(o.token), Why: transcript.OpenStart}},
			{ID: transcript.ID{Epoch: int(o.token), Seq: 2}, Time: now, V: transcript.Version, Body: &transcript.Session{Session: s.id, Schema: transcript.Schema,
				Variant: "base", Mark: "MARK", Workspace: "/w", Digests: w.env.Prefix.Digests}}}
		if err := o.write(w, first, true); err != nil {
			return nil, err
		}
		return session.Fold(first)
	}
	entries, err := s.entriesUpTo(w, last)
	if err != nil {
		return nil, err
	}
	last.synced = len(last.data)
	w.logf("%s: token %d seals segment %d at %d of %d bytes, %d entries", s.id, o.token, last.token, whole(last.data), len(last.data), len(entries))
	sealed := last.data[:whole(last.data)]
	sum := sha256.Sum256(sealed)
	entries = append(entries, transcript.Entry{ID: transcript.ID{Epoch: int(o.token), Seq: len(entries) + 1}, Time: now, V: transcript.Version,
		Body: &transcript.Open{Segment: int(o.token), Why: transcript.OpenStart,
			Prev: &transcript.Sealed{Token: int(last.token), Length: int64(len(sealed)), SHA256: hex.EncodeToString(sum[:])}}})
	fresh := entries[len(entries)-1:]
	if r := o.rewind(w, entries); r != nil {
		entries = append(entries, r.Leaf)
		fresh = entries[len(entries)-2:]
	}
	if err := o.write(w, fresh, true); err != nil {
		return nil, err
	}
	return session.Fold(entries)
}

// entriesUpTo reads up to the end of a segment.
func (s *sessionDir) entriesUpTo(w *world, last *segment) ([]transcript.Entry, error) {
	was := s.segments
	defer func() { s.segments = was }()
	for i, g := range was {
		if g == last {
			s.segments = was[:i+1]
		}
	}
	return s.entries(w)
}

// rewind moves the branch now and then: somebody goes back while the session is
// closed.
func (o *owned) rewind(w *world, entries []transcript.Entry) *session.Rewind {
	if !w.chance(0.12) {
		return nil
	}
	var nodes []transcript.ID
	for i, on := range session.OnBranch(entries) {
		if on && entries[i].IsNode() {
			nodes = append(nodes, entries[i].ID)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	back := int(w.n(int64(min(len(nodes), 12))))
	r, err := session.PlanRewind(entries, nodes[len(nodes)-1-back], "sim", o.host.time(w))
	if err != nil {
		return nil // no place to go back to
	}
	w.count("rewind")
	w.logf("%s goes back to %s", o.s.id, r.To)
	return r
}

// write appends and syncs. Any step is a place to be killed at; begins: the
// segment begins with it, and every step of it is one.
func (o *owned) write(w *world, entries []transcript.Entry, begins bool) error {
	text, err := encode(entries)
	if err != nil {
		return err
	}
	g := o.segment
	o.maybe("append.before")
	if w.chance(0.003) && !begins {
		g.data = append(g.data, text[:w.n(int64(len(text)))]...)
		w.count("disk full")
		return errFull
	}
	if n := int(w.n(int64(len(text)))); w.staged || w.chance(0.2) {
		g.data = append(g.data, text[:n]...)
		o.yield("append.torn")
		text = text[n:]
	}
	g.data = append(g.data, text...)
	o.maybe("append.written")
	g.synced = len(g.data)
	o.maybe("append.synced")
	return nil
}

// Append implements agent.Store.
func (o *owned) Append(entries []transcript.Entry) error {
	for _, e := range entries {
		o.w.logf("  %s: %s %s", o.s.id, e.ID, e.Kind())
		o.w.appended(o, e)
	}
	return o.write(o.w, entries, false)
}

// WriteTodo implements agent.Store.
func (o *owned) WriteTodo([]byte) error { return nil }
