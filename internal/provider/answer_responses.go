package provider

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// respEvent is the data of a Responses event; which fields are set depends on
// its type.
type respEvent struct {
	Type      wide           `json:"type"`
	Output    place          `json:"output_index"`
	ItemID    wide           `json:"item_id"`
	Summary   place          `json:"summary_index"`
	Delta     wide           `json:"delta"`
	Text      wide           `json:"text"`
	Refusal   wide           `json:"refusal"`
	Arguments argText        `json:"arguments"`
	ItemAt    span           `json:"item"`
	BodyAt    span           `json:"response"`
	Error     jsontext.Value `json:"error"`

	data []byte // the event, until the next one is read
}

func (v *respEvent) item() jsontext.Value { return v.ItemAt.of(v.data) }
func (v *respEvent) body() jsontext.Value { return v.BodyAt.of(v.data) }

// respBody is the response object of the terminal events.
type respBody struct {
	ID         wide             `json:"id"`
	Model      wide             `json:"model"`
	Status     wide             `json:"status"`
	Output     []jsontext.Value `json:"output"`
	Usage      odd[respUsage]   `json:"usage"`
	Error      jsontext.Value   `json:"error"`
	Incomplete odd[respReason]  `json:"incomplete_details"`
}

type respReason struct {
	Reason wide `json:"reason"`
}

type respUsage struct {
	Input  count         `json:"input_tokens"`
	Output count         `json:"output_tokens"`
	In     odd[usageIn]  `json:"input_tokens_details"`
	Out    odd[usageOut] `json:"output_tokens_details"`
}

// respItem is an output item on its way: known by its index and id, of which
// servers leave out or repeat each. Fragments belong to the newest open item
// that both fit, then one that the id fits, then the index, then the newest;
// a finished item belongs to the oldest open one that fits.
type respItem struct {
	index    place
	id       string
	kind     string
	name     string
	callID   string
	body     joiner         // text or arguments
	thinking joiner         // summary or text of reasoning
	refusal  bool           // body is a refusal
	done     jsontext.Value // the whole item, nil while open
	shown    int            // number of the call in deltas
	told     bool           // a delta went out
}

// respAnswer collects a Responses stream.
type respAnswer struct {
	emit  func(llm.Delta)
	maker string
	items []*respItem
	calls int
	body  respBody
	stop  llm.Stop // set by the terminal event
	done  bool
}

func newRespAnswer(maker string, emit func(llm.Delta)) *respAnswer {
	return &respAnswer{emit: emit, maker: maker}
}

func (a *respAnswer) progress() progress {
	if a.done {
		return whole
	}
	return going
}

func (a *respAnswer) take(e event) *llm.Error {
	data := bytes.TrimSpace(e.data)
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		return incomplete("[DONE] came without response.completed")
	}
	if e.name == "error" {
		return streamError(data)
	}
	var v respEvent
	if err := readJSON(data, &v); err != nil {
		return badEvent(e, err)
	}
	v.data = data
	kind := v.Type.text()
	if kind == "" {
		kind = e.name
	}
	if kind == "error" || kind == "" && !isNone(v.Error) {
		return streamError(data)
	}
	return a.dispatch(kind, &v, e)
}

// dispatch handles an event by its type; unknown types mean nothing.
func (a *respAnswer) dispatch(kind string, v *respEvent, e event) *llm.Error {
	switch kind {
	case "response.output_item.added":
		return a.added(v)
	case "response.output_item.done":
		return a.finished(v)
	case "response.output_text.delta":
		a.text(v, v.Delta)
	case "response.refusal.delta":
		a.text(v, v.Delta).refusal = true
	case "response.output_text.done":
		a.allText(v, v.Text)
	case "response.refusal.done":
		a.allText(v, v.Refusal).refusal = true
	case "response.function_call_arguments.delta":
		a.arguments(v, v.Delta)
	case "response.function_call_arguments.done":
		a.allArguments(v)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.think(v, v.Delta)
	case "response.reasoning_summary_part.added":
		if v.Summary.n > 0 {
			a.think(v, "\n\n")
		}
	case "response.created", "response.in_progress":
		return a.note(v, e)
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		return a.end(kind, v, e)
	}
	return nil
}

// note keeps the ids that the first events tell.
func (a *respAnswer) note(v *respEvent, e event) *llm.Error {
	if isNull(v.body()) {
		return nil
	}
	var body respBody
	if err := readJSON(v.body(), &body); err != nil {
		return badEvent(e, err)
	}
	a.body = body
	return nil
}

func (a *respAnswer) added(v *respEvent) *llm.Error {
	if len(a.items) >= maxCalls {
		return tooMany()
	}
	raw, err := readItem(v.item())
	if err != nil {
		return badEvent(event{data: v.item()}, err)
	}
	a.open(&respItem{index: v.Output, id: raw.ID.text(), kind: raw.Type.text(), name: raw.Name.text(), callID: raw.CallID.text()})
	return nil
}

// open begins an item.
func (a *respAnswer) open(i *respItem) *respItem {
	a.items = append(a.items, i)
	if i.kind == "function_call" {
		i.shown = a.calls
		a.calls++
		a.emit(llm.Delta{Type: llm.CallStart, Index: i.shown, Name: i.name})
	}
	return i
}

// find returns the open item of the kind that index and id name, see respItem.
func (a *respAnswer) find(kind string, index place, id string, oldest bool) *respItem {
	fits := []func(*respItem) bool{
		func(i *respItem) bool { return i.id == id && i.index == index },
		func(i *respItem) bool { return id != "" && i.id == id },
		func(i *respItem) bool { return index.set && i.index == index },
		func(i *respItem) bool { return !oldest || !index.set || !i.index.set },
	}
	for _, fit := range fits {
		var found *respItem
		for _, i := range a.items {
			if i.done == nil && i.kind == kind && fit(i) && (found == nil || !oldest) {
				found = i
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// target returns the item that a fragment belongs to, beginning one if no
// event announced it.
func (a *respAnswer) target(v *respEvent, kind string) *respItem {
	id := v.ItemID.text()
	if i := a.find(kind, v.Output, id, false); i != nil {
		return i
	}
	return a.open(&respItem{index: v.Output, id: id, kind: kind})
}

func (a *respAnswer) text(v *respEvent, fragment wide) *respItem {
	i := a.target(v, "message")
	a.show(i, llm.TextDelta, i.body.add(fragment))
	return i
}

// allText takes the whole text of a message part if no fragments of it came.
func (a *respAnswer) allText(v *respEvent, text wide) *respItem {
	i := a.target(v, "message")
	if !i.told {
		a.show(i, llm.TextDelta, i.body.add(text))
	}
	return i
}

func (a *respAnswer) think(v *respEvent, fragment wide) {
	i := a.target(v, "reasoning")
	a.show(i, llm.ThinkingDelta, i.thinking.add(fragment))
}

func (a *respAnswer) arguments(v *respEvent, fragment wide) {
	i := a.target(v, "function_call")
	a.show(i, llm.CallArgs, i.body.add(fragment))
}

// allArguments replaces the fragments of a call by its whole arguments.
func (a *respAnswer) allArguments(v *respEvent) {
	i := a.target(v, "function_call")
	if args := v.Arguments.text(); args != i.body.text() {
		if !i.told {
			a.show(i, llm.CallArgs, args)
		}
		i.body = joiner{}
		i.body.add(wide(args))
	}
}

func (a *respAnswer) show(i *respItem, t llm.DeltaType, text string) {
	if text == "" {
		return
	}
	i.told = true
	a.emit(llm.Delta{Type: t, Index: i.shown, Text: text})
}

// finished takes a whole item.
func (a *respAnswer) finished(v *respEvent) *llm.Error {
	raw, err := readItem(v.item())
	if err != nil {
		return badEvent(event{data: v.item()}, err)
	}
	kind := raw.Type.text()
	i := a.find(kind, v.Output, raw.ID.text(), true)
	if i == nil {
		if len(a.items) >= maxCalls {
			return tooMany()
		}
		i = a.open(&respItem{index: v.Output, id: raw.ID.text(), kind: kind, name: raw.Name.text()})
	}
	i.done = bytes.Clone(v.item())
	if joinParts(raw.Content) != "" {
		i.body = joiner{} // the item has it all
	}
	if i.told {
		return nil
	}
	for _, p := range raw.parts(v.item(), a.maker) { // nobody saw it coming
		switch p.Type {
		case llm.TextPart:
			a.show(i, llm.TextDelta, p.Text)
		case llm.ThinkingPart:
			a.show(i, llm.ThinkingDelta, p.Text)
		case llm.CallPart:
			a.show(i, llm.CallArgs, p.Call.Arguments)
		}
	}
	return nil
}

// end takes the terminal event.
func (a *respAnswer) end(kind string, v *respEvent, e event) *llm.Error {
	var body respBody
	if !isNull(v.body()) {
		if err := readJSON(v.body(), &body); err != nil {
			return badEvent(e, err)
		}
	}
	if body.Model == "" {
		body.Model = a.body.Model
	}
	a.body = body
	status := body.Status.text()
	switch {
	case kind == "response.failed" || status == "failed" || status == "cancelled" || !isNone(body.Error):
		if isNone(body.Error) {
			return &llm.Error{Class: llm.Retry, Code: "response_failed", Message: "the provider failed to answer and gave no reason"}
		}
		return streamError(body.Error)
	case kind == "response.incomplete" || status == "incomplete":
		a.stop = llm.StopLength
		if body.Incomplete.v.Reason == "content_filter" {
			a.stop = llm.StopContent
		}
	}
	a.done = true
	return nil
}

func (a *respAnswer) response() *llm.Response {
	r := &llm.Response{Stop: a.stop, Usage: a.used(), Model: a.body.Model.text(), ID: a.body.ID.text()}
	u := a.body.Usage
	r.Notes = usageNotes(u.bad || u.v.In.bad || u.v.Out.bad)
	refused := false
	add := func(item jsontext.Value) {
		// A broken item was refused when it came; one of the terminal event
		// was decoded with it.
		raw, _ := readItem(item)
		r.Parts = append(r.Parts, raw.parts(item, a.maker)...)
		refused = refused || raw.refused()
	}
	for _, item := range a.body.Output {
		add(item)
	}
	if len(a.body.Output) == 0 {
		for _, i := range a.ordered() {
			if i.done != nil {
				add(i.done)
			} else {
				r.Parts = append(r.Parts, i.parts()...)
				refused = refused || i.refusal
			}
		}
	}
	if r.Stop == "" {
		r.Stop = stopFor(r.Parts, refused)
	}
	return r
}

// stopFor returns why a completed answer stopped.
func stopFor(parts []llm.Part, refused bool) llm.Stop {
	if refused {
		return llm.StopContent
	}
	for _, p := range parts {
		if p.Type == llm.CallPart {
			return llm.StopTools
		}
	}
	return llm.StopEnd
}

func (a *respAnswer) used() llm.Usage {
	u := a.body.Usage.v
	return llm.Usage{
		Input: int(u.Input), Output: int(u.Output), Cached: int(u.In.v.Cached),
		CacheWrite: int(u.In.v.Written), Reasoning: int(u.Out.v.Reasoning),
	}
}

func (a *respAnswer) partial() (string, llm.Usage) {
	text := ""
	for _, i := range a.items {
		if i.kind != "message" {
			continue
		}
		i.body.flush()
		said := i.body.text()
		if said == "" && i.done != nil {
			raw, _ := readItem(i.done)
			said = joinParts(raw.Content)
		}
		text += said
	}
	return text, a.used()
}
