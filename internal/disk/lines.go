package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// errCut: a line without its "\n".
var errCut = errors.New("the record is cut off")

// badLine is the first line of a segment that is no entry.
type badLine struct {
	number int    // from 1
	offset int64  // of its first byte
	text   []byte // without "\n"
	ended  bool   // a "\n" stands behind it
	rest   []byte // what stands behind that
	err    error
}

// torn reports whether the line can be what a write left that was cut short:
// it is not a whole record, and no whole record stands behind it. A line that
// was written whole and can't be used is something else.
func (b *badLine) torn() bool {
	if b.ended && isRecord(b.text) {
		return false
	}
	for rest := b.rest; ; {
		line, behind, ended := bytes.Cut(rest, []byte("\n"))
		if !ended {
			return true
		}
		if isRecord(line) {
			return false
		}
		rest = behind
	}
}

// isRecord reports whether line is one JSON object in valid UTF-8.
func isRecord(line []byte) bool {
	v := jsontext.Value(line)
	return v.Kind() == '{' && v.IsValid(jsontext.AllowDuplicateNames(true))
}

// newer says which number of a line is newer than this build, if one is. It
// looks only at the two numbers, since the rest may have another shape.
func newer(line []byte) (what string, got, most int) {
	var l struct {
		Kind string
		V    int
		Body struct{ Schema int }
	}
	_ = json.Unmarshal(line, &l) // fills in what it can
	if l.V > transcript.Version {
		return "entry version", l.V, transcript.Version
	}
	if l.Kind == "session" && l.Body.Schema > transcript.Schema {
		return "transcript schema", l.Body.Schema, transcript.Schema
	}
	return "", 0, 0
}

// pieceBytes is the least that is worth a goroutine.
const pieceBytes = 128 << 10

// decodeLines decodes the lines of a segment up to the first bad one. Large
// segments are decoded in pieces at once; the answer is the same.
func decodeLines(data []byte) ([]transcript.Entry, *badLine) {
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	pieces := split(whole)
	starts := make([]int, len(pieces)+1)
	for i, p := range pieces {
		starts[i+1] = starts[i] + bytes.Count(p, []byte("\n"))
	}
	entries := make([]transcript.Entry, starts[len(pieces)])
	good := make([]int, len(pieces))
	errs := make([]error, len(pieces))
	var wg sync.WaitGroup
	for i, p := range pieces {
		wg.Go(func() { good[i], errs[i] = decodeInto(entries[starts[i]:starts[i+1]], p) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			n := starts[i] + good[i]
			return entries[:n:n], lineAt(data, n, err)
		}
	}
	if len(whole) < len(data) {
		return entries, lineAt(data, len(entries), errCut)
	}
	return entries, nil
}

// split cuts data, which ends with "\n", into pieces that do too.
func split(data []byte) [][]byte {
	n := min(runtime.GOMAXPROCS(0), len(data)/pieceBytes+1)
	var pieces [][]byte
	for ; n > 1; n-- {
		at := len(data) / n
		at += bytes.IndexByte(data[at:], '\n') + 1
		pieces = append(pieces, data[:at])
		data = data[at:]
	}
	return append(pieces, data)
}

// decodeInto decodes the lines of data, one for each element of out. It
// returns how many it could and why not more.
func decodeInto(out []transcript.Entry, data []byte) (n int, err error) {
	for n = range out {
		end := bytes.IndexByte(data, '\n')
		if out[n], err = transcript.Decode(data[:end]); err != nil {
			return n, err
		}
		data = data[end+1:]
	}
	return len(out), nil
}

// lineAt returns line n (from 0) of data as a bad one.
func lineAt(data []byte, n int, err error) *badLine {
	at := offsetOf(data, n)
	text, rest, ended := bytes.Cut(data[at:], []byte("\n"))
	return &badLine{number: n + 1, offset: at, text: text, ended: ended, rest: rest, err: err}
}

// offsetOf returns where line n (from 0) of data begins.
func offsetOf(data []byte, n int) int64 {
	at := 0
	for range n {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	return int64(at)
}
