package disk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// How a log is read that was repaired: what counts below the newest repair is
// what that repair lists.

// mended returns the segments that a repair lists, newest first.
func (d directory) mended(r segment, tokens []int) ([]segment, error) {
	list := r.open.Repair.Segments
	if err := checkRepair(r.open); err != nil {
		return nil, d.damage(r.path, 1, 0, err.Error())
	}
	var out []segment
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		s := segment{token: m.Token, path: d.segment(m.Token), open: &transcript.Open{}, seal: &m.Sealed, mended: m}
		if !slices.Contains(tokens, m.Token) {
			return nil, d.damage(s.path, 0, 0, fmt.Sprintf("the file is missing; the repair in segment %d continues it", r.token))
		}
		if fi, err := os.Lstat(s.path); err == nil && !fi.Mode().IsRegular() {
			return nil, d.damage(s.path, 0, 0, "it isn't a regular file")
		}
		if head, err := readHead(s.path, openMax); err == nil {
			s.first, _ = transcript.Decode(lineAt(head, 0, nil).text) // only its time is used, if there is one
		}
		out = append(out, s)
	}
	return out, nil
}

// checkRepair refuses a list that no repair has written.
func checkRepair(o *transcript.Open) error {
	r, last := o.Repair, transcript.Sealed{}
	if sum, err := sumOf(r); err != nil || sum != r.Sum {
		return errors.New("its repair isn't as it was written")
	}
	for _, m := range r.Segments {
		end := int64(0)
		for _, s := range m.Skip {
			if s.Offset < end || s.Length < 1 || s.Length > m.Length-s.Offset {
				return fmt.Errorf("its repair can't skip %d bytes from byte %d of segment %d", s.Length, s.Offset, m.Token)
			}
			end = s.Offset + s.Length
		}
		if m.Token <= last.Token || m.Token >= o.Segment || m.Length < 1 {
			return fmt.Errorf("its repair can't continue segment %d with %d bytes", m.Token, m.Length)
		}
		last = m.Sealed
	}
	switch prev := o.Prev; {
	case prev == nil && last.Token != 0, prev != nil && *prev != last:
		return fmt.Errorf("its repair ends with segment %d, and it continues another one", last.Token)
	case r.Header.Token != o.Segment && !slices.ContainsFunc(r.Segments, func(m transcript.Mended) bool { return m.Token == r.Header.Token && r.Header.Offset < m.Length }):
		return fmt.Errorf("its repair names a header in segment %d, which doesn't count", r.Header.Token)
	}
	return nil
}

// sumOf is the hash that a repair carries of itself: it decides about all
// segments, so a changed byte in it must show.
func sumOf(r *transcript.Repair) (string, error) {
	bare := *r
	bare.Sum = ""
	b, err := json.Marshal(bare)
	return hashOf(b), err
}

// mended reads one segment that a repair lists.
func (l *loader) mended(s segment) error {
	data, err := s.read(l.buf)
	if err != nil {
		return failed(l.dir.id, "read", s.path, err)
	}
	l.buf = data
	if hashOf(data) != s.mended.SHA256 {
		d := l.dir.damage(s.path, 0, 0, "its bytes differ from those that were repaired; which line can't be told, so none of its lines is certain")
		d.Good = l.index.last
		return d
	}
	entries, bad := decodeLines(ended(kept(data, s.mended.Skip)))
	if bad != nil {
		if err := l.dir.newer(s.path, bad); err != nil {
			return err
		}
		return l.damage(s, 0, 0, "a line that its repair kept can't be read: "+bad.err.Error())
	}
	slices.SortStableFunc(entries, func(a, b transcript.Entry) int { return cmp.Compare(a.ID.Seq, b.ID.Seq) })
	for _, e := range entries {
		if err := l.index.addMended(e, s.token); err != nil {
			return l.damage(s, 0, 0, err.Error())
		}
		l.log.Entries = append(l.log.Entries, e)
	}
	return nil
}

// ended returns data with the "\n" that its last line may lack: a repair counts
// such a line only where a seal says how long it was.
func ended(data []byte) []byte {
	if len(data) == 0 || bytes.HasSuffix(data, []byte("\n")) {
		return data
	}
	return append(data[:len(data):len(data)], '\n')
}

// kept returns data without the ranges to skip.
func kept(data []byte, skip []transcript.Skip) []byte {
	if len(skip) == 0 {
		return data
	}
	var out []byte
	at := int64(0)
	for _, s := range skip {
		out = append(out, data[at:s.Offset]...)
		at = s.Offset + s.Length
	}
	return append(out, data[at:]...)
}

// headerOf returns the session header: where the newest repair says that it
// stands, else in the second line of the first segment.
func (d directory) headerOf(segs []segment) (*transcript.Session, error) {
	for i := len(segs) - 1; i >= 0; i-- {
		if segs[i].open.Repair == nil {
			continue
		}
		at := segs[i].open.Repair.Header
		if at.Token == segs[i].token {
			h, err := d.header(segs[i])
			if u := (*UnfinishedError)(nil); errors.As(err, &u) {
				err = d.damage(segs[i].path, 2, 0, "the session header is missing")
			}
			return h, err
		}
		return d.headerAt(segs[i], at)
	}
	return d.header(segs[0])
}

// headerAt reads the header from the beginning of a line.
func (d directory) headerAt(r segment, at transcript.Place) (*transcript.Session, error) {
	path := d.segment(at.Token)
	data, err := readRegular(path)
	if err != nil {
		return nil, failed(d.id, "read", path, err)
	}
	if at.Offset >= 0 && at.Offset < int64(len(data)) {
		e, err := transcript.Decode(lineAt(data[at.Offset:], 0, nil).text)
		if h, ok := e.Body.(*transcript.Session); ok && err == nil && h.Session == d.id {
			return h, nil
		}
	}
	return nil, d.damage(path, 0, 0, fmt.Sprintf("at byte %d, where the repair in segment %d found it, is no session header", at.Offset, r.token))
}
