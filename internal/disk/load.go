package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Log is what a session's segments hold.
type Log struct {
	ID      string
	Header  transcript.Session
	Entries []transcript.Entry // in log order, over all segments
	Torn    *Torn              // nil if the log ended with a whole record
	Void    []Void             // segments that were passed over
}

// Notices says for people what was passed over.
func (l *Log) Notices() []string {
	var out []string
	if l.Torn != nil {
		out = append(out, l.Torn.String())
	}
	for _, v := range l.Void {
		out = append(out, v.String())
	}
	return out
}

// Torn is the fragment of a record behind the log's last whole one: what a
// write left that was cut short. It was never acknowledged.
type Torn struct {
	File   string // path of the segment, which is left as it is
	Offset int64  // where the fragment begins
	Bytes  int64  // its length
	Copy   string // path of the copy; "" if the log was only read
}

// String says it for people.
func (t *Torn) String() string {
	s := fmt.Sprintf("the last write to %s was cut short: %d bytes from byte %d are no whole record and don't count", t.File, t.Bytes, t.Offset)
	if t.Copy != "" {
		s += "; a copy is in " + t.Copy
	}
	return s
}

// loader reads segments, oldest first, into a log.
type loader struct {
	dir   directory
	log   *Log
	index index
	buf   []byte // one for all segments: nothing that is decoded points into it
	// Of the newest segment:
	size int64             // bytes read
	tail transcript.Sealed // how far it counts; SHA256 only if asked for
}

// load reads the chain's segments. With an error, the log has the entries
// before the damage. sum: also the hash of the newest segment is wanted.
func (d directory) load(c chain, sum bool) (*loader, error) {
	l := &loader{dir: d, log: &Log{ID: d.id, Void: c.void}}
	if c.header != nil {
		l.log.Header = *c.header
	}
	for _, s := range c.segments {
		if err := l.segment(s, sum); err != nil {
			return l, err
		}
	}
	return l, nil
}

// segment reads one segment.
func (l *loader) segment(s segment, sum bool) error {
	if s.mended != nil {
		return l.mended(s)
	}
	data, err := s.read(l.buf)
	if err != nil {
		return failed(l.dir.id, "read", s.path, err)
	}
	l.buf = data
	hash := make(chan string, 1)
	if s.seal != nil || sum {
		go func() { hash <- hashOf(data) }() // beside the decoding
	}
	good := l.index.last // before this segment
	if err := l.lines(s, data); err != nil {
		return err // the hash may still be at work: nothing is read after this
	}
	if s.seal == nil {
		l.size = int64(len(data))
		l.tail = transcript.Sealed{Token: s.token, Length: l.size}
		if l.log.Torn != nil {
			l.tail.Length = l.log.Torn.Offset
		}
		if sum {
			l.tail.SHA256 = <-hash
		}
		if sum && l.log.Torn != nil {
			l.tail.SHA256 = hashOf(data[:l.tail.Length])
		}
		return nil
	}
	if <-hash != s.seal.SHA256 {
		d := l.dir.damage(s.path, 0, 0, "its bytes differ from those that its successor sealed; which line can't be told, so none of its lines is certain")
		d.Good = good
		return d
	}
	return nil
}

// read returns the bytes of a segment that count, or fewer if the file is too
// short. It uses buf if that is large enough.
func (s segment) read(buf []byte) ([]byte, error) {
	f, err := openRegular(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := fi.Size()
	if s.seal != nil {
		n = min(n, s.seal.Length)
	}
	if n > readMost {
		return nil, sizeError(n)
	}
	data := slices.Grow(buf[:0], int(n))[:n]
	_, err = io.ReadFull(f, data)
	return data, err
}

// lines takes the segment's entries up to its end or to the first damage.
func (l *loader) lines(s segment, data []byte) error {
	entries, bad := decodeLines(data)
	for i, e := range entries {
		if err := l.index.add(e, s.token); err != nil {
			l.log.Entries = append(l.log.Entries, entries[:i]...)
			return l.damage(s, i+1, offsetOf(data, i), err.Error())
		}
	}
	if len(l.log.Entries) == 0 {
		l.log.Entries = entries
	} else {
		l.log.Entries = append(l.log.Entries, entries...)
	}
	short := s.seal != nil && int64(len(data)) < s.seal.Length
	switch {
	case bad != nil:
		if err := l.dir.newer(s.path, bad); err != nil {
			return err
		}
		if s.seal != nil || !bad.torn() {
			return l.damage(s, bad.number, bad.offset, bad.err.Error())
		}
		l.log.Torn = &Torn{File: s.path, Offset: bad.offset, Bytes: int64(len(data)) - bad.offset}
	case short:
		return l.damage(s, len(entries)+1, int64(len(data)), fmt.Sprintf("the file ends here; its successor sealed %d bytes", s.seal.Length))
	}
	return nil
}

func (l *loader) damage(s segment, line int, offset int64, reason string) error {
	d := l.dir.damage(s.path, line, offset, reason)
	d.Good = l.index.last
	return d
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Read returns what the session's log holds, without a lock and without
// changing anything, also while somebody owns the session. It stops at the
// last whole record; a fragment behind it is reported as torn only if nobody
// owns the session, since an owner may be writing it at this moment. After a
// *DamageError or a *NewerError the log holds the entries before the place
// (with DamageError.Line 0 also those of the file itself, which are not
// certain).
func (h *Home) Read(id string) (*Log, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		l, err := d.look()
		if err != nil || l.log.Torn == nil && l.log.Void == nil {
			return l.log, err
		}
		owner, err := held(d.lock())
		if err != nil {
			return l.log, failed(id, "look at", d.lock(), err)
		}
		if owner != nil {
			l.log.Torn, l.log.Void = nil, nil
			return l.log, nil
		}
		if again { // an owner may have finished its write and left
			return l.log, nil
		}
	}
}

// look reads the whole log once. The first place of damage wins.
func (d directory) look() (*loader, error) {
	c, chainErr := d.chain()
	l, err := d.load(c, false)
	if err != nil || chainErr == nil {
		return l, err
	}
	l.log.Torn = nil // what is read may not have been the newest segment
	if damage := (*DamageError)(nil); errors.As(chainErr, &damage) {
		damage.Good = l.index.last
	}
	return l, chainErr
}
