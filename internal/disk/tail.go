package disk

import (
	"bytes"
	"io"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// windowBytes is what is read from the end of a segment at first.
const windowBytes = 32 << 10

// Tail returns the last n entries (all, if there are fewer) and the header
// without reading the rest, so it doesn't notice damage before them. A
// fragment at the end is left out and not reported. Where it meets something
// odd it reads the whole log, as Read does, and returns Read's error.
func (h *Home) Tail(id string, n int) (*Log, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	if c, err := d.chain(); err == nil {
		if entries, ok := c.tail(n); ok {
			return &Log{ID: id, Header: *c.header, Entries: entries}, nil
		}
	}
	log, err := h.Read(id)
	if log != nil {
		log.Entries = log.Entries[max(0, len(log.Entries)-n):]
	}
	return log, err
}

// tail reads the last n entries; false if anything isn't as it should be.
func (c chain) tail(n int) ([]transcript.Entry, bool) {
	var parts [][]transcript.Entry // newest first
	for i := len(c.segments) - 1; i >= 0 && n > 0; i-- {
		part, ok := c.segments[i].tail(n)
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
		n -= len(part)
	}
	var out []transcript.Entry
	for i := len(parts) - 1; i >= 0; i-- {
		out = append(out, parts[i]...)
	}
	for i := 1; i < len(out); i++ {
		if out[i].ID.Seq != out[i-1].ID.Seq+1 {
			return nil, false
		}
	}
	return out, true
}

// tail reads a segment's last n entries.
func (s segment) tail(n int) ([]transcript.Entry, bool) {
	if s.mended != nil {
		return nil, false // its lines may be out of order
	}
	for size := int64(windowBytes); ; size *= 4 {
		data, all, err := s.window(size)
		if err != nil {
			return nil, false
		}
		lines := bytes.Count(data, []byte("\n"))
		if lines < n && !all {
			continue
		}
		for ; lines > n; lines-- {
			data = data[bytes.IndexByte(data, '\n')+1:]
		}
		entries, bad := decodeLines(data[:bytes.LastIndexByte(data, '\n')+1])
		for _, e := range entries {
			if e.ID.Epoch != s.token {
				return nil, false
			}
		}
		return entries, bad == nil && len(entries) > 0
	}
}

// window returns the last size bytes that count, from a line's beginning on;
// all says that this is the whole segment.
func (s segment) window(size int64) (data []byte, all bool, err error) {
	f, err := openRegular(s.path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, false, err
	}
	if s.seal != nil {
		if end < s.seal.Length {
			return nil, false, io.ErrUnexpectedEOF
		}
		end = s.seal.Length
	}
	from := max(0, end-size)
	data = make([]byte, end-from)
	if _, err := f.ReadAt(data, from); err != nil && err != io.EOF {
		return nil, false, err
	}
	if from > 0 {
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	return data, from == 0, nil
}
