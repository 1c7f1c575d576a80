package shell

import (
	"fmt"
	"io"
)

// spiller writes the bytes of an output to a spill file as soon as the output
// is too long to be shown whole. Before that it keeps them in memory.
type spiller struct {
	name   string
	create func(name string) (io.WriteCloser, error)
	limit  int64 // of the file, bytes

	kept []byte // until start
	w    io.WriteCloser
	n    int64 // bytes in the file
	on   bool
	full bool  // the limit was reached
	err  error // the file couldn't be made or written
}

func (s *spiller) write(b []byte) {
	if !s.on {
		s.kept = append(s.kept, b...)
		if len(s.kept) > maxBytes {
			s.start()
		}
		return
	}
	if s.w == nil || s.full || s.err != nil {
		return
	}
	if room := s.limit - s.n; int64(len(b)) > room {
		b, s.full = b[:room], true
	}
	n, err := s.w.Write(b)
	s.n += int64(n)
	s.err = err
}

// start makes the file and writes what was kept.
func (s *spiller) start() {
	if s.on {
		return
	}
	s.on = true
	kept := s.kept
	s.kept = nil
	if s.create == nil {
		return
	}
	if s.w, s.err = s.create(s.name); s.err == nil {
		s.write(kept)
	} else {
		s.w = nil
	}
}

// close ends the file, and lets go of what was kept.
func (s *spiller) close() {
	s.on, s.kept = true, nil
	if s.w == nil {
		return
	}
	if err := s.w.Close(); s.err == nil {
		s.err = err
	}
	s.w = nil
}

// where says where the whole output is, for the model; uri is "" if there is
// no file.
func (s *spiller) where() (text, uri string) {
	uri = "spill:" + s.name
	switch {
	case s.n == 0 && s.err != nil:
		return fmt.Sprintf("the whole output couldn't be kept: %v", s.err), ""
	case s.n == 0:
		return "the whole output isn't kept", ""
	case s.err != nil:
		return fmt.Sprintf("the first %d bytes: %s; then writing failed: %v", s.n, uri, s.err), uri
	case s.full:
		return fmt.Sprintf("the first %d bytes, which is as much as is kept: %s", s.n, uri), uri
	}
	return "whole output: " + uri, uri
}
