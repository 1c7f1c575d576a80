package owner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gamma-harness/gamma/wire"
)

// frameLimit is the size of the largest event that a client takes.
const frameLimit = 64 << 20

// frameReader reads a stream of events.
type frameReader struct {
	in     *bufio.Scanner
	lastID string
}

// newLineReader returns a reader of lines that end with "\n" or "\r\n".
func newLineReader(r io.Reader) *bufio.Scanner {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), frameLimit)
	return in
}

// event returns the next event. Names that it doesn't know it skips.
func (f *frameReader) event() (Event, error) {
	for {
		name, data, err := f.frame()
		if err != nil {
			return Event{}, err
		}
		ev := Event{ID: f.lastID}
		var into any
		var dropped wire.Dropped
		switch name {
		case "":
			into = &ev.Event
		case resyncEvent:
			ev.Resync = new(wire.Resync)
			into = ev.Resync
		case droppedEvent:
			into = &dropped
		default:
			continue
		}
		if err := json.Unmarshal([]byte(data), into); err != nil {
			return Event{}, fmt.Errorf("event %s: %w", f.lastID, err)
		}
		if name == droppedEvent {
			return Event{}, &StreamEnd{dropped.Reason}
		}
		return ev, nil
	}
}

// frame reads up to the empty line that ends an event with data.
func (f *frameReader) frame() (name, data string, err error) {
	id := f.lastID
	var lines []string
	for f.in.Scan() {
		line := f.in.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && lines == nil:
			name = ""
		case line == "":
			f.lastID = id
			return name, strings.Join(lines, "\n"), nil
		case field == "id":
			id = value
		case field == "event":
			name = value
		case field == "data":
			lines = append(lines, value)
		}
	}
	if errors.Is(f.in.Err(), bufio.ErrTooLong) {
		return "", "", fmt.Errorf("an event after %s has a line of more than %d bytes", f.lastID, frameLimit)
	}
	return "", "", &StreamEnd{wire.DroppedLost}
}
