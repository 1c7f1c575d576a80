package provider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

func say(role llm.Role, texts ...string) llm.Message {
	m := llm.Message{Role: role}
	for _, t := range texts {
		m.Parts = append(m.Parts, llm.Part{Type: llm.TextPart, Text: t})
	}
	return m
}

func call(id, name, args string) llm.Part {
	return llm.Part{Type: llm.CallPart, Call: &llm.Call{ID: id, ProviderID: "call_same", Name: name, Arguments: args}}
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Type: llm.ResultPart, Result: &llm.Result{CallID: id, Text: text}}}}
}

func newEncoder(d Dialect) *encoder {
	return &encoder{config: Config{Provider: "test", Dialect: d, Model: "m"}}
}

func bodyOf(t testing.TB, e *encoder, req *llm.Request) string {
	t.Helper()
	b, err := e.body(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// history is a request with every kind of part.
func history() *llm.Request {
	return &llm.Request{
		System:   "Root <prompt> & more",
		Tools:    []llm.Tool{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object", "z":1,"a":{"<":2}}`)}},
		Settings: llm.Settings{MaxOutput: 99, Effort: "low", CacheKey: "abc-1"},
		Messages: []llm.Message{
			say(llm.Developer, "facts"),
			say(llm.User, "hi", "there\u2028"),
			{Role: llm.Assistant, Parts: []llm.Part{
				{Type: llm.ThinkingPart, Text: "hm", Raw: json.RawMessage(`{"type":"reasoning","z":1.50,"a":"\u003c"}`), Maker: "test/responses/m"},
				{Type: llm.ThinkingPart, Text: "hm", Raw: json.RawMessage(`{"type":"reasoning","from":"elsewhere"}`), Maker: "test/responses/other"},
				{Type: llm.TextPart, Text: "Reading."},
				call("c3.1", "read", `{"path": "a"}`), call("c3.2", "bad name!", `{"path":"a`),
			}},
			result("c3.1", "line\x00\xff"), result("c3.2", ""),
			say(llm.Developer, "note"),
			{Role: llm.Assistant},
		},
	}
}

func TestE32_RequestBytes(t *testing.T) {
	t.Run("E32 responses", func(t *testing.T) {
		want := `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},` +
			`"prompt_cache_key":"abc-1","max_output_tokens":99,` +
			`"tools":[{"type":"function","name":"read","description":"Reads.","parameters":{"type":"object", "z":1,"a":{"<":2}},"strict":false}],` +
			`"instructions":"Root <prompt> & more","input":[` +
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"facts"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_text","text":"there` + "\u2028" + `"}]},` +
			`{"type":"reasoning","z":1.50,"a":"\u003c"},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading."}]},` +
			`{"type":"function_call","call_id":"c3_1","name":"read","arguments":"{\"path\": \"a\"}"},` +
			`{"type":"function_call","call_id":"c3_2","name":"bad_name_","arguments":"{\"invalid_arguments\":\"{\\\"path\\\":\\\"a\"}"},` +
			`{"type":"function_call_output","call_id":"c3_1","output":"line\u0000` + "\uFFFD" + `"},` +
			`{"type":"function_call_output","call_id":"c3_2","output":""},` +
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"note"}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}]}`
		if got := bodyOf(t, newEncoder(Responses), history()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("E32 chat", func(t *testing.T) {
		want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"low","max_tokens":99,` +
			`"tools":[{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object", "z":1,"a":{"<":2}}}}],` +
			`"messages":[{"role":"system","content":"Root <prompt> & more"},{"role":"system","content":"facts"},` +
			`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"there` + "\u2028" + `"}]},` +
			`{"role":"assistant","content":"Reading.","tool_calls":[` +
			`{"id":"c3_1","type":"function","function":{"name":"read","arguments":"{\"path\": \"a\"}"}},` +
			`{"id":"c3_2","type":"function","function":{"name":"bad_name_","arguments":"{\"invalid_arguments\":\"{\\\"path\\\":\\\"a\"}"}}]},` +
			`{"role":"tool","tool_call_id":"c3_1","content":"line\u0000` + "\uFFFD" + `"},{"role":"tool","tool_call_id":"c3_2","content":""},` +
			`{"role":"user","content":"note"},{"role":"assistant","content":""}]}`
		if got := bodyOf(t, newEncoder(Chat), history()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestC12_RolesOfTheHarness(t *testing.T) {
	req := &llm.Request{System: "root", Messages: []llm.Message{
		say(llm.Developer, "first"), say(llm.Developer, "second"), say(llm.User, "hi"), say(llm.Developer, "later")}}
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"a chat model without the role", Config{Dialect: Chat, Model: "m"}, "system system system user user"},
		{"a chat model with the role", Config{Dialect: Chat, Model: "m", DeveloperRole: true}, "developer developer developer user developer"},
		{"responses", Config{Dialect: Responses, Model: "m"}, "developer developer user developer"},
	} {
		t.Run("C12 "+c.name, func(t *testing.T) {
			var body struct {
				Messages, Input []struct{ Role string }
			}
			if err := json.Unmarshal([]byte(bodyOf(t, &encoder{config: c.config}, req)), &body); err != nil {
				t.Fatal(err)
			}
			var roles []string
			for _, m := range append(body.Messages, body.Input...) {
				roles = append(roles, m.Role)
			}
			if got := strings.Join(roles, " "); got != c.want {
				t.Errorf("roles %q; want %q", got, c.want)
			}
		})
	}
}

func TestE37_ReasoningKeepsWhatItLedTo(t *testing.T) {
	raw := func(s string) llm.Part {
		return llm.Part{Type: llm.ThinkingPart, Raw: json.RawMessage(s), Maker: "test/responses/m"}
	}
	thought, probe := raw(`{"type":"reasoning","id":"1"}`), raw(`{"type":"x_probe"}`)
	text := llm.Part{Type: llm.TextPart, Text: "t"}
	for _, c := range []struct {
		name  string
		parts []llm.Part
		want  string
	}{
		{"reasoning before text stays", []llm.Part{thought, thought, text}, "reasoning reasoning message"},
		{"reasoning at the end goes", []llm.Part{text, thought}, "message"},
		{"only reasoning leaves an empty text", []llm.Part{thought, thought}, "message"},
		{"reasoning before an unknown item stays", []llm.Part{thought, probe}, "reasoning x_probe"},
		{"reasoning before a foreign item goes", []llm.Part{thought, {Type: llm.ThinkingPart, Raw: probe.Raw, Maker: "other"}}, "message"},
		{"an item that isn't JSON goes", []llm.Part{raw(`{"type":`), text}, "message"},
		{"a message with unknown fields stays whole", []llm.Part{{Type: llm.TextPart, Text: "t", Raw: json.RawMessage(`{"type":"message","phase":"x"}`), Maker: "test/responses/m"}, text}, "message message"},
	} {
		t.Run("E37 "+c.name, func(t *testing.T) {
			req := &llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Parts: c.parts}}}
			var body struct{ Input []struct{ Type string } }
			if err := json.Unmarshal([]byte(bodyOf(t, newEncoder(Responses), req)), &body); err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, i := range body.Input {
				types = append(types, i.Type)
			}
			if got := strings.Join(types, " "); got != c.want {
				t.Errorf("items %q; want %q", got, c.want)
			}
		})
	}
	t.Run("E37 broken characters in a raw item are marked", func(t *testing.T) {
		req := &llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{raw(`{"type":"x","t":"\ud800"}`)}}}}
		if got := bodyOf(t, newEncoder(Responses), req); !strings.Contains(got, "\"t\":\"\uFFFD\"") {
			t.Errorf("got %s", got)
		}
	})
}

// nasty draws text of the kinds that break encoders.
func nasty() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "\xff", "\xed\xa0\x80", "<&>\u2028", `\ud800`, "\x00\x1f\x7f", "🏳️‍⚧️", "cut \xf0\x9f\x98"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

func nastyArgs() *rapid.Generator[string] {
	return rapid.OneOf(nasty(), rapid.SampledFrom([]string{
		`{}`, `{"a": 1}`, `{"a":1,"a":2}`, `[1]`, `null`, `{"path":"a`, `{"t":"\ud99c x"}`, "{\"t\":\"\xff\"}", `{"t":"\\ud99c"}`, ` {"a":"<"} `,
	}))
}

// turn draws the messages of one turn, with call ids from seq on.
func turn(t *rapid.T, seq int) []llm.Message {
	var out []llm.Message
	for range rapid.IntRange(0, 2).Draw(t, "harness") {
		out = append(out, say(llm.Developer, nasty().Draw(t, "note")))
	}
	user := say(llm.User)
	for range rapid.IntRange(0, 2).Draw(t, "texts") {
		user.Parts = append(user.Parts, say(llm.User, nasty().Draw(t, "text")).Parts...)
	}
	out = append(out, user)
	answer := llm.Message{Role: llm.Assistant}
	var results []llm.Message
	for i := range rapid.IntRange(0, 4).Draw(t, "parts") {
		switch rapid.SampledFrom([]string{"text", "thinking", "reasoning", "call", "call"}).Draw(t, "part") {
		case "text":
			answer.Parts = append(answer.Parts, say(llm.User, nasty().Draw(t, "text")).Parts...)
		case "thinking":
			answer.Parts = append(answer.Parts, llm.Part{Type: llm.ThinkingPart, Text: nasty().Draw(t, "thought")})
		case "reasoning":
			maker := rapid.SampledFrom([]string{"test/responses/m", "else/responses/m"}).Draw(t, "maker")
			answer.Parts = append(answer.Parts, llm.Part{Type: llm.ThinkingPart, Maker: maker,
				Raw: json.RawMessage(`{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}`)})
		case "call":
			id := "c" + string(rune('a'+seq%26)) + strings.Repeat("x", seq/26) + "." + string(rune('0'+i))
			answer.Parts = append(answer.Parts, call(id, nasty().Draw(t, "name"), nastyArgs().Draw(t, "args")))
			results = append(results, result(id, nasty().Draw(t, "result")))
		}
	}
	return append(append(out, answer), results...)
}

// TestE32_RequestsExtend grows random histories and sends them to the strict
// fake provider: it must accept each request and find that it extends the one
// before, and so must the bytes.
func TestE32_RequestsExtend(t *testing.T) {
	for _, d := range []Dialect{Responses, Chat} {
		t.Run("E32 "+string(d), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { extend(t, d) })
		})
	}
}

func extend(t *rapid.T, d Dialect) {
	script, err := llm.ParseScript("test", []byte("version: 1\ndefault: {text: ok}\n"))
	if err != nil {
		t.Fatal(err)
	}
	fake := fakeprovider.New(script, fakeprovider.Options{NoDeveloper: true})
	e := newEncoder(d)
	req := &llm.Request{System: nasty().Draw(t, "system"), Tools: history().Tools}
	req.Messages = append(req.Messages, say(llm.Developer, "facts "+nasty().Draw(t, "facts")))
	last := ""
	for seq := range rapid.IntRange(2, 6).Draw(t, "turns") {
		req.Messages = append(req.Messages, turn(t, seq)...)
		b, err := e.body(req)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := newEncoder(d).body(req)
		if err != nil || !bytes.Equal(b, fresh) {
			t.Fatalf("a fresh encoder writes other bytes (%v):\n%s\n%s", err, b, fresh)
		}
		if !strings.HasPrefix(string(b), last) {
			t.Fatalf("not extended:\n%s\n%s", last, b)
		}
		last = string(b[:len(b)-2])
		post(fake, d, b)
	}
	if r := fake.Refusals(); len(r) > 0 {
		t.Fatalf("refused: %+v", r)
	}
	if br := fake.Breaks(); len(br) > 0 {
		t.Fatalf("breaks: %+v", br)
	}
}

func TestE32_ChangedHistoryIsEncodedAgain(t *testing.T) {
	for _, d := range []Dialect{Responses, Chat} {
		for name, change := range map[string]func(*llm.Request){
			"a text in place":           func(r *llm.Request) { r.Messages[1].Parts[0].Text = "changed" },
			"arguments in place":        func(r *llm.Request) { r.Messages[2].Parts[3].Call.Arguments = "{}" },
			"a result in place":         func(r *llm.Request) { r.Messages[3].Parts[0].Result.Text = "changed" },
			"a raw item in place":       func(r *llm.Request) { copy(r.Messages[2].Parts[0].Raw[18:], "X") },
			"a schema in place":         func(r *llm.Request) { copy(r.Tools[0].Schema[2:], "T") },
			"the system prompt":         func(r *llm.Request) { r.System = "other" },
			"the model":                 func(r *llm.Request) { r.Settings.Model = "other" },
			"fewer messages":            func(r *llm.Request) { r.Messages = r.Messages[:5] },
			"a new start on old memory": func(r *llm.Request) { r.Messages = append(r.Messages[:1], say(llm.User, "new")) },
			"the leading roles":         func(r *llm.Request) { r.Messages[0].Role = llm.User },
		} {
			t.Run("E32 "+string(d)+" "+name, func(t *testing.T) {
				e, req := newEncoder(d), history()
				before := bodyOf(t, e, req)
				change(req)
				got := bodyOf(t, e, req)
				if want := bodyOf(t, newEncoder(d), req); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				if got == before && !(d == Chat && name == "a raw item in place") {
					t.Error("the change had no effect")
				}
			})
		}
	}
}

func TestE32_EncodingMemoryIsBounded(t *testing.T) {
	e := newEncoder(Responses)
	for i := range 100 {
		req := history()
		req.Origin.Session = string(rune('A' + i))
		req.Messages = append(req.Messages, say(llm.User, strings.Repeat("x", 1<<20)))
		bodyOf(t, e, req)
	}
	if n := len(e.memo.list); e.memo.size > memoBytes || n > memoSessions || n == 0 {
		t.Errorf("%d sessions with %d bytes are kept", n, e.memo.size)
	}
}

func TestE34_RequestsThatCantBeSentAreRefused(t *testing.T) {
	bad := func(ms ...llm.Message) *llm.Request { return &llm.Request{Messages: ms} }
	for name, req := range map[string]*llm.Request{
		"an unknown role":         bad(say("owner", "x")),
		"a call in a user's text": bad(llm.Message{Role: llm.User, Parts: []llm.Part{call("c1.1", "a", "")}}),
		"a call without an id":    bad(llm.Message{Role: llm.Assistant, Parts: []llm.Part{call("", "a", "")}}),
		"no call at all":          bad(llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.CallPart}}}),
		"a result for nothing":    bad(result("", "x")),
		"a tool message of text":  bad(say(llm.ToolRole, "x")),
		"an empty tool message":   bad(say(llm.ToolRole)),
		"a result in an answer":   bad(llm.Message{Role: llm.Assistant, Parts: result("c1.1", "x").Parts}),
		"a schema that's no JSON": {Tools: []llm.Tool{{Name: "a", Schema: json.RawMessage(`{"a":`)}}},
	} {
		for _, d := range []Dialect{Responses, Chat} {
			t.Run("E34 "+string(d)+" "+name, func(t *testing.T) {
				m := dial(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }), Config{Dialect: d})
				_, err := m.Stream(t.Context(), req, nil)
				if e := failure(t, err); e.Class != llm.Fatal || e.Code != "invalid_request" {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
}
