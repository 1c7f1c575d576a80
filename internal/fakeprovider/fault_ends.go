package fakeprovider

import (
	"slices"

	"github.com/gamma-harness/gamma/llm"
)

// half is the beginning of an answer of text, as events.
func half(d Dialect) []frame {
	if d == Chat {
		return chatFrames("", `{"role":"assistant"}`, `{"content":"Half an "}`, `{"content":"answer"}`)
	}
	whole := respText(0, "msg_1", "Half an answer", 8)
	return respFrames("", nil, whole[:len(whole)-1]...)
}

func incompleteWant() Want { return Want{Class: llm.Incomplete, Partial: "Half an answer"} }

// endFaults are streams that end too early, too late or not at all.
func endFaults() []Fault {
	return slices.Concat(
		both(func(d Dialect) Fault {
			return Fault{Name: "end_in_text", Chunks: whole(lf(half(d))), Want: incompleteWant()}
		}),
		both(func(d Dialect) Fault {
			b := lf(half(d))
			return Fault{Name: "end_in_a_line", Chunks: whole(b[:len(b)-20]), Want: Want{Class: llm.Incomplete, Code: "stream_incomplete"}}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "connection_cut", Chunks: whole(lf(half(d))), End: EndCut, Want: incompleteWant()}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "connection_reset", Chunks: whole(lf(half(d))), End: EndReset, Want: Want{Class: llm.Incomplete}}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "done_without_finish", Chunks: whole(lf(append(half(d), frame{data: "[DONE]"}))), Want: incompleteWant()}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "done_without_finish_then_hang", Chunks: whole(lf(append(half(d), frame{data: "[DONE]"}))), End: EndHang,
				Want: Want{Class: llm.Incomplete, Code: "stream_incomplete"}}
		}),
		both(func(Dialect) Fault {
			return Fault{Name: "no_events", Want: Want{Class: llm.Incomplete, Code: "stream_incomplete"}}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "hang_in_text", Chunks: whole(lf(half(d))), End: EndHang,
				Want: Want{Class: llm.Incomplete, Code: "idle_timeout", Partial: "Half an answer", Deadline: true}}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "comments_for_ever", Chunks: whole(lf(half(d))), End: EndPing,
				Want: Want{Class: llm.Incomplete, Code: "total_timeout", Partial: "Half an answer", Deadline: true}}
		}),
		both(func(Dialect) Fault {
			return Fault{Name: "no_header", End: EndSilent, Want: Want{Class: llm.Retry, Code: "header_timeout", Deadline: true}}
		}),
		both(func(Dialect) Fault {
			return Fault{Name: "closed_before_header", End: EndRefuse, Want: Want{Class: llm.Retry, Code: "connection_failed"}}
		}),
		both(func(Dialect) Fault {
			return Fault{Name: "reset_before_header", End: EndReset, Want: Want{Class: llm.Retry, Code: "connection_failed"}}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "event_not_json", Chunks: whole(lf(append(half(d), frame{data: `{"choices":[}`}))),
				Want: Want{Class: llm.Incomplete, Code: "bad_event", Partial: "Half an answer"}}
		}),
	)
}

// finishedFaults are answers that are whole, though their streams end oddly.
func finishedFaults() []Fault {
	want := Want{Stop: llm.StopEnd, Text: "Whole."}
	events := func(d Dialect) []frame {
		if d == Chat {
			return append(chatFrames("", `{"content":"Whole."}`), chatChoice(0, "{}", "stop"))
		}
		return respFrames("response.completed", []string{respMessage("msg_1", "Whole.")}, respText(0, "msg_1", "Whole.", 9)...)
	}
	return slices.Concat(
		both(func(d Dialect) Fault { return answered(d, "finished_without_done", want, events(d)) }),
		both(func(d Dialect) Fault {
			return Fault{Name: "finished_then_cut", Chunks: whole(lf(events(d))), End: EndCut, Want: want}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "finished_then_hang", Chunks: whole(lf(events(d))), End: EndHang, Want: want}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "finished_then_broken_usage", Chunks: whole(append(lf(events(d)), "data: {\"choices\":[],\"usa"...)), Want: want}
		}),
		both(func(d Dialect) Fault {
			return answered(d, "done_behind_the_end", want, append(events(d), frame{data: "[DONE]"}))
		}),
		both(func(d Dialect) Fault {
			if d == Chat {
				return answered(d, "empty_answer", Want{Stop: llm.StopEnd}, chatFrames("stop"))
			}
			return answered(d, "empty_answer", Want{Stop: llm.StopEnd}, respFrames("response.completed", nil))
		}),
	)
}

// chunkFaults are Chat chunks that don't look as documented.
func chunkFaults() []Fault {
	usageOnly := frame{data: `{"choices":[],"usage":{"prompt_tokens":7}}`}
	empty := frame{data: `{"id":"x","choices":[]}`}
	text := func(s string) frame { return chatChoice(0, `{"content":"`+s+`"}`, "") }
	fin := chatChoice(0, "{}", "stop")
	done := frame{data: "[DONE]"}
	whole := Want{Stop: llm.StopEnd, Text: "one two"}
	counted := whole
	counted.Usage = sampleUsage()
	noted, detailed := whole, whole
	noted.Notes, detailed.Notes = 1, 1
	detailed.Usage = llm.Usage{Input: 100, Output: 20}
	reasoned := whole
	reasoned.Thinking = "hm so"
	return []Fault{
		answered(Chat, "usage_only_chunks", counted, []frame{usageOnly, text("one "), empty, text("two"), fin, chatUsage(), done}),
		answered(Chat, "usage_before_finish", counted, []frame{text("one "), chatUsage(), text("two"), fin, empty, done}),
		answered(Chat, "usage_then_zeros", counted, []frame{text("one "), chatUsage(), text("two"), fin, {data: `{"choices":[],"usage":{"prompt_tokens":null}}`}, done}),
		answered(Chat, "usage_is_a_text", noted, []frame{text("one two"), fin, {data: `{"choices":[],"usage":"n/a"}`}, done}),
		answered(Chat, "usage_is_a_list_with_the_end", noted, []frame{text("one two"), {data: `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":[1]}`}}),
		answered(Chat, "usage_is_a_number_first", noted, []frame{{data: `{"choices":[],"usage":7}`}, text("one two"), fin, done}),
		answered(Chat, "usage_counts_are_texts", counted, []frame{text("one two"), fin, {data: `{"choices":[],"usage":{"prompt_tokens":"100","completion_tokens":"20","prompt_tokens_details":{"cached_tokens":"40"},"completion_tokens_details":{"reasoning_tokens":"5"}}}`}, done}),
		answered(Chat, "usage_counts_are_nonsense", whole, []frame{text("one two"), {data: `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":{},"completion_tokens":[1],"prompt_cache_hit_tokens":true}}`}, done}),
		answered(Chat, "usage_details_are_texts", detailed, []frame{text("one two"), {data: `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":"x","completion_tokens_details":[]}}`}, done}),
		answered(Chat, "usage_null", whole, []frame{{data: `{"choices":null,"usage":null}`}, text("one two"), fin, done}),
		answered(Chat, "empty_delta", whole, []frame{chatChoice(0, "{}", ""), text("one "), chatChoice(0, "null", ""), text("two"), fin, done}),
		answered(Chat, "null_content", whole, []frame{chatChoice(0, `{"role":"assistant","content":null,"tool_calls":null,"refusal":null}`, ""), text("one two"), fin, done}),
		answered(Chat, "only_choice_is_1", whole, []frame{chatChoice(1, `{"content":"one "}`, ""), chatChoice(1, `{"content":"two"}`, ""), chatChoice(1, "{}", "stop"), done}),
		answered(Chat, "finish_under_another_choice", whole, []frame{chatChoice(0, `{"role":"assistant"}`, ""), chatChoice(2, `{"content":"one two"}`, ""), chatChoice(0, "{}", "stop"), done}),
		answered(Chat, "no_choice_index", whole, []frame{{data: `{"choices":[{"delta":{"content":"one two"}}]}`}, {data: `{"choices":[{"delta":{},"finish_reason":"stop"}]}`}}),
		answered(Chat, "duplicate_finish", counted, []frame{text("one two"), fin, fin, chatUsage(), fin, done}),
		answered(Chat, "finish_is_empty_text", whole, []frame{{data: `{"choices":[{"index":0,"delta":{"content":"one two"},"finish_reason":""}]}`}, fin, done}),
		answered(Chat, "error_null", whole, []frame{{data: `{"error":null,"choices":[{"index":0,"error":null,"delta":{"content":"one two"}}]}`}, fin, done}),
		answered(Chat, "error_empty", whole, []frame{{data: `{"error":{},"choices":[{"index":0,"error":"","delta":{"content":"one two"}}]}`}, fin, done}),
		answered(Chat, "unknown_finish", whole, []frame{text("one two"), chatChoice(0, "{}", "eos"), done}),
		answered(Chat, "reasoning_content", reasoned, []frame{chatChoice(0, `{"reasoning_content":"hm "}`, ""), chatChoice(0, `{"reasoning_content":"so","reasoning":"so"}`, ""), text("one two"), fin, done}),
		answered(Chat, "reasoning", reasoned, []frame{chatChoice(0, `{"reasoning":"hm "}`, ""), chatChoice(0, `{"reasoning":"so"}`, ""), text("one two"), fin, done}),
		answered(Chat, "content_is_a_list", reasoned, []frame{chatChoice(0, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm so"}]}]}`, ""), chatChoice(0, `{"content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]}`, ""), fin, done}),
		answered(Chat, "length", Want{Stop: llm.StopLength, Text: "one"}, []frame{text("one"), chatChoice(0, "{}", "length"), done}),
		answered(Chat, "length_then_stop", Want{Stop: llm.StopLength, Text: "one"}, []frame{text("one"), chatChoice(0, "{}", "length"), fin, done}),
		answered(Chat, "content_filter", Want{Stop: llm.StopContent, Text: "one"}, []frame{text("one"), chatChoice(0, "{}", "content_filter"), done}),
		answered(Chat, "refusal", Want{Stop: llm.StopContent, Text: "I won't."}, []frame{chatChoice(0, `{"refusal":"I "}`, ""), chatChoice(0, `{"refusal":"won't."}`, ""), fin, done}),
	}
}
