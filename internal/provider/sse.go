package provider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits of a stream, in bytes.
const (
	maxLine   = 64 << 20  // a line, and the data of an event
	maxStream = 512 << 20 // all of it
)

// errTooLarge is wrapped by the errors about the limits above.
var errTooLarge = errors.New("the stream is too large")

// event is one server-sent event.
type event struct {
	name string // of its "event:" field
	data []byte // its data lines, joined by "\n"; valid until the next call
	// torn: the stream ended inside the event's last line, so the data may
	// have been cut.
	torn bool
}

// eventReader splits a stream into server-sent events. Lines end with "\n",
// "\r\n" or "\r", in any mixture and however the bytes are cut into reads; an
// event is returned as soon as its blank line is known, without waiting for
// the "\n" that may follow a "\r". Comments and unknown fields are passed
// over, a byte order mark at the start too. At the end of the stream an event
// without its blank line is returned as well.
type eventReader struct {
	src  io.Reader
	line int // limit of a line
	all  int // limit of the stream

	buf     []byte
	r, w    int  // unread bytes are buf[r:w]
	seen    int  // buf[r:seen] holds no line end
	read    int  // bytes of the stream so far
	begun   bool // the first line was read
	skipLF  bool // the last line ended with "\r"
	err     error
	name    string
	data    []byte
	hasData bool
}

func newEventReader(src io.Reader) *eventReader {
	return &eventReader{src: src, line: maxLine, all: maxStream, buf: make([]byte, 8<<10)}
}

// next returns the next event, or io.EOF at the end of the stream, or the
// error of the read that failed. What stood before an error is lost.
func (s *eventReader) next() (event, error) {
	s.name, s.data, s.hasData = "", s.data[:0], false
	for {
		line, err := s.nextLine()
		if err == io.EOF {
			torn := len(line) > 0
			if torn {
				s.field(line)
			}
			if s.hasData {
				return event{s.name, s.data, torn}, nil
			}
			return event{}, io.EOF
		}
		if err != nil {
			return event{}, err
		}
		switch {
		case len(line) > 0:
			s.field(line)
			if len(s.data) > s.line {
				return event{}, fmt.Errorf("%w: an event has more than %d bytes", errTooLarge, s.line)
			}
		case s.hasData:
			return event{s.name, s.data, false}, nil
		default:
			s.name = ""
		}
	}
}

// field takes one line that isn't blank.
func (s *eventReader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.data = append(s.data, value...)
		s.hasData = true
	case "event":
		s.name = string(value)
	}
}

// nextLine returns the next line without its end. With io.EOF it returns what
// stood behind the last line end.
func (s *eventReader) nextLine() ([]byte, error) {
	for {
		if s.skipLF && s.r < s.w {
			if s.buf[s.r] == '\n' {
				s.r++
				s.seen = s.r
			}
			s.skipLF = false
		}
		if n := lineEnd(s.buf[s.seen:s.w]); n >= 0 {
			end := s.seen + n
			line := s.buf[s.r:end]
			s.skipLF = s.buf[end] == '\r'
			s.r, s.seen = end+1, end+1
			return s.first(line), nil
		}
		s.seen = s.w
		if s.err == nil {
			s.err = s.fill()
			continue
		}
		if s.err == io.EOF {
			line := s.buf[s.r:s.w]
			s.r = s.w
			return s.first(line), io.EOF
		}
		return nil, s.err
	}
}

// first takes the byte order mark off the first line.
func (s *eventReader) first(line []byte) []byte {
	if s.begun {
		return line
	}
	s.begun = true
	return bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
}

// lineEnd returns the place of the first line end, or -1.
func lineEnd(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n >= 0 {
		b = b[:n]
	}
	if r := bytes.IndexByte(b, '\r'); r >= 0 {
		return r
	}
	return n
}

// fill reads once, behind making room.
func (s *eventReader) fill() error {
	if s.w-s.r > s.line {
		return fmt.Errorf("%w: a line has more than %d bytes", errTooLarge, s.line)
	}
	if s.r > 0 {
		copy(s.buf, s.buf[s.r:s.w])
		s.seen -= s.r
		s.w -= s.r
		s.r = 0
	}
	if s.w == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.src.Read(s.buf[s.w:])
		s.w += n
		s.read += n
		if s.read > s.all {
			return fmt.Errorf("%w: it has more than %d bytes", errTooLarge, s.all)
		}
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
