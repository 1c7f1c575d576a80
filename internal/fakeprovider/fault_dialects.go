package fakeprovider

import (
	"fmt"
	"strings"
)

// chatFrames makes chunks of the deltas, given as JSON text, and ends them
// with a finish_reason, usage and [DONE].
func chatFrames(finish string, deltas ...string) []frame {
	var out []frame
	for _, d := range deltas {
		out = append(out, chatChoice(0, d, ""))
	}
	if finish != "" {
		out = append(out, chatChoice(0, "{}", finish), chatUsage(), frame{data: "[DONE]"})
	}
	return out
}

// chatChoice is a chunk with one choice.
func chatChoice(index int, delta, finish string) frame {
	if finish == "" {
		finish = "null"
	} else {
		finish = `"` + finish + `"`
	}
	return frame{data: fmt.Sprintf(
		`{"id":"chatcmpl_1","object":"chat.completion.chunk","model":"fake-1","choices":[{"index":%d,"delta":%s,"finish_reason":%s}]}`,
		index, delta, finish)}
}

func chatUsage() frame {
	return frame{data: `{"id":"chatcmpl_1","object":"chat.completion.chunk","model":"fake-1","choices":[],` +
		`"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":40},` +
		`"completion_tokens_details":{"reasoning_tokens":5}}}`}
}

// chatArgs is a delta with one piece of a call; fields are JSON members of
// the tool_calls entry, args its argument text.
func chatArgs(fields, name, args string) string {
	return `{"tool_calls":[` + chatEntry(fields, name, args) + `]}`
}

func chatEntry(fields, name, args string) string {
	if fields != "" {
		fields += ","
	}
	if name != "" {
		name = `"name":"` + name + `",`
	}
	return fmt.Sprintf(`{%s"function":{%s"arguments":%s}}`, fields, name, encode(args))
}

// chatText cuts text into deltas of about n bytes, at rune boundaries.
func chatText(field, text string, n int) []string {
	var out []string
	for _, piece := range cutRunes(text, n) {
		out = append(out, fmt.Sprintf(`{%q:%s}`, field, encode(piece)))
	}
	return out
}

func cutRunes(text string, n int) []string {
	var out []string
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
		if b.Len() >= n {
			out = append(out, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// respFrames makes a stream of the events and ends it with a terminal event
// that lists the items.
func respFrames(terminal string, items []string, events ...frame) []frame {
	out := []frame{respEvent("response.created", `"response":{"id":"resp_1","model":"fake-1","status":"in_progress","output":[],"error":null}`)}
	out = append(out, events...)
	if terminal != "" {
		out = append(out, respEnd(terminal, items, ""))
	}
	return out
}

// respEnd is a terminal event; more are further members of its response.
func respEnd(terminal string, items []string, more string) frame {
	return respEvent(terminal, fmt.Sprintf(
		`"response":{"id":"resp_1","model":"fake-1","status":%q,"output":[%s],%s"usage":{"input_tokens":100,"output_tokens":20,`+
			`"input_tokens_details":{"cached_tokens":40},"output_tokens_details":{"reasoning_tokens":5}}}`,
		strings.TrimPrefix(terminal, "response."), strings.Join(items, ","), more))
}

// respEvent is an event with the members given as JSON text.
func respEvent(name, members string) frame {
	return frame{name, fmt.Sprintf(`{"type":%q,"sequence_number":1,%s}`, name, members)}
}

// respKeys are the members that tell which item an event belongs to.
func respKeys(index int, id string) string {
	return fmt.Sprintf(`"output_index":%d,"item_id":%q,`, index, id)
}

func respMessage(id, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"role":"assistant","status":"completed","content":[{"type":"output_text","text":%s,"annotations":[]}]}`,
		id, encode(text))
}

func respCall(id, callID, name, args string) string {
	return fmt.Sprintf(`{"type":"function_call","id":%q,"status":"completed","call_id":%q,"name":%q,"arguments":%s}`, id, callID, name, encode(args))
}

// respItem is the events of an item: added, deltas, done. The deltas come
// with keys, the item's frame events with index.
func respItem(index, keys, kind, begun, whole string, pieces []string) []frame {
	out := []frame{respEvent("response.output_item.added", index+`"item":`+begun)}
	for _, p := range pieces {
		out = append(out, respEvent(kind, keys+`"delta":`+string(encode(p))))
	}
	return append(out, respEvent("response.output_item.done", index+`"item":`+whole))
}

const (
	textDelta = "response.output_text.delta"
	argsDelta = "response.function_call_arguments.delta"
)

// respText is a message item from beginning to end.
func respText(index int, id, text string, n int) []frame {
	begun := fmt.Sprintf(`{"type":"message","id":%q,"role":"assistant","status":"in_progress","content":[]}`, id)
	return respItem(fmt.Sprintf(`"output_index":%d,`, index), respKeys(index, id), textDelta, begun, respMessage(id, text), cutRunes(text, n))
}

// respCallItem is a call item from beginning to end.
func respCallItem(index int, id, callID, name, args string) []frame {
	return respItem(fmt.Sprintf(`"output_index":%d,`, index), respKeys(index, id), argsDelta,
		respCall(id, callID, name, ""), respCall(id, callID, name, args), cutRunes(args, 6))
}
