package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/internal/session"
)

// The limits of a page.
const (
	pageLines  = 2000
	pageBytes  = 50 << 10
	firstChunk = 8 << 10  // most files are small
	chunkSize  = 64 << 10 // of the others
)

// page is some whole lines of a text, in bounded memory: it is filled chunk
// by chunk.
type page struct {
	first, limit int // wanted
	from, to     int // lines shown; to is from-1 if there are none
	text         []byte
	line         []byte // of the line being read, as much as may be shown
	lineBytes    int64  // its length
	number       int    // its number
	full         bool   // nothing more is shown
	more         bool   // there is a line after the last one shown
	odd          int    // bytes that aren't text and are shown as U+FFFD

	long        bool  // the first line is too long: only its head is shown
	longBytes   int64 // its length with its end
	shownOfLong int   // bytes of it that are shown

	total int // lines; 0 if the end wasn't reached
	bytes int64
	hash  hash.Hash
	ended bool
}

// readPage reads the lines that a asks for. whole reads to the end, for the
// revision and the number of lines; else reading stops when the page is full.
func readPage(ctx context.Context, r io.Reader, a readArgs, whole bool) (*page, error) {
	p := &page{first: max(a.offset, 1), limit: pageLines, number: 1, hash: sha256.New()}
	if a.limit > 0 {
		p.limit = min(a.limit, pageLines)
	}
	p.from, p.to = p.first, p.first-1
	buf := make([]byte, firstChunk)
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := r.Read(buf)
		p.chunk(buf[:n], whole)
		if n == firstChunk && len(buf) == firstChunk {
			buf = make([]byte, chunkSize)
		}
		if errors.Is(err, io.EOF) {
			p.end()
			break
		}
		if err != nil {
			return nil, err
		}
		if p.more && (!whole || p.bytes > hashLimit) {
			break
		}
	}
	if p.ended && p.first > p.total && p.first > 1 {
		return nil, fmt.Errorf("offset %d is past the end: there are %d lines", p.first, p.total)
	}
	return p, nil
}

// chunk takes the next bytes.
func (p *page) chunk(b []byte, hashed bool) {
	p.bytes += int64(len(b))
	if hashed {
		p.hash.Write(b)
	}
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			p.piece(b)
			return
		}
		p.piece(b[:i+1])
		p.lineEnd()
		b = b[i+1:]
	}
}

// piece takes bytes of the present line.
func (p *page) piece(b []byte) {
	p.lineBytes += int64(len(b))
	if p.number < p.first {
		return
	}
	if p.full {
		p.more = true
		return
	}
	if room := pageBytes + 1 - len(p.line); room > 0 {
		p.line = append(p.line, b[:min(len(b), room)]...)
	}
	if len(p.text)+len(p.line) > pageBytes && len(p.text) > 0 {
		p.full, p.more = true, true
	}
}

// lineEnd ends the present line, which has been read whole.
func (p *page) lineEnd() {
	if p.number >= p.first && !p.full {
		p.show()
	}
	p.number++
	p.line, p.lineBytes = p.line[:0], 0
}

// show puts the present line on the page, if it fits.
func (p *page) show() {
	text, used, odd := asText(p.line, pageBytes-len(p.text))
	if int64(used) < p.lineBytes {
		p.full = true
		if p.to >= p.from {
			p.more = true
			return
		}
		p.long, p.longBytes, p.shownOfLong = true, p.lineBytes, used
	}
	p.text = append(p.text, text...)
	p.odd += odd
	p.to = p.number
	if p.to-p.from+1 >= p.limit {
		p.full = true
	}
}

// end says that the text has ended.
func (p *page) end() {
	p.ended = true
	p.total = p.number - 1
	if p.lineBytes > 0 {
		p.total++
		p.lineEnd()
	}
}

// asText returns the start of b as text of at most room bytes, whole runes,
// and how many bytes of b it shows. A NUL and what isn't UTF-8 is U+FFFD and
// counted as odd.
func asText(b []byte, room int) (text []byte, used, odd int) {
	if len(b) <= room && utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return b, len(b), 0
	}
	for used < len(b) {
		r, n := utf8.DecodeRune(b[used:])
		if r == utf8.RuneError && n == 1 || r == 0 {
			r = utf8.RuneError
		}
		if len(text)+utf8.RuneLen(r) > room {
			break
		}
		if r == utf8.RuneError && n == 1 || b[used] == 0 {
			odd++
		}
		text = utf8.AppendRune(text, r)
		used += n
	}
	return text, used, odd
}

// revision is the file's revision as it was read.
func (p *page) revision(info fs.FileInfo) string {
	if p.ended && p.bytes <= hashLimit && info.Size() <= hashLimit {
		return "sha256:" + hex.EncodeToString(p.hash.Sum(nil))
	}
	return statRevision(info)
}

// output makes the result of a page. howLong says how to see more of a line
// that is too long.
func (p *page) output(d readDetails, howLong func() string) session.Output {
	d.Kind, d.Total = "text", p.total
	if p.to >= p.from {
		d.From, d.To = p.from, p.to
	}
	if p.more {
		d.Next = p.to + 1
	}
	var notes []string
	switch {
	case p.ended && p.bytes == 0:
		notes = append(notes, "the file is empty")
	case p.long:
		notes = append(notes, fmt.Sprintf("line %d has %d bytes, of which the first %d are shown. %s", p.from, p.longBytes, p.shownOfLong, howLong()))
		if p.more {
			notes = append(notes, fmt.Sprintf("more lines follow; go on with offset %d", d.Next))
		}
	case p.more && p.ended:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %d are shown; go on with offset %d", p.from, p.to, p.total, d.Next))
	case p.more:
		notes = append(notes, fmt.Sprintf("lines %d-%d are shown, more follow; go on with offset %d", p.from, p.to, d.Next))
	}
	if p.odd > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes are NUL or not UTF-8 and shown as \ufffd; edit can't match them", p.odd))
	}
	text := string(p.text)
	if len(notes) > 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "[" + strings.Join(notes, "; ") + "]"
	}
	return session.Output{Outcome: outcomeOK, Text: text, Details: details(d)}
}
