package shell

import (
	"bytes"
	"unicode/utf8"
)

// The limits of what is shown of an output. Of a longer one the head and the
// tail are shown, in whole lines, together within the limits.
const (
	maxLines  = 2000
	maxBytes  = 50 << 10
	headLines = 40
	headBytes = 2 << 10
	tailLines = maxLines - headLines
	tailBytes = maxBytes - headBytes
)

// window keeps the head and the tail of a text of valid UTF-8, in bounded
// memory.
type window struct {
	head     []byte // set when over
	buf      []byte // what follows the head, or all
	lines    int    // line ends in buf
	cutBytes int64  // left out between head and buf
	cutLines int64
	over     bool // the text is over the limits
}

// add appends whole runes.
func (w *window) add(text []byte) {
	w.buf = append(w.buf, text...)
	w.lines += bytes.Count(text, []byte("\n"))
	if !w.over && (len(w.buf) > maxBytes || w.lineCount() > maxLines) {
		w.over = true
		w.splitHead()
	}
	if w.over && (len(w.buf) > 2*tailBytes || w.lines > 2*tailLines) {
		w.trim()
	}
}

// lineCount counts the last line even if it has no end.
func (w *window) lineCount() int {
	if n := len(w.buf); n == 0 || w.buf[n-1] == '\n' {
		return w.lines
	}
	return w.lines + 1
}

// splitHead moves the first lines into head, or the start of the first line
// if that is too long.
func (w *window) splitHead() {
	end := 0
	for range headLines {
		i := bytes.IndexByte(w.buf[end:], '\n')
		if i < 0 || end+i+1 > headBytes {
			break
		}
		end += i + 1
	}
	if end == 0 {
		end = runeStart(w.buf, headBytes)
	}
	w.head = bytes.Clone(w.buf[:end])
	w.drop(end)
	w.cutBytes, w.cutLines = 0, 0 // moved, not left out
}

// trim cuts buf to the limits of the tail.
func (w *window) trim() { w.drop(len(w.buf) - len(lastLines(w.buf, tailBytes, tailLines))) }

// drop removes the first n bytes of buf.
func (w *window) drop(n int) {
	ends := bytes.Count(w.buf[:n], []byte("\n"))
	w.lines -= ends
	w.cutLines += int64(ends)
	w.cutBytes += int64(n)
	w.buf = append(w.buf[:0], w.buf[n:]...)
}

// take returns the kept text and starts anew.
func (w *window) take() window {
	if w.over {
		w.trim()
	}
	out := *w
	*w = window{}
	return out
}

// lastLines returns the end of b: whole lines within both limits, or the end
// of the last line, from the start of a rune, if that line alone is too long.
func lastLines(b []byte, size, lines int) []byte {
	from := max(0, len(b)-size)
	end := len(bytes.TrimSuffix(b, []byte("\n")))
	at := end
	for range lines {
		if at = bytes.LastIndexByte(b[:at], '\n'); at < from {
			break
		}
	}
	switch {
	case at >= from: // the line limit comes first
		return b[at+1:]
	case from == 0 || b[from-1] == '\n':
		return b[from:]
	}
	if i := bytes.IndexByte(b[from:end], '\n'); i >= 0 {
		return b[from+i+1:]
	}
	for from < len(b) && !utf8.RuneStart(b[from]) {
		from++
	}
	return b[from:]
}

// runeStart returns the last start of a rune at or before n, or len(b).
func runeStart(b []byte, n int) int {
	if n >= len(b) {
		return len(b)
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}
