package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/workflow"
)

// lines makes updates of the lines that a command prints; nil if nobody wants
// them.
func (w *work) lines() func(context.Context, string) {
	n := w.effect.Node
	if !w.Graph.Has(n.ID + ".updates") {
		return nil
	}
	return func(ctx context.Context, line string) {
		arg, err := json.Marshal(line)
		if err != nil {
			return
		}
		out, err := w.callWith(ctx, n.ID, "updates", arg, nil)
		var u *workflow.Update
		if err != nil || json.Unmarshal(out, &u) != nil || u == nil {
			return // a line that is no update
		}
		w.publish(ctx, "", *u) // refused ones are the author's matter, and no reason to fail the command
	}
}

// queued is how many lines may wait before the command does.
const queued = 16

// lineQueue hands lines on, in order, while the command goes on printing. The
// command waits when too many wait, so that it can't be faster than its updates
// for long. Once it has ended nobody is held back: what is left of its output
// waits in tail. When ctx ends, what wasn't handed on is dropped: no deadline
// waits for updates.
type lineQueue struct {
	ctx    context.Context
	each   func(context.Context, string)
	next   chan string
	done   chan struct{} // closed when all of next is handed on
	exited chan struct{} // closed when the command has ended
	tail   []string      // of the goroutine that reads the command's output, then of end's caller
}

func newLineQueue(ctx context.Context, each func(context.Context, string)) *lineQueue {
	q := &lineQueue{ctx: ctx, each: each, next: make(chan string, queued), done: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		defer close(q.done)
		for line := range q.next {
			q.hand(line)
		}
	}()
	return q
}

func (q *lineQueue) hand(line string) {
	if q.ctx.Err() == nil {
		q.each(q.ctx, line)
	}
}

// exits says when the command ends.
func (q *lineQueue) exits(c <-chan struct{}) {
	go func() {
		<-c
		close(q.exited)
	}()
}

func (q *lineQueue) put(line string) {
	if len(q.tail) > 0 {
		q.tail = append(q.tail, line)
		return
	}
	select {
	case q.next <- line:
	case <-q.ctx.Done():
	case <-q.exited:
		q.tail = append(q.tail, line)
	}
}

// end hands on what is left. Nothing is put any more.
func (q *lineQueue) end() {
	close(q.next)
	<-q.done
	for _, line := range q.tail {
		q.hand(line)
	}
}

// capture keeps the beginning of a stream and hands on its lines.
type capture struct {
	limit int // UTF-16 units
	bytes int // as JSON
	kept  []byte
	cut   bool
	lines *lineQueue // nil: nobody wants them
	line  []byte
	long  bool // the present line is longer than a line can be
}

// Write never fails.
func (c *capture) Write(b []byte) (int, error) {
	if room := min(4*c.limit, c.bytes) - len(c.kept); room >= len(b) {
		c.kept = append(c.kept, b...)
	} else {
		c.kept = append(c.kept, b[:max(room, 0)]...)
		c.cut = true
	}
	if c.lines == nil {
		return len(b), nil
	}
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			c.add(rest)
			break
		}
		c.add(rest[:i])
		c.flush()
		rest = rest[i+1:]
	}
	return len(b), nil
}

func (c *capture) add(b []byte) {
	if c.long = c.long || len(c.line)+len(b) > maxLine; !c.long {
		c.line = append(c.line, b...)
	}
}

// flush hands on the present line, unless it is empty, too long or no text.
func (c *capture) flush() {
	line := bytes.TrimSuffix(c.line, []byte("\r"))
	if c.lines != nil && !c.long && len(line) > 0 && utf8.Valid(line) {
		c.lines.put(string(line))
	}
	c.line, c.long = c.line[:0], false
}

// text is what was kept: whole characters, limit UTF-16 units and bytes of JSON
// at most. A character that was cut at the end of what was kept is left out.
func (c *capture) text() string {
	kept := c.kept
	for n := 1; c.cut && n < utf8.UTFMax && n <= len(kept); n++ {
		if tail := kept[len(kept)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				kept = kept[:len(kept)-n]
			}
			break
		}
	}
	s := strings.ReplaceAll(strings.ToValidUTF8(string(kept), "\uFFFD"), "\x00", "\uFFFD")
	units, bytes := 0, len(`""`)
	for i, r := range s {
		if units++; r > 0xFFFF {
			units++
		}
		bytes += encoded(r)
		if units > c.limit || bytes > c.bytes {
			c.cut = true
			return strings.Clone(s[:i]) // the rest is let go
		}
	}
	return s
}

// encoded is how many bytes a character has in a JSON string.
func encoded(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < 0x20, r == '\u2028', r == '\u2029':
		return 6
	}
	return utf8.RuneLen(r)
}
