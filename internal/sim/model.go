package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// words makes a text that occurs once in a history. Some hold signs of more
// than one byte, so that a write can be torn inside a rune; some a broken byte.
func (w *world) words(what string) string {
	w.said++
	return fmt.Sprintf("%s %d%s", what, w.said, []string{"", " äöü", " <b>&", " 漢字 🌊", " \xff!"}[w.rng.IntN(5)])
}

// readable is a text as it is found again in a line.
func readable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// rawJSON is a provider's item or a tool's details; some can't be stored.
func (w *world) rawJSON() json.RawMessage {
	return json.RawMessage([]string{`{"sig": "x"}`, `{"a":1,"a":2}`, `{"cut":`, "{\"b\":\"\xff\"}"}[w.rng.IntN(4)])
}

// choice is a weighted alternative.
type choice struct {
	weight int
	name   string
}

// choose draws one of the alternatives.
func (w *world) choose(cs []choice) string {
	sum := 0
	for _, c := range cs {
		sum += c.weight
	}
	n := w.rng.IntN(sum)
	for _, c := range cs {
		if n -= c.weight; n < 0 {
			return c.name
		}
	}
	return ""
}

// think is one try of the simulated model.
func (w *world) think() (*llm.Response, *llm.Error) {
	if w.calm {
		return w.speaks(llm.StopEnd), nil
	}
	what := w.choose(w.odds.model)
	if r := w.actor.State.Run; r != nil && r.Step != nil && !r.Step.Assistant() && w.roll(0.15) {
		what = "yield" // a submitting step asks the user
	}
	switch what {
	case "calls":
		return w.calls(llm.StopTools, 1+w.rng.IntN(4)), nil
	case "cut calls":
		return w.calls(llm.StopLength, 1+w.rng.IntN(2)), nil
	case "yield":
		return w.batch(llm.StopTools, w.yield()), nil
	case "yield beside":
		r := w.calls(llm.StopTools, 1+w.rng.IntN(2))
		r.Parts = append(r.Parts, part(w.yield()))
		return r, nil
	case "length":
		return w.speaks(llm.StopLength), nil
	case "filtered":
		if w.roll(0.3) {
			return w.calls(llm.StopContent, 1+w.rng.IntN(2)), nil
		}
		return w.speaks(llm.StopContent), nil
	case "fail":
		return nil, w.fails()
	}
	return w.speaks(llm.StopEnd), nil
}

func (w *world) usage() llm.Usage {
	if w.odds.fat {
		return llm.Usage{Output: w.rng.IntN(50)} // the provider reports nothing of the request
	}
	return llm.Usage{Input: 50 + w.rng.IntN(100), Output: w.rng.IntN(50)}
}

// speaks is an answer without calls; sometimes an empty one, or one with
// thoughts in front.
func (w *world) speaks(stop llm.Stop) *llm.Response {
	r := &llm.Response{Stop: stop, Usage: w.usage(), Provider: "sim", Model: "sim"}
	if w.roll(0.1) {
		r.Parts = append(r.Parts, llm.Part{Type: llm.ThinkingPart, Text: w.words("hm"), Raw: w.rawJSON(), Maker: "sim"})
	}
	r.Parts = append(r.Parts, text(w.fat(w.words("answer"), 3000)))
	return r
}

func part(c *llm.Call) llm.Part { return llm.Part{Type: llm.CallPart, Call: c} }

func (w *world) batch(stop llm.Stop, calls ...*llm.Call) *llm.Response {
	r := &llm.Response{Stop: stop, Usage: w.usage(), Provider: "sim", Model: "sim"}
	if w.roll(0.3) {
		r.Parts = append(r.Parts, text(w.words("going to")))
	}
	for _, c := range calls {
		r.Parts = append(r.Parts, part(c))
	}
	return r
}

func (w *world) calls(stop llm.Stop, n int) *llm.Response {
	var calls []*llm.Call
	for range n {
		calls = append(calls, w.call())
	}
	if w.roll(0.1) { // two on one path
		calls = append(calls, &llm.Call{Name: "write", Arguments: `{"path":"f0"}`}, &llm.Call{Name: "edit", Arguments: `{"path":"f0"}`})
	}
	return w.batch(stop, calls...)
}

func (w *world) yield() *llm.Call {
	reason := []string{"complete", "complete", "decision", "unsafe", "input"}[w.rng.IntN(5)]
	if w.odds.contract && w.roll(0.8) {
		reason = "complete"
	}
	return &llm.Call{Name: "message_user", Arguments: fmt.Sprintf(`{"message":%q,"blockOnUser":true,"reason":%q%s}`, "please", reason, w.deviations())}
}

// call is one call; provider ids repeat on purpose.
func (w *world) call() *llm.Call {
	c := &llm.Call{ProviderID: fmt.Sprintf("p%d", w.rng.IntN(2)), Name: w.choose(w.odds.tools)}
	path := fmt.Sprintf(`{"path":"f%d"}`, w.rng.IntN(2))
	if r := w.actor.State.Run; r != nil && r.Step != nil && !r.Step.Assistant() && w.roll(0.2) {
		c.Name = "workflow" // what such a step is for
	}
	switch c.Name {
	case "read", "write", "edit":
		c.Arguments = path
	case "bash":
		c.Arguments = []string{`{"command":"make"}`, "{}", "", `{"command":"make MARK"}`}[w.rng.IntN(4)]
	case "skill":
		c.Arguments = fmt.Sprintf(`{"name":%q}`, w.skillName())
	case "todo":
		c.Arguments = w.todo()
	case "workflow":
		c.Arguments = w.submits()
	case "message_user":
		c.Arguments = `{"message":"half done","blockOnUser":false}`
	case "broken":
		c.Name, c.Arguments = "write", []string{`{"path":"f0"`, `["f0"]`, `"f0"`, `null`}[w.rng.IntN(4)]
	}
	if c.Arguments == "" && c.Name != "bash" {
		c.Arguments = "{}"
	}
	return c
}

// todo makes a change of the task list, often one that is refused.
func (w *world) todo() string {
	status := []string{"pending", "in_progress", "in_progress", "complete"}[w.rng.IntN(4)]
	if w.odds.contract {
		status = []string{"complete", "complete", "pending"}[w.rng.IntN(3)]
	}
	id := fmt.Sprintf("t%d", 1+w.rng.IntN(3))
	switch w.rng.IntN(6) {
	case 0:
		return `{"action":"list"}`
	case 1:
		return fmt.Sprintf(`{"action":"remove","items":[{"id":%q}]}`, id)
	case 2, 3:
		return fmt.Sprintf(`{"action":"add","items":[{"content":"task","status":%q%s}]}`, status, w.stepOf())
	}
	return fmt.Sprintf(`{"action":"update","items":[{"id":%q,"status":%q}]}`, id, status)
}

// fails is a failed try.
func (w *world) fails() *llm.Error {
	e := &llm.Error{Class: llm.Class(w.choose(w.odds.failures)), Message: w.words("failure"), Phase: llm.PhaseStream}
	switch e.Class {
	case llm.Retry:
		e.Status = 503
		if w.roll(0.3) {
			e.Status, e.RetryAfter = 429, time.Duration(1+w.rng.IntN(70))*time.Second
		}
	case llm.Incomplete:
		e.Partial, e.Usage = "half an ans", w.usage()
	}
	return e
}
