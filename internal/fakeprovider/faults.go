package fakeprovider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// Sample is what the faults about framing and characters say: emoji built of
// several code points, text outside ASCII, and what HTML would escape.
const Sample = "作成しました🏳️‍⚧️ <b>a & b</b>\u2028 ok"

const sampleThinking = "考え🧠"

// sampleUsage is what the terminal events report.
func sampleUsage() llm.Usage {
	return llm.Usage{Input: 100, Output: 20, Cached: 40, Reasoning: 5}
}

// sampleCall is the call beside Sample.
func sampleCall() llm.Call { return llm.Call{Name: "read", Arguments: `{"path":"日本.txt"}`} }

// Faults returns all faults of both dialects.
func Faults() []Fault {
	return slices.Concat(
		under("E35 BC-20", framingFaults()),
		under("E35 BC-21", finishedFaults()),
		under("E10 BC-21", endFaults()),
		under("E35 BC-22", chunkFaults()),
		under("E35 BC-23", characterFaults()),
		under("E10", eventFaults()),
		under("E10", statusFaults()),
		under("E10", bodyFaults()),
		under("E6 BC-15", chatCallFaults()),
		under("E6 BC-15", responsesCallFaults()),
		under("E5 BC-17", chatArgumentFaults()),
		under("E5 BC-17", responsesArgumentFaults()),
		under("E37", itemFaults()),
	)
}

func under(rule string, faults []Fault) []Fault {
	for i := range faults {
		faults[i].Rule = rule
	}
	return faults
}

// FaultNamed returns the fault with the name, or nil.
func FaultNamed(d Dialect, name string) *Fault {
	for _, f := range Faults() {
		if f.Dialect == d && f.Name == name {
			return &f
		}
	}
	return nil
}

// sampleFrames is a whole answer with thinking, text and a call.
func sampleFrames(d Dialect) []frame {
	call := sampleCall()
	if d == Chat {
		deltas := slices.Concat([]string{`{"role":"assistant","content":""}`},
			chatText("reasoning_content", sampleThinking, 4), chatText("content", Sample, 7),
			[]string{chatArgs(`"index":0,"id":"call_1","type":"function"`, call.Name, "")})
		for _, piece := range cutRunes(call.Arguments, 5) {
			deltas = append(deltas, chatArgs(`"index":0`, "", piece))
		}
		return chatFrames("tool_calls", deltas...)
	}
	reasoning := sampleReasoning()
	items := []string{reasoning, respMessage("msg_1", Sample), respCall("fc_1", "call_1", call.Name, call.Arguments)}
	return respFrames("response.completed", items, slices.Concat(
		respItem(`"output_index":0,`, respKeys(0, "rs_1")+`"summary_index":0,`, "response.reasoning_summary_text.delta",
			`{"type":"reasoning","id":"rs_1","summary":[]}`, reasoning, cutRunes(sampleThinking, 4)),
		respText(1, "msg_1", Sample, 7),
		respCallItem(2, "fc_1", "call_1", call.Name, call.Arguments))...)
}

func sampleReasoning() string {
	return fmt.Sprintf(`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":%s}],"encrypted_content":"gAAA+/="}`, encode(sampleThinking))
}

func sampleWant(d Dialect) Want {
	w := Want{Stop: llm.StopTools, Text: Sample, Thinking: sampleThinking, Calls: []llm.Call{sampleCall()}, Usage: sampleUsage()}
	if d == Responses {
		w.Raw = 1
	}
	return w
}

// both makes a fault for each dialect.
func both(make func(Dialect) Fault) []Fault {
	var out []Fault
	for _, d := range []Dialect{Responses, Chat} {
		f := make(d)
		f.Dialect = d
		out = append(out, f)
	}
	return out
}

// answered is a fault whose answer is whole.
func answered(d Dialect, name string, want Want, events []frame) Fault {
	return Fault{Name: name, Dialect: d, Chunks: whole(lf(events)), Want: want}
}

func framingFaults() []Fault {
	var out []Fault
	for _, d := range []Dialect{Responses, Chat} {
		f := framings(sampleFrames(d))
		names := make([]string, 0, len(f))
		for name := range f {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			out = append(out, Fault{Name: name, Dialect: d, Chunks: f[name], Want: sampleWant(d)})
		}
	}
	return out
}

// textFrames is an answer of text whose deltas are JSON strings.
func textFrames(d Dialect, done string, deltas ...string) []frame {
	var out []frame
	if d == Chat {
		for _, t := range deltas {
			out = append(out, chatChoice(0, `{"content":`+t+`}`, ""))
		}
		return append(out, chatChoice(0, "{}", "stop"), frame{data: "[DONE]"})
	}
	for _, t := range deltas {
		out = append(out, respEvent(textDelta, respKeys(0, "msg_1")+`"delta":`+t))
	}
	item := strings.Replace(respMessage("msg_1", ""), `"text":""`, `"text":`+done, 1)
	return respFrames("response.completed", []string{item}, out...)
}

func characterFaults() []Fault {
	const high, low = `\ud83d`, `\ude00`
	type text struct {
		name, done string
		deltas     []string
		want       string
	}
	long := strings.Repeat("0123456789abcde\n", 3<<16)
	var out []Fault
	for _, t := range []text{
		{"pair_split_over_deltas", `"a` + high + low + `b"`, []string{`"a` + high + `"`, `"` + low + `b"`}, "a😀b"},
		{"rune_split_over_deltas", "\"a\xF0\x9F\x98\x80b\"", []string{"\"a\xF0\x9F\"", "\"\x98\"", "\"\x80b\""}, "a😀b"},
		{"lone_high_surrogate", `"a` + high + ` b"`, []string{`"a` + high + ` b"`}, "a\uFFFD b"},
		{"lone_low_surrogate", `"a` + low + `"`, []string{`"a"`, `"` + low + `"`}, "a\uFFFD"},
		{"two_high_surrogates", `"` + high + high + low + `"`, []string{`"` + high + `"`, `"` + high + low + `"`}, "\uFFFD😀"},
		{"bytes_not_utf8", "\"a\xFFb\"", []string{"\"a\xFFb\""}, "a\uFFFDb"},
		{"escapes", `"\u003ca\u003e\/\b\f\n\r\t\"\\\u00e9"`, []string{`"\u003ca\u003e\/\b"`, `"\f\n\r\t\"\\\u00e9"`}, "<a>/\b\f\n\r\t\"\\é"},
		{"line_of_3_megabytes", string(encode(long)), []string{string(encode(long))}, long},
	} {
		out = append(out, both(func(d Dialect) Fault {
			return answered(d, t.name, Want{Stop: llm.StopEnd, Text: t.want}, textFrames(d, t.done, t.deltas...))
		})...)
	}
	return out
}
