package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Ctx is what a callback gets: the run as it stands, read by handles.
type Ctx struct {
	ctx  context.Context
	view View
	node string // local id of the node whose callback this is; "" for the definition's own
}

// Context ends when the callback's answer isn't wanted any more: a timeout, a
// cancellation, a claim that was lost.
func (c *Ctx) Context() context.Context { return c.ctx }

// Publish stores an update of the running step and returns when it is stored.
// Only an Action may publish.
func (c *Ctx) Publish(u Update) error {
	if c.view.Publish == nil {
		return fmt.Errorf("update %s/%s: only an action publishes updates", u.Type, u.Key)
	}
	return c.view.Publish(u)
}

// Progress publishes how far a task is, under the type "progress".
func (c *Ctx) Progress(key string, p Progress) error {
	data, err := encode(p)
	if err != nil {
		return fmt.Errorf("progress %s: %w", key, err)
	}
	return c.Publish(Update{Type: "progress", Key: key, Data: data})
}

// Progress is the content of an update of the type "progress". The engine adds
// rate, confidence and expected end.
type Progress struct {
	Status    string `json:"status"`              // pending | running | waiting | blocked | done | failed | cancelled | skipped
	Label     string `json:"label,omitempty"`     // at most 200 characters
	Phase     string `json:"phase,omitempty"`     // at most 128; a new phase begins a new estimate
	Completed *int64 `json:"completed,omitempty"` // from 0
	Total     *int64 `json:"total,omitempty"`     // over 0, and not below completed
	Unit      string `json:"unit,omitempty"`      // 1 to 32 characters; needed with completed or total
	ETA       string `json:"eta,omitempty"`       // the source's own estimate of the end, RFC 3339 with offset
	At        string `json:"at,omitempty"`        // when the source measured, RFC 3339 with offset
}

// ReadError is a read that found no output. It fails the reading node.
type ReadError struct {
	Reader, Read string // node ids
	Why          string
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("node %s reads node %s: %s", e.Reader, e.Read, e.Why)
}

// read returns the newest output of a node, or fails the callback.
func read[T any](c *Ctx, id string) T {
	out, ok := last[T](c, id)
	if !ok {
		panic(&ReadError{c.node, id, "it has no output yet (read it with Last if that can be)"})
	}
	return out
}

func last[T any](c *Ctx, id string) (T, bool) {
	var v T
	raw, ok := c.view.Output(id)
	if !ok {
		return v, false
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(&ReadError{c.node, id, fmt.Sprintf("its output is no %T: %v", v, err)})
	}
	return v, true
}

// InputOf is the handle of a workflow's input.
type InputOf[T any] struct {
	checks []func(T) (T, error)
}

// Input declares the input. The checks get it in order; each may change it
// (fill in a default) or refuse it.
func Input[T any](checks ...func(T) (T, error)) *InputOf[T] { return &InputOf[T]{checks} }

// Of returns the run's input, as the checks left it.
func (in *InputOf[T]) Of(c *Ctx) T {
	var v T
	if err := json.Unmarshal(c.view.Input, &v); err != nil {
		panic(&ReadError{c.node, "input", fmt.Sprintf("it is no %T: %v", v, err)})
	}
	return v
}

// callback is one function of an author, behind its JSON.
type callback func(c *Ctx, arg JSON) (JSON, error)

// value makes a callback of a function that only reads.
func value[T any](f func(*Ctx) T) callback {
	return func(c *Ctx, _ JSON) (JSON, error) { return stored(f(c)) }
}

// stored encodes a value and proves that it can be read back: what a later
// reader gets must be what was produced.
func stored[T any](v T) (JSON, error) {
	b, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("the output can't be stored as JSON: %w", err)
	}
	var again T
	if err := json.Unmarshal(b, &again); err != nil {
		return nil, fmt.Errorf("the output can't be read back from its JSON: %w", err)
	}
	if second, err := encode(again); err != nil || !sameJSON(b, second) {
		return nil, fmt.Errorf("the output changes when it is stored and read back: %s becomes %s", short(b), short(second))
	}
	return b, nil
}

// sameJSON compares values: the order of an object's fields is none of them.
func sameJSON(a, b JSON) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	for raw, into := range map[*JSON]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(bytes.NewReader(*raw))
		d.UseNumber()
		if d.Decode(into) != nil {
			return false
		}
	}
	return reflect.DeepEqual(x, y)
}

func short(b []byte) string {
	if len(b) > 200 {
		return string(bytes.ToValidUTF8(b[:200], nil)) + "…"
	}
	return string(b)
}

// program is the code of a definition that was written in Go.
type program struct {
	calls  map[string]callback
	types  map[string]func(JSON) error // by node, "" for the input: whether a value can be read as its type
	mounts map[string]Program          // by the include's id
}

// Decode implements Decoder.
func (p *program) Decode(node string, value JSON) (err error) {
	f, known := p.types[node]
	if !known {
		mount, rest, inside := strings.Cut(node, "/")
		if child, ok := p.mounts[mount].(Decoder); inside && ok {
			return child.Decode(rest, value)
		}
		return nil
	}
	if f == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it can't be read: panic: %v", r)
		}
	}()
	return f(value)
}

// Decodes says why a value from outside can't be read as the type of a node's
// output (node "": of the input), nil if it can, or if the program doesn't know
// types. JSON Schema allows values that a Go type can't hold: 1.0 is an integer
// to it, and numbers have no bounds.
func Decodes(p Program, node string, value JSON) error {
	if d, ok := p.(Decoder); ok {
		return d.Decode(node, value)
	}
	return nil
}

// keeps reads a value as a T and proves that it is the same when it is stored.
func keeps[T any](value JSON) error {
	if err := decodes[T](value); err != nil {
		return err
	}
	var v T
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	_, err := stored(v)
	return err
}

// decodes reads a value as a T, the way the callbacks that read it do.
func decodes[T any](value JSON) error {
	var v T
	err := json.Unmarshal(value, &v)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		where := ""
		if wrong.Field != "" {
			where = "/" + strings.ReplaceAll(wrong.Field, ".", "/") + ": "
		}
		what := fmt.Sprintf("%s%s can't be stored in %s", where, short([]byte(wrong.Value)), wrong.Type)
		if strings.HasPrefix(wrong.Value, "number") {
			what += ": write whole numbers without point and exponent, and stay in its range"
		}
		return errors.New(what)
	case err != nil:
		return fmt.Errorf("it can't be read as %T: %w", v, err)
	}
	return nil
}

// Call answers a callback. A panic in it is an error of the node.
func (p *program) Call(ctx context.Context, name string, v View, arg JSON) (out JSON, err error) {
	f, ok := p.calls[name]
	if !ok {
		mount, rest, inside := strings.Cut(name, "/")
		if child := p.mounts[mount]; inside && child != nil {
			return child.Call(ctx, rest, v, arg)
		}
		return nil, fmt.Errorf("the program has no callback %q", name)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ReadError:
			out, err = nil, r
		default:
			out, err = nil, fmt.Errorf("%s: panic: %v", name, r)
		}
	}()
	return f(&Ctx{ctx: ctx, view: v, node: nodeOf(name)}, arg)
}

// nodeOf returns the node of a callback's name.
func nodeOf(name string) string {
	node, _, ok := strings.Cut(name, ".") // ids have no dot
	if !ok {
		return ""
	}
	return node
}
