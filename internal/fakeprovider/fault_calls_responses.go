package fakeprovider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// shape says how a stream of two calls names its items and ends.
type shape struct {
	index, id func(i int) string // JSON members for call 0 or 1; "" leaves them out
	item      func(i int) string // id of the item itself
	callID    func(i int) string
	listed    bool // the terminal event lists the items
	noDone    bool // no output_item.done
	noAdded   bool // no output_item.added
	noDeltas  bool
	swapped   bool               // the second call is done first
	delta     func(i int) string // index in deltas, if not as in the item's events
	done      func(i int) string // item id in done events, if not as before
}

func (s shape) calls() (events []frame, items []string) {
	var done, deltas []frame
	args := []string{argsA, argsB}
	for i := range 2 {
		begun := respCall(s.item(i), s.callID(i), "read", "")
		whole := respCall(s.item(i), s.callID(i), "read", args[i])
		items = append(items, whole)
		if !s.noAdded {
			events = append(events, respEvent("response.output_item.added", s.index(i)+`"item":`+begun))
		}
		if s.done != nil {
			whole = respCall(s.done(i), s.callID(i), "read", args[i])
		}
		if !s.noDone {
			done = append(done, respEvent("response.output_item.done", s.index(i)+`"item":`+whole))
		}
	}
	if s.swapped {
		slices.Reverse(done)
	}
	if !s.noDeltas {
		deltas = s.deltas(cutRunes(argsA, 5), cutRunes(argsB, 5))
	}
	events = slices.Concat(events, deltas, done)
	if !s.listed {
		items = nil
	}
	return events, items
}

// deltas are the fragments of both calls' arguments, in turn.
func (s shape) deltas(a, b []string) []frame {
	index := s.index
	if s.delta != nil {
		index = s.delta
	}
	one := func(i int, piece string) frame {
		return respEvent(argsDelta, index(i)+s.id(i)+`"delta":`+string(encode(piece)))
	}
	var out []frame
	for n := range max(len(a), len(b)) {
		if n < len(a) {
			out = append(out, one(0, a[n]))
		}
		if n < len(b) {
			out = append(out, one(1, b[n]))
		}
	}
	return out
}

// responsesCallFaults are calls whose keys don't tell them apart as
// documented, and streams that leave events out.
func responsesCallFaults() []Fault {
	index := func(i int) string { return fmt.Sprintf(`"output_index":%d,`, i) }
	zero := func(int) string { return `"output_index":0,` }
	none := func(int) string { return "" }
	id := func(i int) string { return fmt.Sprintf(`"item_id":"fc_%d",`, i) }
	sameID := func(int) string { return `"item_id":"fc_x",` }
	item := func(i int) string { return fmt.Sprintf("fc_%d", i) }
	sameItem := func(int) string { return "fc_x" }
	noItem := func(int) string { return "" }
	call := func(i int) string { return fmt.Sprintf("call_%d", i) }
	sameCall := func(int) string { return "call_1" }
	var out []Fault
	for _, c := range []struct {
		name string
		s    shape
	}{
		{"calls_interleaved", shape{index: index, id: id, item: item, callID: call}},
		{"calls_listed_at_the_end", shape{index: index, id: id, item: item, callID: call, listed: true}},
		{"calls_with_equal_call_id", shape{index: index, id: id, item: item, callID: sameCall}},
		{"calls_without_call_id", shape{index: index, id: id, item: item, callID: noItem}},
		{"calls_with_equal_item_id", shape{index: index, id: sameID, item: sameItem, callID: call}},
		{"calls_with_equal_index", shape{index: zero, id: id, item: item, callID: call}},
		{"calls_with_equal_index_and_id", shape{index: zero, id: sameID, item: sameItem, callID: sameCall}},
		{"calls_without_index", shape{index: none, id: id, item: item, callID: call}},
		{"calls_without_item_id", shape{index: index, id: none, item: noItem, callID: call}},
		{"calls_without_index_and_id", shape{index: none, id: none, item: noItem, callID: noItem}},
		{"calls_with_foreign_item_id", shape{index: index, id: func(i int) string { return fmt.Sprintf(`"item_id":"other_%d",`, i) }, item: item, callID: call}},
		{"calls_only_listed", shape{index: index, id: id, item: item, callID: call, listed: true, noDone: true, noAdded: true, noDeltas: true}},
		{"calls_only_done", shape{index: index, id: id, item: item, callID: call, noAdded: true, noDeltas: true}},
		{"calls_only_done_equal_keys", shape{index: zero, id: sameID, item: sameItem, callID: sameCall, noAdded: true, noDeltas: true}},
		{"calls_without_done", shape{index: index, id: id, item: item, callID: call, noDone: true}},
		{"calls_done_in_other_order", shape{index: index, id: id, item: item, callID: call, swapped: true}},
		{"calls_done_in_other_order_no_index", shape{index: none, id: id, item: item, callID: call, swapped: true}},
		{"calls_done_under_foreign_ids", shape{index: none, id: id, item: item, callID: call, done: func(i int) string { return fmt.Sprintf("done_%d", i) }}},
		{"calls_with_equal_index_without_done", shape{index: zero, id: id, item: item, callID: call, noDone: true}},
		{"calls_with_equal_item_id_without_done", shape{index: index, id: sameID, item: sameItem, callID: call, noDone: true}},
		{"calls_with_foreign_item_id_without_done", shape{index: index, id: func(i int) string { return fmt.Sprintf(`"item_id":"other_%d",`, i) }, item: item, callID: call, noDone: true}},
		{"calls_with_id_alone_without_done", shape{index: index, id: id, item: item, callID: call, noDone: true, delta: none}},
		{"calls_without_item_id_and_done", shape{index: index, id: none, item: item, callID: call, noDone: true}},
		{"calls_without_done_and_index", shape{index: none, id: id, item: item, callID: call, noDone: true}},
	} {
		events, items := c.s.calls()
		out = append(out, answered(Responses, c.name, twoCalls(), respFrames("response.completed", items, events...)))
	}
	return out
}

// responsesArgumentFaults are single calls in odd shapes.
func responsesArgumentFaults() []Fault {
	one := func(name, raw, want string) Fault {
		item := strings.Replace(respCall("fc_1", "call_1", "read", ""), `"arguments":""`, `"arguments":`+raw, 1)
		done := respEvent("response.output_item.done", `"output_index":0,"item":`+item)
		return answered(Responses, name, oneCall(want), respFrames("response.completed", nil, done))
	}
	cut := Want{Stop: llm.StopLength, Calls: []llm.Call{{Name: "read", Arguments: `{"path":"a`}}}
	begun := respEvent("response.output_item.added", `"output_index":0,"item":`+respCall("fc_1", "call_1", "read", ""))
	piece := respEvent(argsDelta, respKeys(0, "fc_1")+`"delta":"{\"path\":\"a"`)
	return []Fault{
		one("arguments_are_an_object", `{"path": "a"}`, `{"path": "a"}`),
		one("arguments_are_null", `null`, ``),
		one("arguments_are_empty", `""`, ``),
		one("arguments_malformed", `"{\"path\":\"a"`, `{"path":"a`),
		one("arguments_array", `"[1]"`, `[1]`),
		one("arguments_null_text", `"null"`, `null`),
		one("arguments_escape_lone_surrogate", `"{\"t\":\"\\ud99c x\"}"`, `{"t":"\ud99c x"}`),
		one("arguments_lone_surrogate", `"{\"t\":\"\ud99c x\"}"`, "{\"t\":\"\uFFFD x\"}"),
		answered(Responses, "arguments_done_wins", oneCall(`{"path":"a"}`), respFrames("response.completed", nil, begun, piece,
			respEvent("response.function_call_arguments.done", respKeys(0, "fc_1")+`"arguments":"{\"path\":\"a\"}"`))),
		answered(Responses, "length_in_arguments", cut, append(respFrames("", nil, begun, piece),
			respEnd("response.incomplete", nil, `"incomplete_details":{"reason":"max_output_tokens"},`))),
		answered(Responses, "length_in_arguments_listed", cut, append(respFrames("", nil, begun, piece),
			respEnd("response.incomplete", []string{respCall("fc_1", "call_1", "read", `{"path":"a`)}, `"incomplete_details":{"reason":"max_output_tokens"},`))),
	}
}

// itemFaults are items and events of Responses beyond the common ones.
func itemFaults() []Fault {
	text := respMessage("msg_1", "one two")
	whole := Want{Stop: llm.StopEnd, Text: "one two", Usage: sampleUsage()}
	withRaw := whole
	withRaw.Raw = 1
	done := func(i int, item string) frame {
		return respEvent("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
	}
	// An item that must come back byte for byte, but for its white space.
	raw := func(name string, want Want, item string, items ...string) Fault {
		f := answered(Responses, name, want, respFrames("response.completed", items, done(0, item), done(1, text)))
		f.Items = [][]byte{[]byte(item)}
		return f
	}
	end := func(name string, want Want, terminal, more string, items ...string) Fault {
		return answered(Responses, name, want, append(respFrames("", nil, respText(0, "msg_1", "one", 9)...), respEnd(terminal, items, more)))
	}
	one := respMessage("msg_1", "one")
	const unknown = `{"type":"gamma_probe","id":"x_1","z":1.50,"a":{"b":"\u00e9<"},"n":12345678901234567890}`
	const halves = `{"type":"gamma_probe","id":"x_2","t":"\ud800 x"}`
	const reasoning = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA","future":{"z":1,"a":[true,null]}}`
	phase := strings.Replace(text, `"role"`, `"phase":"final_answer","role"`, 1)
	refusal := strings.Replace(strings.Replace(one, "output_text", "refusal", 1), `"text":"one"`, `"refusal":"I won't."`, 1)
	f := raw("unknown_item", withRaw, unknown, unknown, text)
	g := raw("unknown_item_unlisted", withRaw, unknown)
	// What comes back of it is marked, so it isn't one of the fault's Items.
	l := answered(Responses, "unknown_item_lone_surrogate", withRaw, respFrames("response.completed", []string{halves, text}))
	n := answered(Responses, "end_without_model", whole, respFrames("", nil, done(0, text),
		frame{"response.completed", `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":100,"output_tokens":20,"input_tokens_details":{"cached_tokens":40},"output_tokens_details":{"reasoning_tokens":5}}}}`}))
	noted, detailed := whole, whole
	noted.Usage, noted.Notes = llm.Usage{}, 1
	detailed.Usage, detailed.Notes = llm.Usage{Input: 100, Output: 20}, 1
	usage := func(name string, want Want, usage string) Fault {
		return answered(Responses, name, want, respFrames("", nil, done(0, text),
			frame{"response.completed", `{"type":"response.completed","response":{"status":"completed","incomplete_details":"none","usage":` + usage + `}}`}))
	}
	h := raw("reasoning_with_unknown_field", withRaw, reasoning, reasoning, text)
	p := answered(Responses, "message_with_unknown_field", withRaw, respFrames("response.completed", []string{phase}, done(0, phase)))
	p.Items = [][]byte{[]byte(phase)}
	return []Fault{f, g, h, p, l, n,
		usage("usage_is_a_text", noted, `"n/a"`), usage("usage_is_a_list", noted, `[1]`), usage("usage_is_a_number", noted, `7`),
		usage("usage_details_are_texts", detailed, `{"input_tokens":100,"output_tokens":"20","input_tokens_details":"x","output_tokens_details":[]}`),
		answered(Responses, "unknown_events", whole, respFrames("response.completed", []string{text},
			respEvent("response.brand_new.delta", `"delta":{"x":[]},"item_id":7`), respEvent("response.content_part.added", `"part":null`),
			frame{"ping", "{}"}, frame{"", `{"error":null}`}, done(0, text))),
		answered(Responses, "only_the_end", whole, []frame{respEnd("response.completed", []string{text}, "")}),
		answered(Responses, "type_in_the_event_name", whole, []frame{{"response.completed", strings.Replace(respEnd("response.completed", []string{text}, "").data, `"type":"response.completed",`, "", 1)}}),
		answered(Responses, "only_text_done", Want{Stop: llm.StopEnd, Text: "one two"}, respFrames("response.completed", nil,
			respEvent("response.output_text.done", respKeys(0, "msg_1")+`"text":"one two"`))),
		answered(Responses, "text_of_the_end_wins", whole, respFrames("response.completed", []string{text}, respText(0, "msg_1", "one t", 9)...)),
		end("length", Want{Stop: llm.StopLength, Text: "one", Usage: sampleUsage()}, "response.incomplete", `"incomplete_details":{"reason":"max_output_tokens"},`, one),
		end("length_unlisted", Want{Stop: llm.StopLength, Text: "one"}, "response.incomplete", `"incomplete_details":{"reason":"max_output_tokens"},`),
		end("content_filter", Want{Stop: llm.StopContent, Text: "one"}, "response.incomplete", `"incomplete_details":{"reason":"content_filter"},`, one),
		end("completed_but_incomplete", Want{Stop: llm.StopLength, Text: "one"}, "response.completed", `"status":"incomplete",`, one),
		end("completed_but_failed", Want{Class: llm.Retry, Code: "server_error"}, "response.completed", `"status":"failed","error":{"code":"server_error","message":"x"},`),
		answered(Responses, "refusal", Want{Stop: llm.StopContent, Text: "I won't."}, respFrames("response.completed", []string{refusal},
			respEvent("response.refusal.delta", respKeys(0, "msg_1")+`"delta":"I won't."`))),
		answered(Responses, "refusal_unlisted", Want{Stop: llm.StopContent, Text: "I won't."}, respFrames("response.completed", nil,
			respEvent("response.refusal.delta", respKeys(0, "msg_1")+`"delta":"I won't."`))),
	}
}
