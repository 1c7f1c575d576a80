package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// segment is a segment that counts.
type segment struct {
	token int
	path  string
	open  *transcript.Open
	first transcript.Entry
	seal  *transcript.Sealed // how far it counts; nil for the newest: to its last whole record
	// mended is set if a repair says what counts of it. Its open is not known
	// then: its first line may be damaged.
	mended *transcript.Mended
}

// chain is what the first lines of the segments tell.
type chain struct {
	segments []segment // oldest first; never empty without an error
	header   *transcript.Session
	void     []Void
	highest  int // the highest number in use, 0 if there is none
}

// Void is a segment newer than the log: its owner was stopped before the
// first line was on disk, so nothing in it was ever acknowledged. It stays
// as it is and is never read.
type Void struct {
	Token int
	File  string // path
	Bytes int64
}

// String says it for people.
func (v Void) String() string {
	return fmt.Sprintf("%s was begun by an owner that was stopped at once: it holds no entry and is passed over", v.File)
}

// What a write that was cut short can leave of an opening, in bytes. More
// than that was more than an opening.
const (
	openMax   = 4 << 10  // the open line
	createMax = 64 << 10 // open line and session header
)

func openingMax(token int) int64 {
	if token == 1 {
		return createMax
	}
	return openMax
}

// chain reads the first lines. With a *DamageError or *NewerError it returns
// the part before the damage.
func (d directory) chain() (chain, error) {
	tokens, highest, err := d.tokens()
	if err != nil {
		return chain{}, err
	}
	c := chain{highest: highest}
	c.segments, c.void, err = d.follow(tokens, highest+1)
	if err == nil && len(c.segments) == 0 {
		return c, d.headless(c)
	}
	if len(c.segments) == 0 {
		return c, err
	}
	header, herr := d.headerOf(c.segments)
	if herr != nil {
		c.segments = nil
		if u := (*UnfinishedError)(nil); err != nil && errors.As(herr, &u) {
			return c, err // there were later segments
		}
		return c, herr
	}
	c.header = header
	return c, err
}

// tokens lists the numbers of the segments, highest first. The highest number
// counts every name that begins with one.
func (d directory) tokens() (tokens []int, highest int, err error) {
	des, err := d.listing()
	if err != nil {
		return nil, 0, err
	}
	for _, de := range des {
		digits, _, ok := strings.Cut(de.Name(), ".")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 1 || len(digits) > 15 {
			continue
		}
		highest = max(highest, n)
		if de.Name() == segmentName(n) {
			tokens = append(tokens, n)
		}
	}
	slices.Sort(tokens)
	slices.Reverse(tokens)
	return tokens, highest, nil
}

// follow finds the newest segment below limit that isn't void and follows its
// chain down. After damage it returns, with the error, what can be read from
// the segments before it. No segments and no error: all are void.
func (d directory) follow(tokens []int, limit int) (segs []segment, void []Void, err error) {
	before := func(token int) []segment {
		segs, _, _ := d.follow(tokens, token) // damage further down is not the first place
		return segs
	}
	for _, t := range tokens {
		if t >= limit {
			continue
		}
		s, size, err := d.first(t)
		if err != nil {
			return before(t), void, err
		}
		if s.open != nil {
			segs = []segment{s}
			break
		}
		void = append(void, Void{Token: t, File: d.segment(t), Bytes: size})
	}
	for len(segs) > 0 && segs[len(segs)-1].token != 1 || len(segs) == 1 && segs[0].open.Repair != nil {
		last := segs[len(segs)-1]
		if last.open.Repair != nil {
			below, err := d.mended(last, tokens)
			if err != nil {
				return before(last.token), void, err
			}
			segs = append(segs, below...)
			break
		}
		s, err := d.prev(last, tokens)
		if err != nil {
			return before(last.token), void, err
		}
		segs = append(segs, s)
	}
	slices.Reverse(segs)
	if len(segs) > 0 && segs[0].token == 1 && segs[0].mended == nil && segs[0].open.Prev != nil {
		return nil, void, d.damage(segs[0].path, 1, 0, "the first segment names one before it")
	}
	return segs, void, nil
}

// prev returns the segment that s continues.
func (d directory) prev(s segment, tokens []int) (segment, error) {
	seal := s.open.Prev
	if seal == nil {
		return segment{}, d.damage(s.path, 1, 0, "it names no segment before it, and it isn't the first")
	}
	if seal.Token >= s.token || seal.Token < 1 || seal.Length < 1 {
		return segment{}, d.damage(s.path, 1, 0, fmt.Sprintf("it can't continue segment %d with %d bytes", seal.Token, seal.Length))
	}
	path := d.segment(seal.Token)
	if !slices.Contains(tokens, seal.Token) {
		return segment{}, d.damage(path, 0, 0, fmt.Sprintf("the file is missing; segment %d continues it", s.token))
	}
	p, _, err := d.first(seal.Token)
	if err != nil {
		return segment{}, err
	}
	if p.open == nil {
		return segment{}, d.damage(path, 1, 0, fmt.Sprintf("its open entry can't be read; segment %d continues it", s.token))
	}
	p.seal = seal
	return p, nil
}

// first reads a segment's first line. A void segment has no open; size is
// then its length.
func (d directory) first(token int) (s segment, size int64, err error) {
	path := d.segment(token)
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return segment{}, 0, d.damage(path, 0, 0, "it isn't a regular file")
	}
	head, err := readHead(path, openMax)
	if err == nil && !bytes.Contains(head, []byte("\n")) {
		head, err = readRegular(path)
	}
	if err != nil {
		return segment{}, 0, failed(d.id, "read", path, err)
	}
	line, _, ended := bytes.Cut(head, []byte("\n"))
	e, err := transcript.Decode(line)
	if open, ok := e.Body.(*transcript.Open); ended && err == nil && ok && open.Segment == token && e.ID.Epoch == token {
		return segment{token: token, path: path, open: open, first: e}, 0, nil
	}
	if err == nil {
		err = fmt.Errorf("the first line isn't the open entry of segment %d", token)
	}
	size, err = d.broken(path, 0, openingMax(token), err)
	return segment{}, size, err
}

// header reads the session header, the second line of the first segment.
func (d directory) header(s segment) (*transcript.Session, error) {
	head, err := readHead(s.path, createMax)
	if err == nil && s.open.Repair != nil {
		head, err = readRegular(s.path) // its first line has any length
	}
	if err != nil {
		return nil, failed(d.id, "read", s.path, err)
	}
	second := bytes.IndexByte(head, '\n') + 1
	line, _, ended := bytes.Cut(head[second:], []byte("\n"))
	e, err := transcript.Decode(line)
	h, ok := e.Body.(*transcript.Session)
	switch {
	case ended && err == nil && ok && h.Session != d.id:
		return nil, d.damage(s.path, 2, int64(second), fmt.Sprintf("this is the transcript of session %s", h.Session))
	case ended && err == nil && ok:
		return h, nil
	case err == nil:
		err = errors.New("the second line isn't the session header")
	}
	if _, err := d.broken(s.path, 1, createMax, err); err != nil {
		return nil, err
	}
	if s.seal != nil {
		return nil, d.damage(s.path, 2, int64(second), "the session header is missing")
	}
	return nil, &UnfinishedError{Session: d.id, Dir: d.path}
}

// broken judges line n (from 0) of a file, which can't be used because of
// why. It returns the file's size and no error if a cut-off opening of at
// most limit bytes explains it.
func (d directory) broken(path string, n int, limit int64, why error) (int64, error) {
	data, err := readRegular(path)
	if err != nil {
		return 0, failed(d.id, "read", path, err)
	}
	size := int64(len(data))
	b := lineAt(data, min(n, bytes.Count(data, []byte("\n"))), why)
	if err := d.newer(path, b); err != nil {
		return size, err
	}
	if !b.torn() || size > limit {
		return size, d.damage(path, b.number, b.offset, why.Error())
	}
	return size, nil
}

// newer returns a *NewerError if a whole line has a number that this build
// doesn't read.
func (d directory) newer(path string, b *badLine) error {
	what, got, most := newer(b.text)
	if what == "" || !b.ended {
		return nil
	}
	return &NewerError{Session: d.id, File: path, Line: b.number, What: what, Got: got, Max: most}
}

func (d directory) damage(path string, line int, offset int64, reason string) *DamageError {
	return &DamageError{Session: d.id, File: path, Line: line, Offset: offset, Reason: reason}
}

// headless says why no segment can be read.
func (d directory) headless(c chain) error {
	des, err := os.ReadDir(d.path)
	if err != nil {
		return failed(d.id, "list", d.path, err)
	}
	for _, de := range des {
		// What a session makes only after it was created.
		if n := de.Name(); n != "lock" && n != "transcript" && !strings.HasPrefix(n, tempPrefix) || c.highest > 1 {
			return d.damage(d.transcript(), 0, 0, "no segment with a readable first line is there")
		}
	}
	return &UnfinishedError{Session: d.id, Dir: d.path}
}

// readHead returns the first n bytes of a file, or all of it if it has less.
func readHead(path string, n int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(n, fi.Size()))
	_, err = io.ReadFull(f, head)
	return head, err
}
