package provider

import (
	"bytes"
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// chatChunk is the data of a Chat event.
type chatChunk struct {
	ID      wide           `json:"id"`
	Model   wide           `json:"model"`
	Choices []chatChoice   `json:"choices"`
	Usage   odd[chatUsage] `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

type chatChoice struct {
	Index  place          `json:"index"`
	Delta  chatDelta      `json:"delta"`
	Finish wide           `json:"finish_reason"`
	Error  jsontext.Value `json:"error"`
}

type chatDelta struct {
	Content   chatContent   `json:"content"`
	Reasoning wide          `json:"reasoning"`
	Thinking  wide          `json:"reasoning_content"`
	Refusal   wide          `json:"refusal"`
	Calls     []chatCall    `json:"tool_calls"`
	Function  *chatFunction `json:"function_call"` // before tool_calls existed
}

type chatCall struct {
	Index    place        `json:"index"`
	ID       wide         `json:"id"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      wide    `json:"name"`
	Arguments argText `json:"arguments"`
}

// chatContent is a string, null, or a list of text and thinking parts.
type chatContent struct{ text, thinking wide }

// UnmarshalJSON takes any JSON value.
func (c *chatContent) UnmarshalJSON(b []byte) error {
	*c = chatContent{}
	if len(b) == 0 || b[0] != '[' {
		return c.text.UnmarshalJSON(b)
	}
	var parts []struct {
		Text     wide        `json:"text"`
		Thinking chatContent `json:"thinking"`
	}
	if err := readJSON(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}

type chatUsage struct {
	Prompt     count         `json:"prompt_tokens"`
	Completion count         `json:"completion_tokens"`
	CacheHit   count         `json:"prompt_cache_hit_tokens"`
	In         odd[usageIn]  `json:"prompt_tokens_details"`
	Out        odd[usageOut] `json:"completion_tokens_details"`
}

func (u *chatUsage) usage() llm.Usage {
	return llm.Usage{
		Input: int(u.Prompt), Output: int(u.Completion),
		Cached:     int(max(u.In.v.Cached, u.CacheHit)),
		CacheWrite: int(u.In.v.Written), Reasoning: int(u.Out.v.Reasoning),
	}
}

// chatAnswer collects a Chat stream. We ask for one choice; servers number it
// as they like, so each number is kept apart and the first one with content
// is the answer.
type chatAnswer struct {
	emit     func(llm.Delta)
	id       string
	model    string
	usage    llm.Usage
	oddUsage bool
	choices  []*chatReply
	lead     *chatReply // the one that people see
	done     bool       // "[DONE]" came
	chunk    int
}

// chatReply is one choice.
type chatReply struct {
	index    int
	text     joiner
	thinking joiner
	refusal  joiner
	calls    calls
	finish   string
}

func newChatAnswer(emit func(llm.Delta)) *chatAnswer { return &chatAnswer{emit: emit} }

func (a *chatAnswer) take(e event) *llm.Error {
	data := bytes.TrimSpace(e.data)
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		a.done = true
		if a.progress() != whole {
			return incomplete("[DONE] came without a finish_reason")
		}
		return nil
	case e.name == "error":
		return streamError(data)
	}
	var c chatChunk
	if err := readJSON(data, &c); err != nil {
		return badEvent(e, err)
	}
	if !isNone(c.Error) {
		return streamError(data)
	}
	a.note(&c)
	for i := range c.Choices {
		if fail := a.choice(&c.Choices[i]); fail != nil {
			return fail
		}
	}
	return nil
}

// note keeps what a chunk says about the answer as a whole.
func (a *chatAnswer) note(c *chatChunk) {
	a.chunk++
	if c.ID != "" {
		a.id = c.ID.text()
	}
	if c.Model != "" {
		a.model = c.Model.text()
	}
	if u := c.Usage.v.usage(); u != (llm.Usage{}) {
		a.usage = u
	}
	a.oddUsage = a.oddUsage || c.Usage.bad || c.Usage.v.In.bad || c.Usage.v.Out.bad
}

func (a *chatAnswer) choice(c *chatChoice) *llm.Error {
	if !isNone(c.Error) {
		return streamError(c.Error)
	}
	r, fail := a.reply(c.Index.n)
	if fail != nil {
		return fail
	}
	d := &c.Delta
	if d.Thinking == "" {
		d.Thinking = d.Reasoning // servers that send both send the same
	}
	a.add(r, &r.thinking, llm.ThinkingDelta, d.Thinking+d.Content.thinking)
	a.add(r, &r.text, llm.TextDelta, d.Content.text)
	a.add(r, &r.refusal, llm.TextDelta, d.Refusal)
	r.calls.chunk = a.chunk
	for _, f := range d.Calls {
		a.call(r, fragment{f.Index, f.ID.text(), f.Function.Name, f.Function.Arguments})
	}
	if d.Function != nil {
		a.call(r, fragment{place{-1, true}, "", d.Function.Name, d.Function.Arguments})
	}
	if len(r.calls.list) > maxCalls {
		return tooMany()
	}
	return r.finished(c.Finish.text())
}

// reply returns the choice with the number.
func (a *chatAnswer) reply(index int) (*chatReply, *llm.Error) {
	for _, r := range a.choices {
		if r.index == index {
			return r, nil
		}
	}
	if len(a.choices) >= maxCalls {
		return nil, tooMany()
	}
	r := &chatReply{index: index}
	r.calls.emit = func(d llm.Delta) { a.show(r, d) }
	a.choices = append(a.choices, r)
	return r, nil
}

func (a *chatAnswer) add(r *chatReply, j *joiner, t llm.DeltaType, fragment wide) {
	if fragment == "" {
		return
	}
	if text := j.add(fragment); text != "" {
		a.show(r, llm.Delta{Type: t, Text: text})
	}
}

func (a *chatAnswer) call(r *chatReply, f fragment) {
	if f.id != "" || f.name != "" || f.args.wide != "" {
		r.calls.add(f)
	}
}

// show passes a delta on if it belongs to the choice that people see.
func (a *chatAnswer) show(r *chatReply, d llm.Delta) {
	if a.lead == nil {
		a.lead = r
	}
	if a.lead == r {
		a.emit(d)
	}
}

// finished notes a finish_reason. Some servers send two; a reason that says
// the answer is cut is never replaced.
func (r *chatReply) finished(reason string) *llm.Error {
	switch reason {
	case "":
		return nil
	case "error", "insufficient_system_resource":
		return &llm.Error{Class: llm.Retry, Code: reason, Message: "the server broke the answer off"}
	}
	if stopOf(r.finish) != llm.StopLength && stopOf(r.finish) != llm.StopContent {
		r.finish = reason
	}
	return nil
}

// stopOf maps a finish_reason; what only says that the model is done is
// StopEnd.
func stopOf(reason string) llm.Stop {
	switch reason {
	case "length", "max_tokens", "model_length":
		return llm.StopLength
	case "content_filter", "refusal", "safety":
		return llm.StopContent
	}
	return llm.StopEnd
}

func (r *chatReply) hasContent() bool {
	return len(r.calls.list) > 0 || r.text.some() || r.thinking.some() || r.refusal.some()
}

// pick returns the choice that is the answer and why it finished: the first
// with content. A finish_reason without content of its own counts for it too.
func (a *chatAnswer) pick() (*chatReply, string) {
	var best *chatReply
	finish := ""
	for _, r := range a.choices {
		switch {
		case !r.hasContent():
			finish = cmp.Or(finish, r.finish)
		case best == nil:
			best = r
		}
	}
	if best == nil {
		return &chatReply{}, finish
	}
	return best, cmp.Or(best.finish, finish)
}

func (a *chatAnswer) progress() progress {
	_, finish := a.pick()
	switch {
	case finish == "":
		return going
	case a.done:
		return whole
	}
	return ending
}

func (a *chatAnswer) response() *llm.Response {
	r, finish := a.pick()
	stop := stopOf(finish)
	var parts []llm.Part
	for _, j := range []struct {
		t llm.PartType
		j *joiner
	}{{llm.ThinkingPart, &r.thinking}, {llm.TextPart, &r.text}, {llm.TextPart, &r.refusal}} {
		j.j.flush()
		if text := j.j.text(); text != "" {
			parts = append(parts, llm.Part{Type: j.t, Text: text})
		}
	}
	if r.refusal.text() != "" && stop == llm.StopEnd {
		stop = llm.StopContent
	}
	if c := r.calls.parts(); len(c) > 0 {
		parts = append(parts, c...)
		if stop == llm.StopEnd {
			stop = llm.StopTools
		}
	}
	return &llm.Response{Parts: parts, Stop: stop, Usage: a.usage, Model: a.model, ID: a.id, Notes: usageNotes(a.oddUsage)}
}

func (a *chatAnswer) partial() (string, llm.Usage) {
	r, _ := a.pick()
	r.text.flush()
	return r.text.text(), a.usage
}
