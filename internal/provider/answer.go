package provider

import (
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// progress says how far an answer has come.
type progress int

const (
	going  progress = iota // its terminal event is still to come
	ending                 // it is finished; usage may follow
	whole                  // nothing follows
)

// answer collects the stream of one dialect.
type answer interface {
	// take handles one event. It returns the failure that the event tells, or
	// nil.
	take(event) *llm.Error
	progress() progress
	// response returns the answer once it is finished.
	response() *llm.Response
	// partial returns what there was before a failure.
	partial() (text string, usage llm.Usage)
}

// maxCalls bounds the calls and items of one answer.
const maxCalls = 4096

// readJSON takes what servers really send: names twice, characters cut apart.
func readJSON(b []byte, v any, more ...jsonv2.Options) error {
	return jsonv2.Unmarshal(b, v, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true), jsonv2.JoinOptions(more...))
}

// badEvent is the failure of an event that can't be read.
func badEvent(e event, err error) *llm.Error {
	if e.torn {
		return incomplete("the stream ended inside an event")
	}
	return &llm.Error{
		Class: llm.Incomplete, Code: "bad_event",
		Message: fmt.Sprintf("the stream holds an event that can't be read (%v): %s", err, excerpt(e.data, 200)),
	}
}

// incomplete is the failure of a stream without its terminal event.
func incomplete(why string) *llm.Error {
	return &llm.Error{Class: llm.Incomplete, Code: "stream_incomplete", Message: "the answer is incomplete: " + why}
}

// tooMany is the failure of an answer with more calls or items than any model
// means.
func tooMany() *llm.Error {
	return &llm.Error{
		Class: llm.Incomplete, Code: "too_many_calls",
		Message: fmt.Sprintf("the answer has more than %d calls or items", maxCalls),
	}
}
