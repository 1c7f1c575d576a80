package disk

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Info is what a list of sessions shows.
type Info struct {
	ID        string
	Created   time.Time // of the first entry
	Updated   time.Time // of the last entry
	Workspace string
	Model     string
	Variant   string
	Label     string  // the newest label near the log's ends, or the header's
	Prompt    string  // beginning of the first message of a person
	Run       string  // the workflow run for whose steps alone it was made; "": none
	Locked    *Holder // who owns it; nil: nobody
	Err       error   // why it can't be opened, as far as its ends tell; nil: nothing known
}

// List returns the sessions, the one that was written to last first. It reads
// only the beginning and the end of each log, so it doesn't notice damage in
// between. Damaged sessions are listed with the reason, unfinished creations
// are not. The times of a session whose log tells none are its directory's.
func (h *Home) List() ([]Info, error) {
	ids, err := h.ids()
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, id := range ids {
		if i, ok := h.info(id); ok {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID))
	})
	return out, nil
}

// info looks at one session. False: there is nothing to show.
func (h *Home) info(id string) (Info, bool) {
	i := Info{ID: id}
	d, err := h.directory(id)
	if err != nil {
		return i, false // removed meanwhile
	}
	c, err := d.chain()
	if u := (*UnfinishedError)(nil); errors.As(err, &u) {
		return i, false
	}
	i.Err = d.explain(err)
	if i.Locked, err = held(d.lock()); err != nil && i.Err == nil {
		i.Err = err
	}
	if k := (*kindError)(nil); i.Err == nil && errors.As(checkKind(d.lock(), false), &k) {
		i.Err = &DamageError{Session: id, File: d.lock(), Reason: k.Error(), beside: true}
	}
	if fi, err := os.Stat(d.path); err == nil {
		i.Created, i.Updated = fi.ModTime(), fi.ModTime()
	}
	if c.header == nil {
		return i, true
	}
	i.Workspace, i.Model, i.Variant, i.Label = c.header.Workspace, c.header.Model, c.header.Variant, c.header.Label
	i.Run = c.header.Run
	i.Created = c.segments[0].first.Time
	i.readHead(c.segments)
	if !i.readTail(c.segments[len(c.segments)-1]) && i.Err == nil {
		_, i.Err = d.look() // torn or damaged
	}
	return i, true
}

// How much is read of a log in search of its first prompt, and how much of
// the prompt is shown.
const (
	headBytes   = 256 << 10
	promptBytes = 200
)

// readHead looks for the first prompt.
func (i *Info) readHead(segs []segment) {
	left := int64(headBytes)
	for _, s := range segs {
		most := left
		if s.seal != nil {
			most = min(most, s.seal.Length)
		}
		for n := min(most, windowBytes); ; n = most {
			data, err := readHead(s.path, n)
			if err != nil || i.scanHead(data, s.mended != nil) {
				return
			}
			if n == most {
				break
			}
		}
		if left -= most; left <= 0 {
			return
		}
	}
}

// scanHead takes the first prompt, and labels before it, from the whole lines
// of data; mended: lines that can't be read are passed over. False: look
// further.
func (i *Info) scanHead(data []byte, mended bool) bool {
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if !ended {
			return false
		}
		data = rest
		if !mentions(line, "arrive") && !mentions(line, "label") {
			continue
		}
		e, err := transcript.Decode(line)
		if err != nil && mended {
			continue
		}
		if err != nil {
			return true
		}
		i.takeLabel(e)
		if a, ok := e.Body.(*transcript.Arrive); ok && a.Human && strings.TrimSpace(a.Text) != "" {
			i.Prompt = beginning(a.Text)
			return true
		}
	}
}

// readTail takes the last entry's time and labels from the log's end. False:
// the last line is no entry.
func (i *Info) readTail(s segment) bool {
	i.Updated = s.first.Time
	data, err := s.lastLines()
	if err != nil {
		return false
	}
	lines := bytes.Split(data, []byte("\n"))
	lines = lines[:len(lines)-1] // a fragment may be being written
	for _, line := range lines {
		if !mentions(line, "label") {
			continue
		}
		if e, err := transcript.Decode(line); err == nil {
			i.takeLabel(e)
		}
	}
	for n := len(lines) - 1; n >= 0; n-- {
		if e, err := transcript.Decode(lines[n]); err == nil {
			i.Updated = e.Time
			return n == len(lines)-1
		}
	}
	return false
}

// lastLines returns the end of a segment with at least one whole line.
func (s segment) lastLines() ([]byte, error) {
	for size := int64(windowBytes); ; size *= 4 {
		data, all, err := s.window(size)
		if err != nil || all || bytes.Contains(data, []byte("\n")) {
			return data, err
		}
	}
}

// mentions is a quick look before a line is decoded.
func mentions(line []byte, kind string) bool {
	return bytes.Contains(line, []byte(`"`+kind+`"`))
}

func (i *Info) takeLabel(e transcript.Entry) {
	if l, ok := e.Body.(*transcript.Label); ok {
		i.Label = l.Text
	}
}

// beginning returns the first line of a text, cut to promptBytes between two
// runes.
func beginning(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(text)
	if len(text) <= promptBytes {
		return text
	}
	n := promptBytes
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
