package fakeprovider

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(t *testing.T, script string, o Options) *Server {
	t.Helper()
	s, err := llm.ParseScript("test.yaml", []byte("version: 1\n"+script))
	if err != nil {
		t.Fatal(err)
	}
	return New(s, o)
}

// send posts a body and returns the status and the answer.
func send(h http.Handler, d Dialect, body string) (int, string) {
	path := "/v1/responses"
	if d == Chat {
		path = "/chat/completions"
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func responsesBody(more string, items ...string) string {
	return `{"model":"m","stream":true,` + more + `"input":[` + strings.Join(items, ",") + `]}`
}

func chatBody(more string, messages ...string) string {
	return `{"model":"m","stream":true,` + more + `"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestE34_StrictResponses(t *testing.T) {
	const (
		user  = `{"role":"user","content":"hi"}`
		call1 = `{"type":"function_call","call_id":"c1_1","name":"read","arguments":"{}"}`
		call2 = `{"type":"function_call","call_id":"c1_2","name":"read","arguments":"{}"}`
		out1  = `{"type":"function_call_output","call_id":"c1_1","output":"x"}`
		out2  = `{"type":"function_call_output","call_id":"c1_2","output":"x"}`
		text  = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
		think = `{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}`
		tool  = `"tools":[{"type":"function","name":"read","description":"","parameters":{"type":"object"},"strict":false}],`
	)
	args := func(a string) string {
		return strings.Replace(call1, `"{}"`, string(encode(a)), 1)
	}
	for _, c := range []struct{ name, body, rule string }{
		{"two calls and their results", responsesBody(tool, user, think, text, call1, call2, out1, out2, user), ""},
		{"a call, then text, then its result", responsesBody("", user, call1, text, out1), ""},
		{"text as input", `{"model":"m","stream":true,"input":"hi"}`, ""},
		{"not JSON", `{"model":`, "json"},
		{"bytes behind the JSON", responsesBody("", user) + "x", "json"},
		{"not UTF-8", responsesBody("", strings.Replace(user, "hi", "h\xff", 1)), "json"},
		{"half a pair", responsesBody("", strings.Replace(user, "hi", `h\ud800`, 1)), "json"},
		{"half a pair in a schema", responsesBody(strings.Replace(tool, `"description":""`, `"description":"\udc00"`, 1), user), "json"},
		{"a name twice", responsesBody(`"model":"m",`, user), "json"},
		{"an unknown field", responsesBody(`"max_tokens":1,`, user), "field"},
		{"an unknown field of an item", responsesBody("", user, strings.Replace(call1, `"name"`, `"index":0,"name"`, 1), out1), "field"},
		{"an unknown field of a tool", responsesBody(strings.Replace(tool, `"strict"`, `"function":{},"strict"`, 1), user), "field"},
		{"an unknown field of a part", responsesBody("", strings.Replace(text, `"text":"x"`, `"text":"x","n":1`, 1), user), "field"},
		{"a wrong type", responsesBody(`"max_output_tokens":"1",`, user), "field"},
		{"no model", strings.Replace(responsesBody("", user), `"m"`, `""`, 1), "field"},
		{"no input", `{"model":"m","stream":true}`, "field"},
		{"empty content", responsesBody("", `{"role":"user","content":[]}`), "field"},
		{"a part without text", responsesBody("", `{"role":"user","content":[{"type":"input_text"}]}`), "field"},
		{"an output part from a user", responsesBody("", `{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "field"},
		{"no output", responsesBody("", user, call1, `{"type":"function_call_output","call_id":"c1_1"}`), "field"},
		{"a schema that's no object", responsesBody(strings.Replace(tool, `{"type":"object"}`, `{"type":"array"}`, 1), user), "field"},
		{"a tool's name", responsesBody(strings.Replace(tool, `"read"`, `"read it"`, 1), user), "name"},
		{"a call's name", responsesBody("", user, strings.Replace(call1, "read", "", 1), out1), "name"},
		{"a call's id", responsesBody("", user, strings.Replace(call1, "c1_1", "c1.1", 1), out1), "name"},
		{"a long id", responsesBody("", user, strings.Replace(call1, "c1_1", strings.Repeat("c", 65), 1), out1), "name"},
		{"malformed arguments", responsesBody("", user, args(`{"a":`), out1), "arguments"},
		{"empty arguments", responsesBody("", user, args(``), out1), "arguments"},
		{"an array as arguments", responsesBody("", user, args(`[]`), out1), "arguments"},
		{"null as arguments", responsesBody("", user, args(`null`), out1), "arguments"},
		{"half a pair in arguments", responsesBody("", user, args(`{"a":["\ud99c x"]}`), out1), "arguments"},
		{"a call without its result", responsesBody("", user, call1), "pairing"},
		{"a call and then a user", responsesBody("", user, call1, user, out1), "pairing"},
		{"a developer between call and result", responsesBody("", user, call1, `{"role":"developer","content":"x"}`, out1), "pairing"},
		{"a result without its call", responsesBody("", user, out1), "pairing"},
		{"a result twice", responsesBody("", user, call1, out1, out1), "pairing"},
		{"results out of order", responsesBody("", user, call1, call2, out2, out1), "pairing"},
		{"one of two results", responsesBody("", user, call1, call2, out1), "pairing"},
		{"text between results", responsesBody("", user, call1, call2, out1, text, out2), "pairing"},
		{"a call between results", responsesBody("", user, call1, call2, out1, strings.Replace(call1, "c1_1", "c1_3", 1), out2), "pairing"},
		{"an id twice", responsesBody("", user, call1, call1, out1, out1), "duplicate"},
		{"an id twice in two turns", responsesBody("", user, call1, out1, call1, out1), "duplicate"},
		{"a tool twice", responsesBody(`"tools":[{"type":"function","name":"a","parameters":{"type":"object"}},{"type":"function","name":"a","parameters":{"type":"object"}}],`, user), "duplicate"},
		{"an unknown role", responsesBody("", `{"role":"owner","content":"hi"}`), "role"},
		{"reasoning at the end", responsesBody("", user, text, think), "reasoning"},
		{"reasoning before a user", responsesBody("", user, think, user), "reasoning"},
		{"reasoning of another model", responsesBody("", user, strings.Replace(think, `"e"`, `"`+seal("m2", "")+`"`, 1), text), "reasoning"},
		{"reasoning whose summary was changed", responsesBody("", user, strings.Replace(think, `"e"`, `"`+seal("m", "x")+`"`, 1), text), "reasoning"},
		{"an item that was never served", responsesBody("", user, `{"type":"x_probe","id":"1"}`, text), "item"},
		{"not a stream", strings.Replace(responsesBody("", user), "true", "false", 1), "stream"},
	} {
		t.Run("E34 "+c.name, func(t *testing.T) { refusedBy(t, Responses, c.body, c.rule, Options{}) })
	}
}

func TestE34_StrictChat(t *testing.T) {
	const (
		system = `{"role":"system","content":"x"}`
		dev    = `{"role":"developer","content":"x"}`
		user   = `{"role":"user","content":"hi"}`
		text   = `{"role":"assistant","content":"x"}`
		calls  = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1_1","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"c1_2","type":"function","function":{"name":"read","arguments":"{}"}}]}`
		out1   = `{"role":"tool","tool_call_id":"c1_1","content":"x"}`
		out2   = `{"role":"tool","tool_call_id":"c1_2","content":"x"}`
		tool   = `"tools":[{"type":"function","function":{"name":"read","description":"","parameters":{"type":"object"}}}],`
	)
	args := func(a string) string {
		return strings.Replace(calls, `"arguments":"{}"`, `"arguments":`+string(encode(a)), 1)
	}
	with := func(old, other string) string { return strings.Replace(calls, old, other, 1) }
	for _, c := range []struct{ name, body, rule string }{
		{"two calls and their results", chatBody(tool, system, system, user, calls, out1, out2, text, user), ""},
		{"the role developer", chatBody("", dev, user, dev), ""},
		{"not JSON", chatBody("", user)[1:], "json"},
		{"not UTF-8", chatBody("", strings.Replace(user, "hi", "\xed\xa0\x80", 1)), "json"},
		{"half a pair", chatBody("", strings.Replace(user, "hi", `\udc00`, 1)), "json"},
		{"an unknown field", chatBody(`"prompt_cache":1,`, user), "field"},
		{"an unknown field of a message", chatBody("", strings.Replace(text, `"content"`, `"reasoning_content":"x","content"`, 1), user), "field"},
		{"an unknown field of a call", chatBody("", user, with(`"type"`, `"index":0,"type"`), out1, out2), "field"},
		{"no messages", chatBody(""), "field"},
		{"no content and no calls", chatBody("", user, `{"role":"assistant","content":null}`), "field"},
		{"a user without content", chatBody("", `{"role":"user","content":null}`), "field"},
		{"calls in a user message", chatBody("", strings.Replace(calls, "assistant", "user", 1)), "field"},
		{"a call without its type", chatBody("", user, with(`"type":"function",`, ``), out1, out2), "field"},
		{"a call's id", chatBody("", user, with("c1_1", ""), out1, out2), "name"},
		{"a call's name", chatBody("", user, with(`"read"`, `"rm -rf"`), out1, out2), "name"},
		{"malformed arguments", chatBody("", user, args(`{"a"`), out1, out2), "arguments"},
		{"half a pair in arguments", chatBody("", user, args(`{"\udead":1}`), out1, out2), "arguments"},
		{"calls without results", chatBody("", user, calls), "pairing"},
		{"calls and then a user", chatBody("", user, calls, user), "pairing"},
		{"calls and then text", chatBody("", user, calls, text, out1, out2), "pairing"},
		{"system between call and result", chatBody("", user, calls, out1, dev, out2), "pairing"},
		{"results out of order", chatBody("", user, calls, out2, out1), "pairing"},
		{"a result without its call", chatBody("", user, out1), "pairing"},
		{"a result twice", chatBody("", user, calls, out1, out1), "pairing"},
		{"one of two results", chatBody("", user, calls, out1), "pairing"},
		{"an id twice", chatBody("", user, with("c1_2", "c1_1"), out1, out1), "duplicate"},
		{"an id twice in two turns", chatBody("", user, calls, out1, out2, calls, out1, out2), "duplicate"},
		{"a tool twice", chatBody(strings.Replace(tool, "]", `,{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`, 1), user), "duplicate"},
		{"an unknown role", chatBody("", `{"role":"function","content":"x"}`), "role"},
		{"system behind a user", chatBody("", user, system), "role"},
		{"not a stream", strings.Replace(chatBody("", user), "true", "false", 1), "stream"},
	} {
		t.Run("E34 "+c.name, func(t *testing.T) { refusedBy(t, Chat, c.body, c.rule, Options{}) })
	}
	t.Run("E34 a server that doesn't know developer", func(t *testing.T) {
		refusedBy(t, Chat, chatBody("", dev, user), "role", Options{NoDeveloper: true})
	})
}

// refusedBy sends a body that must be refused by the rule, or accepted if that
// is "".
func refusedBy(t *testing.T, d Dialect, body, rule string, o Options) {
	t.Helper()
	s := newServer(t, "default: {text: ok}\n", o)
	status, answer := send(s, d, body)
	if rule == "" {
		if status != 200 || len(s.Refusals()) != 0 || len(s.Requests()) != 1 {
			t.Errorf("refused: %d %s", status, answer)
		}
		return
	}
	r := s.Refusals()
	if status != 400 || len(r) != 1 || r[0].Rule != rule || r[0].Request != 1 {
		t.Fatalf("status %d, refusals %+v; want rule %s (%s)", status, r, rule, answer)
	}
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.Unmarshal([]byte(answer), &e); err != nil || e.Error.Message == "" || e.Error.Type != "invalid_request_error" || e.Error.Code != "strict_"+rule {
		t.Errorf("answer %s, %v", answer, err)
	}
	if q := s.Requests(); len(q) != 1 || string(q[0].Body) != body || q[0].Position != -1 {
		t.Errorf("recorded %+v", q)
	}
}

func TestE34_Keys(t *testing.T) {
	s := newServer(t, "default: {text: ok}\n", Options{Key: "sekret"})
	for key, want := range map[string]int{"": 401, "Bearer ": 401, "Bearer other": 401, "Bearer sekret": 200} {
		r := httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(responsesBody("", `{"role":"user","content":"hi"}`)))
		r.Header.Set("Authorization", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want || strings.Contains(w.Body.String(), "sekret") {
			t.Errorf("%q: status %d, %s", key, w.Code, w.Body)
		}
	}
	if len(s.Refusals()) != 3 || len(s.Requests()) != 4 {
		t.Errorf("%d refusals, %d requests", len(s.Refusals()), len(s.Requests()))
	}
}

func TestC6_Models(t *testing.T) {
	s := newServer(t, "default: {text: ok}\n", Options{Models: []string{"a", "b"}})
	for _, path := range []string{"/v1/models", "/models"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		var list struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Data) != 2 || list.Data[1].ID != "b" {
			t.Errorf("%s: %s, %v", path, w.Body, err)
		}
	}
}

func TestE34_Breaks(t *testing.T) {
	item := func(role, text string) string { return `{"role":"` + role + `","content":"` + text + `"}` }
	const toolA, toolB = `"tools":[{"type":"function","name":"a","parameters":{"type":"object"}}],`, `"tools":[{"type":"function","name":"b","parameters":{"type":"object"}}],`
	one := []string{item("developer", "facts"), item("user", "hi")}
	two := append(append([]string{}, one...), item("assistant", "ok"), item("user", "more"))
	other := append(append([]string{}, two...), item("user", "x"))
	other[3] = item("user", "edited")
	for _, c := range []struct {
		name          string
		first, second string
		want          string
		at            int
	}{
		{"a longer one", responsesBody(toolA, one...), responsesBody(toolA, two...), "", 0},
		{"the same again", responsesBody(toolA, two...), responsesBody(toolA, two...), "", 0},
		{"a shorter one", responsesBody(toolA, two...), responsesBody(toolA, one...), "messages", 2},
		{"an edited message", responsesBody(toolA, two...), responsesBody(toolA, other...), "messages", 3},
		{"white space in a message", responsesBody("", two...), responsesBody("", one[0], " "+strings.Replace(one[1], ":", ": ", 1), two[2], two[3]), "messages", 1},
		{"other tools", responsesBody(toolA, one...), responsesBody(toolB, two...), "tools", 0},
		{"no tools", responsesBody(toolA, one...), responsesBody("", two...), "tools", 0},
		{"another system prompt", responsesBody(`"instructions":"a",`, one...), responsesBody(`"instructions":"b",`, two...), "system", 0},
		{"another session", responsesBody(toolA, one...), responsesBody(toolB, item("developer", "other facts")), "", 0},
	} {
		t.Run("E34 "+c.name, func(t *testing.T) {
			s := newServer(t, "default: {text: ok}\n", Options{})
			for _, body := range []string{c.first, c.second} {
				if status, answer := send(s, Responses, body); status != 200 {
					t.Fatal(answer)
				}
			}
			b := s.Breaks()
			if c.want == "" && len(b) > 0 || c.want != "" && (len(b) != 1 || b[0].What != c.want || b[0].Item != c.at || b[0].Request != 2 || b[0].Previous != 1) {
				t.Errorf("breaks %+v; want %q at %d", b, c.want, c.at)
			}
		})
	}
	t.Run("E34 chat sessions share their system prompt", func(t *testing.T) {
		s := newServer(t, "default: {text: ok}\n", Options{})
		send(s, Chat, chatBody("", item("system", "root"), item("system", "facts 1"), item("user", "hi")))
		send(s, Chat, chatBody("", item("system", "root"), item("system", "facts 2"), item("user", "hi")))
		send(s, Chat, chatBody("", item("system", "root"), item("system", "facts 1"), item("user", "changed")))
		if b := s.Breaks(); len(b) != 1 || b[0].Request != 3 || b[0].Previous != 1 || b[0].Item != 2 {
			t.Errorf("breaks %+v", b)
		}
	})
}

func TestE37_OnlyServedItemsComeBack(t *testing.T) {
	f := FaultNamed(Responses, "unknown_item")
	s := newServer(t, "default: {text: ok}\n", Options{Fault: func(r *Request) *Fault {
		if r.Number == 1 {
			return f
		}
		return nil
	}})
	user, text := `{"role":"user","content":"hi"}`, `{"role":"assistant","content":"one two"}`
	if status, _ := send(s, Responses, responsesBody("", user)); status != 200 {
		t.Fatal(status)
	}
	if status, answer := send(s, Responses, responsesBody("", user, string(f.Items[0]), text, user)); status != 200 {
		t.Errorf("unchanged: %s", answer)
	}
	changed := bytes.Replace(f.Items[0], []byte("1.50"), []byte("1.5"), 1)
	if status, _ := send(s, Responses, responsesBody("", user, string(changed), text, user)); status != 400 {
		t.Error("a changed item was taken")
	}
}

func TestE34_RequestsAreRecordedInOrder(t *testing.T) {
	s := newServer(t, "default: {text: ok}\n", Options{})
	srv := httptest.NewServer(s)
	defer srv.Close()
	start := time.Now()
	for _, body := range []string{responsesBody("", `{"role":"user","content":"hi"}`), `{`} {
		r, err := http.NewRequest(http.MethodPost, srv.URL+"/v1/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Probe", "yes")
		res, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	q := s.Requests()
	if len(q) != 2 || q[0].Number != 1 || q[1].Number != 2 || q[0].Header.Get("X-Probe") != "yes" || q[0].Model != "m" ||
		q[0].Dialect != Responses || q[0].At.Before(start) || string(q[1].Body) != "{" {
		t.Errorf("recorded %+v", q)
	}
}
