package fakeprovider

import (
	"fmt"

	"github.com/gamma-harness/gamma/llm"
)

const argsA, argsB = `{"path":"a.txt","n":[1,{}]}`, `{"path":"b \" }.txt"}`

// twoCalls is what most faults about calls must come to.
func twoCalls() Want {
	return Want{Stop: llm.StopTools, Calls: []llm.Call{{Name: "read", Arguments: argsA}, {Name: "read", Arguments: argsB}}}
}

func oneCall(args string) Want {
	return Want{Stop: llm.StopTools, Calls: []llm.Call{{Name: "read", Arguments: args}}}
}

// interleaved is two calls whose fragments alternate. first and rest are the
// members of a call's first and later fragments.
func interleaved(first, rest [2]string, name string) []string {
	a, b := cutRunes(argsA, 5), cutRunes(argsB, 5)
	out := []string{chatArgs(first[0], "read", ""), chatArgs(first[1], "read", "")}
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, chatArgs(rest[0], name, a[i]))
		}
		if i < len(b) {
			out = append(out, chatArgs(rest[1], name, b[i]))
		}
	}
	return out
}

// sequential is two calls, one after the other, in fragments.
func sequential(first, rest [2]string, name string) []string {
	var out []string
	for i, args := range []string{argsA, argsB} {
		out = append(out, chatArgs(first[i], "read", ""))
		for _, piece := range cutRunes(args, 5) {
			out = append(out, chatArgs(rest[i], name, piece))
		}
	}
	return out
}

// chatCallFaults are calls whose ids and indexes don't tell them apart as
// documented.
func chatCallFaults() []Fault {
	chat := func(name string, deltas ...string) Fault {
		return answered(Chat, name, twoCalls(), chatFrames("tool_calls", deltas...))
	}
	both := func(name, args string, deltas ...string) Fault {
		want := Want{Stop: llm.StopTools, Calls: []llm.Call{{Name: "read", Arguments: args}, {Name: "read", Arguments: args}}}
		return answered(Chat, name, want, chatFrames("tool_calls", deltas...))
	}
	ix := func(i int) string { return fmt.Sprintf(`"index":%d`, i) }
	id := func(s string) string { return fmt.Sprintf(`"id":%q`, s) }
	at := func(i int, s string) string { return ix(i) + "," + id(s) }
	full := [2]string{at(0, "call_a"), at(1, "call_b")}
	zero := [2]string{at(0, "call_a"), at(0, "call_b")}
	same := [2]string{at(0, "call_1"), at(1, "call_1")}
	none := [2]string{}
	index := [2]string{ix(0), ix(1)}
	return []Fault{
		chat("calls_interleaved", interleaved(full, index, "")...),
		chat("calls_with_id_and_name_in_each_fragment", interleaved(full, full, "read")...),
		chat("calls_with_equal_index_interleaved", interleaved(zero, zero, "")...),
		chat("calls_with_equal_index_named_interleaved", interleaved(zero, zero, "read")...),
		chat("calls_with_equal_index", sequential(zero, [2]string{ix(0), ix(0)}, "")...),
		chat("calls_with_equal_index_whole", chatArgs(zero[0], "read", argsA), chatArgs(zero[1], "read", argsB)),
		chat("calls_with_equal_index_no_id", chatArgs(ix(0), "read", argsA), chatArgs(ix(0), "read", argsB)),
		chat("calls_with_equal_id_interleaved", interleaved(same, index, "")...),
		chat("calls_with_equal_id_in_each_fragment", interleaved(same, same, "")...),
		chat("calls_with_equal_id_and_index", sequential([2]string{at(0, "call_1"), at(0, "call_1")}, [2]string{ix(0), ix(0)}, "")...),
		chat("calls_with_equal_id_and_index_whole", chatArgs(at(0, "call_1"), "read", argsA), chatArgs(at(0, "call_1"), "read", argsB)),
		chat("calls_with_equal_id_in_one_chunk", `{"tool_calls":[`+chatEntry(at(0, "call_1"), "read", argsA)+`,`+chatEntry(at(0, "call_1"), "read", argsB)+`]}`),
		both("calls_with_equal_id_malformed_in_one_chunk", `{"a`, `{"tool_calls":[`+chatEntry(at(0, "call_1"), "read", `{"a`)+`,`+chatEntry(at(0, "call_1"), "read", `{"a`)+`]}`),
		both("calls_without_id_and_index_and_arguments", "", chatArgs("", "read", ""), chatArgs("", "read", "")),
		chat("calls_with_counting_index", chatArgs(at(0, "a"), "read", ""), chatArgs(at(1, "a"), "", argsA), chatArgs(at(2, "b"), "read", ""), chatArgs(at(3, "b"), "", argsB)),
		chat("calls_without_index_interleaved", interleaved([2]string{id("a"), id("b")}, [2]string{id("a"), id("b")}, "")...),
		chat("calls_without_index", sequential([2]string{id("a"), id("b")}, none, "")...),
		chat("calls_without_id", sequential(index, index, "")...),
		chat("calls_without_id_and_index", chatArgs("", "read", argsA), chatArgs("", "read", argsB)),
		chat("calls_without_id_and_index_in_fragments", sequential(none, none, "")...),
		chat("calls_without_id_and_index_in_one_chunk", `{"tool_calls":[`+chatEntry("", "read", argsA)+`,`+chatEntry("", "read", argsB)+`]}`),
		chat("calls_with_null_id_and_index", chatArgs(`"id":null,"index":null`, "read", argsA), chatArgs(`"id":null,"index":null`, "read", argsB)),
		chat("calls_with_new_id_in_each_fragment", chatArgs(at(0, "x1"), "read", ""), chatArgs(at(0, "x2"), "", argsA), chatArgs(at(1, "x3"), "read", ""), chatArgs(at(1, "x4"), "", argsB)),
		chat("calls_with_late_names", chatArgs(full[0], "", ""), chatArgs(ix(0), "read", argsA), chatArgs(full[1], "", argsB[:5]), chatArgs(ix(1), "", argsB[5:]), chatArgs(ix(1), "read", "")),
		chat("calls_with_late_names_and_no_index", chatArgs(id("a"), "", ""), chatArgs("", "read", argsA), chatArgs("", "read", argsB)),
		chat("calls_with_echo_at_the_end", chatArgs(full[0], "read", argsA), chatArgs(full[1], "read", argsB), chatArgs(full[0], "read", "")),
		chat("calls_with_big_index", interleaved([2]string{at(7, "a"), at(3, "b")}, [2]string{ix(7), ix(3)}, "")...),
		answered(Chat, "calls_with_finish_stop", twoCalls(), chatFrames("stop", interleaved(full, index, "")...)),
	}
}

// chatArgumentFaults are single calls in odd shapes.
func chatArgumentFaults() []Fault {
	call := func(name, args string, deltas ...string) Fault {
		return answered(Chat, name, oneCall(args), chatFrames("tool_calls", deltas...))
	}
	const key = `"index":0,"id":"call_1"`
	raw := func(args string) string {
		return `{"tool_calls":[{` + key + `,"function":{"name":"read","arguments":` + args + `}}]}`
	}
	cut := Want{Stop: llm.StopLength, Calls: []llm.Call{{Name: "read", Arguments: `{"path":"a`}}}
	return []Fault{
		call("arguments_are_an_object", `{"path": "a"}`, raw(`{"path": "a"}`)),
		call("arguments_are_null", "", raw(`null`)),
		call("arguments_are_missing", "", `{"tool_calls":[{`+key+`,"function":{"name":"read"}}]}`),
		call("arguments_are_empty", "", chatArgs(key, "read", "")),
		call("arguments_malformed", `{"path":"a`, chatArgs(key, "read", `{"path":"a`)),
		call("arguments_array", `[1]`, chatArgs(key, "read", `[1]`)),
		call("arguments_null_text", `null`, chatArgs(key, "read", `null`)),
		call("arguments_escape_lone_surrogate", `{"t":"\ud99c x"}`, chatArgs(key, "read", `{"t":"\ud99c x"}`)),
		call("arguments_lone_surrogate", "{\"t\":\"\uFFFD x\"}", raw(`"{\"t\":\"\ud99c x\"}"`)),
		call("arguments_pair_split", `{"t":"😀"}`, raw(`"{\"t\":\"\ud83d"`), `{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}`),
		answered(Chat, "function_call", oneCall(argsA), chatFrames("function_call",
			`{"role":"assistant","content":null,"function_call":{"name":"read","arguments":""}}`,
			`{"function_call":{"arguments":`+string(encode(argsA[:9]))+`}}`, `{"function_call":{"arguments":`+string(encode(argsA[9:]))+`}}`)),
		answered(Chat, "length_in_arguments", cut, chatFrames("length", chatArgs(key, "read", ""), chatArgs(`"index":0`, "", `{"path":"a`))),
	}
}
