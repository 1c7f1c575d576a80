package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the newest entry version that this build reads, and the one it
// writes.
const Version = 1

// Schema is the newest transcript schema that this build reads, and the one
// it writes into session headers.
const Schema = 1

// line is the stored shape of an entry.
type line struct {
	ID     ID        `json:"id"`
	Parent *string   `json:"parent,omitzero"` // "" for the first node of its branch
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	V      int       `json:"v"`
	Body   any       `json:"body"`
}

// read is a line as it is read. What its body is depends on the kind.
type read struct {
	ID     ID        `json:"id"`
	Parent *string   `json:"parent"`
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	V      int       `json:"v"`
	Body   span      `json:"body"`
}

// span is where a value stands in the text that is read. A body may have tens
// of megabytes, and isn't copied to be read.
type span struct{ from, to int64 }

// UnmarshalJSONFrom passes over the value.
func (s *span) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s.from = d.InputOffset()
	if err := d.SkipValue(); err != nil {
		return err
	}
	s.to = d.InputOffset()
	return nil
}

// of returns the value; in front of it stand its colon and white space.
func (s span) of(text []byte) []byte { return bytes.TrimLeft(text[s.from:s.to], ": \t\r\n") }

// kindInfo says how bodies of a kind are made and to which family they belong.
type kindInfo struct {
	kind Kind
	node bool
	make func() Body
}

// kinds is the kind table.
func kinds(k Kind) (kindInfo, bool) {
	switch k {
	case "open":
		return kindInfo{k, false, func() Body { return new(Open) }}, true
	case "session":
		return kindInfo{k, false, func() Body { return new(Session) }}, true
	case "arrive":
		return kindInfo{k, false, func() Body { return new(Arrive) }}, true
	case "leaf":
		return kindInfo{k, false, func() Body { return new(Leaf) }}, true
	case "label":
		return kindInfo{k, false, func() Body { return new(Label) }}, true
	case "withdraw":
		return kindInfo{k, false, func() Body { return new(Withdraw) }}, true
	case "close":
		return kindInfo{k, false, func() Body { return new(Close) }}, true
	case "facts":
		return kindInfo{k, true, func() Body { return new(Facts) }}, true
	case "deliver":
		return kindInfo{k, true, func() Body { return new(Deliver) }}, true
	case "resume":
		return kindInfo{k, true, func() Body { return new(Resume) }}, true
	case "request":
		return kindInfo{k, true, func() Body { return new(Request) }}, true
	case "assistant":
		return kindInfo{k, true, func() Body { return new(Answer) }}, true
	case "fail":
		return kindInfo{k, true, func() Body { return new(Fail) }}, true
	case "intent":
		return kindInfo{k, true, func() Body { return new(Intent) }}, true
	case "ask":
		return kindInfo{k, true, func() Body { return new(Ask) }}, true
	case "approval":
		return kindInfo{k, true, func() Body { return new(Approval) }}, true
	case "result":
		return kindInfo{k, true, func() Body { return new(Result) }}, true
	case "abort":
		return kindInfo{k, true, func() Body { return new(Abort) }}, true
	case "settled":
		return kindInfo{k, true, func() Body { return new(Settled) }}, true
	case "model_change":
		return kindInfo{k, true, func() Body { return new(ModelChange) }}, true
	case "compact":
		return kindInfo{k, true, func() Body { return new(Compact) }}, true
	case "compact_failed":
		return kindInfo{k, true, func() Body { return new(CompactFailed) }}, true
	}
	return kindInfo{}, false
}

func (*Open) kind() Kind        { return "open" }
func (*Session) kind() Kind     { return "session" }
func (*Arrive) kind() Kind      { return "arrive" }
func (*Leaf) kind() Kind        { return "leaf" }
func (*Label) kind() Kind       { return "label" }
func (*Facts) kind() Kind       { return "facts" }
func (*Deliver) kind() Kind     { return "deliver" }
func (*Resume) kind() Kind      { return "resume" }
func (*Request) kind() Kind     { return "request" }
func (*Answer) kind() Kind      { return "assistant" }
func (*Fail) kind() Kind        { return "fail" }
func (*Intent) kind() Kind      { return "intent" }
func (*Ask) kind() Kind         { return "ask" }
func (*Approval) kind() Kind    { return "approval" }
func (*Result) kind() Kind      { return "result" }
func (*Abort) kind() Kind       { return "abort" }
func (*Settled) kind() Kind     { return "settled" }
func (*ModelChange) kind() Kind { return "model_change" }
func (u *Unknown) kind() Kind   { return u.Name }

func (*Open) node() bool        { return false }
func (*Session) node() bool     { return false }
func (*Arrive) node() bool      { return false }
func (*Leaf) node() bool        { return false }
func (*Label) node() bool       { return false }
func (*Facts) node() bool       { return true }
func (*Deliver) node() bool     { return true }
func (*Resume) node() bool      { return true }
func (*Request) node() bool     { return true }
func (*Answer) node() bool      { return true }
func (*Fail) node() bool        { return true }
func (*Intent) node() bool      { return true }
func (*Ask) node() bool         { return true }
func (*Approval) node() bool    { return true }
func (*Result) node() bool      { return true }
func (*Abort) node() bool       { return true }
func (*Settled) node() bool     { return true }
func (*ModelChange) node() bool { return true }
func (u *Unknown) node() bool   { return u.IsTree }

// writing lets invalid UTF-8 become U+FFFD, so that no text that reached the
// log can make a line unreadable.
var writing = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsonv2.Deterministic(true),
)

// Encode returns the entry's line with its "\n".
func Encode(e Entry) ([]byte, error) {
	l := line{ID: e.ID, Time: e.Time, Kind: e.Kind(), V: e.V, Body: e.Body}
	if e.IsNode() {
		parent := e.Parent.String()
		l.Parent = &parent
	}
	if u, ok := e.Body.(*Unknown); ok {
		l.Body = jsontext.Value(u.Body)
	}
	var out lineBytes
	if err := jsonv2.MarshalWrite(&out, l, writing); err != nil {
		return nil, fmt.Errorf("entry %s (%s): %w", e.ID, e.Kind(), err)
	}
	return append(out, '\n'), nil
}

// lineBytes takes what is written and has room for the "\n", so that a large
// line isn't copied for one byte.
type lineBytes []byte

// Write never fails.
func (l *lineBytes) Write(p []byte) (int, error) {
	*l = append(slices.Grow(*l, len(p)+1), p...)
	return len(p), nil
}

// Decode reads one line, with or without its "\n".
func Decode(b []byte) (Entry, error) {
	var l read
	b = bytes.TrimSuffix(b, []byte("\n"))
	if err := jsonv2.Unmarshal(b, &l); err != nil {
		return Entry{}, fmt.Errorf("not an entry: %w", err)
	}
	if l.ID.IsZero() || l.Kind == "" {
		return Entry{}, errors.New("not an entry: no id or kind")
	}
	if l.V > Version {
		return Entry{}, fmt.Errorf("entry %s (%s) has version %d; this build reads up to %d: use a newer gamma", l.ID, l.Kind, l.V, Version)
	}
	e := Entry{ID: l.ID, Time: l.Time, V: l.V}
	if l.Parent != nil {
		parent, err := ParseID(*l.Parent)
		if err != nil {
			return Entry{}, fmt.Errorf("entry %s (%s): parent: %w", l.ID, l.Kind, err)
		}
		e.Parent = parent
	}
	info, ok := kinds(l.Kind)
	if !ok {
		e.Body = &Unknown{Name: l.Kind, IsTree: l.Parent != nil, Body: json.RawMessage(bytes.Clone(l.Body.of(b)))}
		return e, nil
	}
	if info.node != (l.Parent != nil) {
		return Entry{}, fmt.Errorf("entry %s (%s): a node has a parent and a session record has none", l.ID, l.Kind)
	}
	e.Body = info.make()
	if err := jsonv2.Unmarshal(l.Body.of(b), e.Body); err != nil {
		return Entry{}, fmt.Errorf("entry %s (%s): body: %w", l.ID, l.Kind, err)
	}
	return e, e.check()
}

// check refuses what JSON allows and the log doesn't.
func (e Entry) check() error {
	if s, ok := e.Body.(*Session); ok && s.Schema > Schema {
		return fmt.Errorf("the session has transcript schema %d; this build reads up to %d: use a newer gamma", s.Schema, Schema)
	}
	a, ok := e.Body.(*Arrive)
	if !ok {
		return nil
	}
	if fault := a.stepFault(); fault != "" {
		return fmt.Errorf("entry %s (arrive): %s", e.ID, fault)
	}
	// Nothing would ever take such an arrival out of the queue.
	switch a.Class {
	case ClassPrompt, ClassSteer, ClassAnswer, ClassFollow, ClassCommand:
		return nil
	case ClassNext, ClassStep:
		if !a.Human {
			return nil
		}
		return fmt.Errorf("entry %s (arrive): a person's words can't have class %q", e.ID, a.Class)
	}
	return fmt.Errorf("entry %s (arrive): unknown class %q", e.ID, a.Class)
}
