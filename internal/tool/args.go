package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fields is a decoded JSON object whose fields are taken one by one. The
// first fault is kept in err.
type fields struct {
	what  string // "read", "edits[2]"
	known []string
	raw   map[string]jsontext.Value
	err   error
}

// decode reads an object and refuses fields that aren't known. An unpaired
// surrogate becomes U+FFFD.
func decode(what string, raw []byte, known ...string) *fields {
	f := &fields{what: what, known: known}
	if err := jsonv2.Unmarshal(raw, &f.raw, jsontext.AllowInvalidUTF8(true)); err != nil {
		f.fail("the arguments must be one JSON object: %v", err)
		return f
	}
	if f.raw == nil {
		f.fail("the arguments must be one JSON object, not %s", kindOf(raw))
	}
	names := make([]string, 0, len(f.raw))
	for name := range f.raw {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			f.fail("unknown field %s", show(name))
		}
	}
	return f
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %s; the fields are %s", f.what, fmt.Sprintf(format, args...), strings.Join(f.known, ", "))
	}
}

func (f *fields) has(name string) bool {
	_, ok := f.raw[name]
	return ok
}

// need takes a field that must be there.
func (f *fields) need(name string, v any, want string) {
	if !f.has(name) {
		f.fail("%s is missing", name)
		return
	}
	f.take(name, v, want)
}

// needText takes a text that must be there and not be empty.
func (f *fields) needText(name string, v *string) {
	f.need(name, v, "a string")
	if *v == "" {
		f.fail("%s is empty", name)
	}
}

// take takes a field if it is there. want says in words what it should be.
func (f *fields) take(name string, v any, want string) {
	raw, ok := f.raw[name]
	if !ok {
		return
	}
	if raw.Kind() == 'n' || jsonv2.Unmarshal(raw, v, jsontext.AllowInvalidUTF8(true)) != nil {
		f.fail("%s must be %s, not %s", name, want, kindOf(raw))
	}
}

// whole takes a whole number of at least 1 if it is there; 5.0 is one.
func (f *fields) whole(name string, v *int) {
	const want, most = "a whole number from 1", 1 << 53
	var n float64
	f.take(name, &n, want)
	if f.err != nil || !f.has(name) {
		return
	}
	if n < 1 || n > most || n != math.Trunc(n) || !isWhole(f.raw[name]) {
		f.fail("%s must be %s, not %s", name, want, f.raw[name])
		return
	}
	*v = int(n)
}

// isWhole reports whether a number is whole as it is written: as a float64,
// 1.9999999999999999 is 2. A number with hundreds of digits is none of ours.
func isWhole(raw []byte) bool {
	const longest = 400
	if len(raw) > longest {
		return false
	}
	r, ok := new(big.Rat).SetString(string(raw))
	return ok && r.IsInt()
}

// kindOf names the kind of a JSON value, and shows a short one.
func kindOf(raw []byte) string {
	v := jsontext.Value(strings.TrimSpace(string(raw)))
	kind := map[jsontext.Kind]string{'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string",
		'0': "a number", '{': "an object", '[': "a list"}[v.Kind()]
	if kind == "" {
		return "something else"
	}
	if len(v) <= 40 && v.Kind() != 'n' {
		return kind + " (" + string(v) + ")"
	}
	return kind
}

type readArgs struct {
	path          string
	offset, limit int // 0: not given
}

func decodeRead(raw json.RawMessage) (readArgs, error) {
	var a readArgs
	f := decode("read", raw, "path", "offset", "limit")
	f.needText("path", &a.path)
	f.whole("offset", &a.offset)
	f.whole("limit", &a.limit)
	return a, f.err
}

type writeArgs struct{ path, content string }

func decodeWrite(raw json.RawMessage) (writeArgs, error) {
	var a writeArgs
	f := decode("write", raw, "path", "content")
	f.needText("path", &a.path)
	f.need("content", &a.content, "a string")
	return a, f.err
}

type editArgs struct {
	path  string
	edits []textEdit
}

func decodeEdit(raw json.RawMessage) (editArgs, error) {
	var a editArgs
	var list []jsontext.Value
	f := decode("edit", raw, "path", "edits")
	f.needText("path", &a.path)
	f.need("edits", &list, "a list of objects {oldText, newText}")
	if f.err == nil && len(list) == 0 {
		f.fail("edits is empty")
	}
	for i, item := range list {
		var e textEdit
		g := decode(fmt.Sprintf("edit: edits[%d]", i), item, "oldText", "newText")
		g.needText("oldText", &e.old)
		g.need("newText", &e.new, "a string")
		if g.err != nil && f.err == nil {
			f.err = g.err
		}
		a.edits = append(a.edits, e)
	}
	return a, f.err
}

// The range of bash's timeout, in seconds. Less than the least would be rounded
// to nothing, which means the default.
const (
	minTimeout = 0.001
	maxTimeout = 3600
)

type bashArgs struct {
	command    string
	timeout    float64 // seconds; 0: not given
	background bool
	job        string
	action     string
}

func decodeBash(raw json.RawMessage) (bashArgs, error) {
	var a bashArgs
	f := decode("bash", raw, "command", "timeout", "background", "job", "action")
	f.take("command", &a.command, "a string")
	f.take("timeout", &a.timeout, "a number of seconds")
	f.take("background", &a.background, "true or false")
	f.take("job", &a.job, "a string")
	f.take("action", &a.action, "a string")
	if f.err != nil {
		return a, f.err
	}
	return a, f.checkBash(a)
}

// checkBash refuses what the flat schema of bash can't.
func (f *fields) checkBash(a bashArgs) error {
	switch {
	case f.has("command") == f.has("job"):
		return errors.New("bash: give either command (to run one) or job and action (for a job in the background)")
	case f.has("command") && strings.TrimSpace(a.command) == "":
		return errors.New("bash: command is empty")
	case f.has("command") && f.has("action"):
		return errors.New("bash: action goes with job, not with command")
	case f.has("job") && a.job == "":
		return errors.New("bash: job is empty; give the name that the start of the job gave")
	case f.has("job") && a.background:
		return errors.New("bash: background goes with command, not with job")
	case f.has("job") && !slices.Contains([]string{"read", "wait", "kill"}, a.action):
		return fmt.Errorf("bash: action must be read, wait or kill, not %s", show(a.action))
	case f.has("timeout") && f.has("job") && a.action != "wait":
		return errors.New("bash: of the actions only wait takes a timeout")
	case f.has("timeout") && !(a.timeout >= minTimeout && a.timeout <= maxTimeout):
		return fmt.Errorf("bash: timeout must be from %v to %v seconds; for more use background: true", minTimeout, maxTimeout)
	}
	return nil
}
