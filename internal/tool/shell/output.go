package shell

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// output takes the bytes of a command, makes text of them and keeps what is
// shown; the rest goes to the spill. The text doesn't depend on how the bytes
// were split into writes.
type output struct {
	mu    sync.Mutex
	part  []byte // the start of a rune whose rest hasn't come
	win   window
	spill spiller
	total int64 // bytes
	dirty bool  // written to since the last tail
	text  []byte
}

// Write never fails.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(b))
	o.spill.write(b)
	o.dirty = true
	whole, part := b, []byte(nil)
	if len(o.part) > 0 {
		whole = append(o.part, b...)
	}
	whole, part = splitRune(whole)
	o.add(whole)
	o.part = append([]byte(nil), part...)
	return len(b), nil
}

// end says that nothing more comes: the start of a rune stays without rest.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(o.part)
	o.part = nil
	o.spill.close()
}

func (o *output) add(b []byte) {
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		o.win.add(b)
	} else {
		o.text = appendText(o.text[:0], b)
		o.win.add(o.text)
	}
	if o.win.over {
		o.spill.start()
	}
}

// take returns what came since the last take.
func (o *output) take() window {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.win.take()
}

// tail returns the newest text for people to watch, and false if there is
// nothing new since the last call.
func (o *output) tail() (string, bool) {
	const lines, size = 100, 8 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.dirty {
		return "", false
	}
	o.dirty = false
	return string(lastLines(o.win.buf, size, lines)), true
}

// splitRune cuts off the start of a rune at the end of b.
func splitRune(b []byte) (whole, part []byte) {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i], b[i:]
			}
			break
		}
	}
	return b, nil
}

// appendText appends b as text: each byte that isn't UTF-8 as U+FFFD, and no
// NUL, which not every provider takes.
func appendText(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != 0 {
			dst = utf8.AppendRune(dst, r)
		}
		b = b[n:]
	}
	return dst
}

// kept says where the whole output is, and its length in bytes.
func (o *output) kept() (text, uri string, total int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text, uri = o.spill.where()
	return text, uri, o.total
}
