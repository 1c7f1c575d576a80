package disk

import (
	"bytes"
	"os"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Last returns the newest entry of a kind, on whatever branch, without reading
// the log entry by entry. False: there is none, or the log can't be read; then
// opening it tells.
func (h *Home) Last(id string, kind transcript.Kind) (transcript.Entry, bool) {
	d, err := h.directory(id)
	if err != nil {
		return transcript.Entry{}, false
	}
	c, err := d.chain()
	if err != nil {
		return transcript.Entry{}, false
	}
	for i := len(c.segments) - 1; i >= 0; i-- {
		s := c.segments[i]
		data, err := os.ReadFile(s.path)
		if err != nil {
			return transcript.Entry{}, false
		}
		if s.seal != nil && s.seal.Length <= int64(len(data)) {
			data = data[:s.seal.Length]
		}
		if e, ok := lastIn(data, kind); ok {
			return e, true
		}
	}
	return transcript.Entry{}, false
}

// lastIn finds the newest whole line of a kind. What looks like one inside of
// another line is passed over.
func lastIn(data []byte, kind transcript.Kind) (transcript.Entry, bool) {
	sign := []byte(`"kind":"` + string(kind) + `"`)
	for {
		at := bytes.LastIndex(data, sign)
		if at < 0 {
			return transcript.Entry{}, false
		}
		from := bytes.LastIndexByte(data[:at], '\n') + 1
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			if e, err := transcript.Decode(data[from : at+n]); err == nil && e.Kind() == kind {
				return e, true
			}
		}
		data = data[:from]
	}
}
