package provider

import (
	"github.com/gamma-harness/gamma/llm"
	"github.com/go-json-experiment/json/jsontext"
)

// fragment is a piece of a tool call in a Chat stream. Servers leave out any
// of its fields, and some give each call the same id or index.
type fragment struct {
	index place
	id    string
	name  wide
	args  argText
}

// calls puts the calls of a Chat answer together. A fragment with a name may
// begin a call; one without always continues one. The rules, by which no two
// calls become one and none is taken apart:
//
//   - id and index together find a call; so calls with equal ids are told
//     apart by index, and calls with equal indexes by id;
//   - a fragment without a name falls back to the id alone, then the index
//     alone; if it has no index, to the call that was touched last. With an
//     index that is new it begins a call whose name is still to come;
//   - a fragment with a name continues a call that has none yet. Otherwise it
//     begins a new call if it has neither id nor index, if its name or id
//     differs from the found call's, if that got a fragment in the same chunk,
//     or if its arguments are whole.
type calls struct {
	list  []*building
	last  *building // touched last
	chunk int       // number of the chunk being read
	emit  func(llm.Delta)
	shown int // calls that people have seen begin
}

// building is a call whose fragments are still coming.
type building struct {
	index place
	id    string
	name  joiner
	args  joiner
	scan  brackets
	chunk int // the last chunk that touched it
	shown int // its number in deltas, -1 before it was shown
	// again: it began with a fragment that repeats a finished call and has no
	// arguments. That is a call only if arguments follow; else it was an echo.
	again bool
}

// add takes the next fragment of the current chunk.
func (c *calls) add(f fragment) {
	b := c.find(f)
	if b == nil || f.name != "" && c.begins(b, f) {
		echo := b != nil && b.chunk != c.chunk && f.args.wide == "" && f.id == b.id &&
			(f.id != "" || f.index.set) && b.name.text() == f.name.text()
		b = &building{index: f.index, shown: -1, again: echo}
		c.list = append(c.list, b)
	}
	c.last, b.chunk = b, c.chunk
	if b.id == "" {
		b.id = f.id
	}
	if b.name.text() == "" {
		b.name.add(f.name)
	}
	args := b.args.add(f.args.wide)
	b.scan.feed(args)
	c.show(b, args)
}

// find returns the call that the fragment may belong to, or nil.
func (c *calls) find(f fragment) *building {
	if f.id != "" {
		if b := c.newest(func(b *building) bool {
			return b.id == f.id && (b.index == f.index || !b.index.set || !f.index.set)
		}); b != nil {
			return b
		}
	}
	if f.name != "" { // its id is unknown; the call found may lack one so far
		return c.newest(func(b *building) bool {
			return f.index.set && b.index == f.index && (f.id == "" || b.id == "") ||
				f.id == "" && !f.index.set && b == c.last && b.name.text() == ""
		})
	}
	if b := c.newest(func(b *building) bool { return f.id != "" && b.id == f.id }); b != nil {
		return b
	}
	if f.index.set {
		return c.newest(func(b *building) bool { return b.index == f.index })
	}
	return c.last
}

// begins reports whether a fragment with a name begins a call of its own,
// though b could be meant.
func (c *calls) begins(b *building, f fragment) bool {
	name := b.name.text()
	return name != "" && (name != f.name.text() || b.chunk == c.chunk || b.whole())
}

func (c *calls) newest(match func(*building) bool) *building {
	for i := len(c.list) - 1; i >= 0; i-- {
		if match(c.list[i]) {
			return c.list[i]
		}
	}
	return nil
}

// show tells people what was added, once the call has a name.
func (c *calls) show(b *building, args string) {
	if b.shown < 0 {
		args = b.args.text()
		if b.name.text() == "" || b.again && args == "" {
			return
		}
		b.shown = c.shown
		c.shown++
		c.emit(llm.Delta{Type: llm.CallStart, Index: b.shown, Name: b.name.text()})
	}
	if args != "" {
		c.emit(llm.Delta{Type: llm.CallArgs, Index: b.shown, Text: args})
	}
}

// parts returns the calls in the order in which they began.
func (c *calls) parts() []llm.Part {
	var out []llm.Part
	for _, b := range c.list {
		b.args.flush()
		if b.again && b.args.text() == "" {
			continue
		}
		out = append(out, llm.Part{Type: llm.CallPart, Call: &llm.Call{
			ProviderID: b.id, Name: b.name.text(), Arguments: b.args.text(),
		}})
	}
	return out
}

// whole reports whether the arguments so far are a whole JSON value.
func (b *building) whole() bool {
	if text := b.args.text(); !b.scan.begun && len(text) <= 16 {
		return jsontext.Value(text).IsValid() // null, true, 1
	}
	return b.scan.whole()
}

// brackets follows JSON text as it grows and knows when an object or array
// that it begins with is closed. It reads each byte once.
type brackets struct {
	begun, inString, escaped bool
	level                    int
}

func (s *brackets) feed(text string) {
	for i := range len(text) {
		c := text[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.begun = true
			s.level++
		case c == '}' || c == ']':
			s.level--
		}
	}
}

// whole reports whether the object or array is closed.
func (s *brackets) whole() bool { return s.begun && s.level <= 0 && !s.inString }
