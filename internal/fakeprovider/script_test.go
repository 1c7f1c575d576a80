package fakeprovider

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// chatTurns is a Chat body with n assistant turns.
func chatTurns(first string, n int) string {
	messages := []string{`{"role":"user","content":"` + first + `"}`}
	for range n {
		messages = append(messages, `{"role":"assistant","content":"x"}`, `{"role":"user","content":"more"}`)
	}
	return chatBody("", messages...)
}

// said returns the text of a Chat stream.
func said(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+data), &c) == nil && len(c.Choices) > 0 {
			b.WriteString(c.Choices[0].Delta.Content)
		}
	}
	return b.String()
}

func TestC12_PositionOfTheFakeProvider(t *testing.T) {
	const script = `
steps:
  - error: {status: 503}
  - text: one
  - {text: tw, finish: cut}
  - error: {status: 429, retryAfter: 2}
  - text: two
  - text: three
`
	s := newServer(t, script, Options{})
	ask := func(turns, wantStatus int, want string) {
		t.Helper()
		status, answer := send(s, Chat, chatTurns("hi", turns))
		if status != wantStatus || wantStatus == 200 && said(answer) != want {
			t.Errorf("%d turns: status %d, %q; want %d, %q", turns, status, said(answer), wantStatus, want)
		}
	}
	ask(0, 503, "")
	ask(0, 200, "one") // a failed try moves on
	ask(0, 200, "one") // an equal body is answered equally
	ask(1, 200, "tw")  // the cut stream
	ask(1, 429, "")
	ask(1, 200, "two")
	ask(2, 200, "three")
	ask(1, 200, "two") // also later
	ask(0, 200, "one")
	if status, answer := send(s, Chat, chatTurns("hi", 3)); status != 400 || !strings.Contains(answer, "used up") {
		t.Errorf("beyond the script: %d %s", status, answer)
	}
	if status, _ := send(s, Chat, chatTurns("another session", 0)); status != 503 {
		t.Errorf("another session starts at %d", status)
	}
	fresh := newServer(t, "steps: [{text: one}, {text: two}]\n", Options{})
	if _, answer := send(fresh, Chat, chatTurns("hi", 1)); said(answer) != "two" {
		t.Errorf("a fresh server goes on with %q", said(answer))
	}
}

func TestC12_TurnsOfResponses(t *testing.T) {
	const (
		user  = `{"role":"user","content":"hi"}`
		text  = `{"role":"assistant","content":"x"}`
		think = `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"e"}`
		call  = `{"type":"function_call","call_id":"N","name":"a","arguments":"{}"}`
		out   = `{"type":"function_call_output","call_id":"N","output":"x"}`
	)
	as := func(n, s string) string { return strings.Replace(s, `"N"`, `"`+n+`"`, 1) }
	for _, c := range []struct {
		items []string
		want  int
	}{
		{[]string{user}, 0},
		{[]string{user, text, user}, 1},
		{[]string{user, think, text, as("a", call), as("b", call), as("a", out), as("b", out)}, 1},
		{[]string{user, as("a", call), as("a", out), as("b", call), as("b", out), text}, 3},
		{[]string{user, text, text, user}, 2},
	} {
		s := newServer(t, "default: {text: ok}\n", Options{})
		if status, answer := send(s, Responses, responsesBody("", c.items...)); status != 200 {
			t.Fatal(answer)
		}
		if got := s.Requests()[0].Turns; got != c.want {
			t.Errorf("%v: %d turns; want %d", c.items, got, c.want)
		}
	}
}

func TestC4_ScriptedStreams(t *testing.T) {
	t.Run("C4 retry after", func(t *testing.T) {
		s := newServer(t, "default: {error: {status: 429, retryAfter: 2, code: slow_down, message: wait}}\n", Options{})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(chatTurns("hi", 0))))
		if w.Code != 429 || w.Header().Get("Retry-After") != "2" || !strings.Contains(w.Body.String(), `"code":"slow_down"`) {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
	t.Run("C4 expect", func(t *testing.T) {
		s := newServer(t, "default: {text: ok, expect: '^tool says'}\n", Options{})
		if status, answer := send(s, Chat, chatTurns("hi", 0)); status != 400 || !strings.Contains(answer, "hi") {
			t.Errorf("%d %s", status, answer)
		}
		items := []string{`{"role":"user","content":"hi"}`, `{"type":"function_call","call_id":"a","name":"a","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"a","output":"tool says x"}`, `{"role":"developer","content":"note"}`}
		if status, answer := send(s, Responses, responsesBody("", items...)); status != 200 {
			t.Errorf("%d %s", status, answer)
		}
	})
	t.Run("C4 cut", func(t *testing.T) {
		s := newServer(t, "default: {text: half, finish: cut}\n", Options{})
		_, chat := send(s, Chat, chatTurns("hi", 0))
		_, resp := send(s, Responses, responsesBody("", `{"role":"user","content":"hi"}`))
		if strings.Contains(chat, `finish_reason":"`) || strings.Contains(chat, "DONE") || strings.Contains(resp, "completed\",\"seq") || strings.Contains(resp, "event: response.completed") {
			t.Errorf("terminal events in\n%s\n%s", chat, resp)
		}
	})
	t.Run("C4 a client that goes is no answer", func(t *testing.T) {
		s := newServer(t, "steps: [{text: one, delayMs: 60000}, {text: two}]\n", Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(chatTurns("hi", 0))).WithContext(ctx))
		if w.Body.Len() != 0 || len(s.Requests()) != 1 || s.Requests()[0].Position != 0 {
			t.Errorf("%s, %+v", w.Body, s.Requests())
		}
	})
	t.Run("C4 a fault counts as an error served", func(t *testing.T) {
		s := newServer(t, "steps: [{text: one}, {text: two}]\n", Options{Fault: func(r *Request) *Fault {
			if r.Number == 1 {
				return FaultNamed(Chat, "status_503")
			}
			return nil
		}})
		if status, _ := send(s, Chat, chatTurns("hi", 0)); status != 503 {
			t.Errorf("status %d", status)
		}
		if _, answer := send(s, Chat, chatTurns("hi", 0)); said(answer) != "two" {
			t.Errorf("got %q", said(answer))
		}
	})
}

func TestE35_EveryFaultSaysWhatItMeans(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		if seen[f.String()] {
			t.Errorf("%s stands twice", &f)
		}
		seen[f.String()] = true
		if f.Rule == "" || f.Dialect != Responses && f.Dialect != Chat || (f.Want.Class == "") == (f.Want.Stop == "") {
			t.Errorf("%s: rule %q, dialect %q, want %+v", &f, f.Rule, f.Dialect, f.Want)
		}
	}
	for _, name := range []string{"lf", "end_in_text", "pair_split_over_deltas", "status_429", "calls_interleaved"} {
		if !seen["chat/"+name] || !seen["responses/"+name] {
			t.Errorf("%s isn't there in both dialects", name)
		}
	}
	if f := FaultNamed(Responses, "status_429"); f == nil || f.String() != "responses/status_429" || FaultNamed(Chat, "no such") != nil {
		t.Errorf("by name: %v", f)
	}
}

// streams reports whether an answer of either dialect has this text.
func streams(answer, text string) bool {
	return said(answer) == text || strings.Contains(answer, `"text":"`+text+`"`)
}

// TestC4_StepsHaveTheirOwnPosition: in both dialects the turns and errors of a
// step count by themselves, and its prompt is what the script expects.
func TestC4_StepsHaveTheirOwnPosition(t *testing.T) {
	const script = `
steps:
  - {text: turn one}
  - {text: turn two}
  - {for: "step:plan", error: {status: 503}}
  - {for: "step:plan", expect: "Plan it", text: plan one}
  - {for: "step:plan", expect: "^read$", text: plan two}
default: {text: none}
`
	prompt := func(role, node string) string {
		return `{"role":"` + role + `","content":"<workflow_step mark=\"m\" workflow=\"w\" step=\"` + node + `\" attempt=\"a\">\nPlan it\n</workflow_step>"}`
	}
	const user, words = `{"role":"user","content":"hi"}`, `{"role":"assistant","content":"x"}`
	for _, d := range []Dialect{Responses, Chat} {
		body, roles, call := responsesBody, []string{"developer"}, []string{`{"type":"function_call","call_id":"a","name":"a","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"a","output":"read"}`}
		if d == Chat {
			body, roles, call = chatBody, []string{"developer", "user"}, []string{`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"a","arguments":"{}"}}]}`,
				`{"role":"tool","tool_call_id":"a","content":"read"}`}
		}
		for _, role := range roles {
			var s *Server
			ask := func(want string, items ...string) {
				t.Helper()
				status, answer := send(s, d, body("", items...))
				if last := s.Requests()[len(s.Requests())-1]; want == "503" && status != 503 || want != "503" && !streams(answer, want) {
					t.Errorf("%s, %s: status %d, %s of %s at %d; want %q", d, role, status, answer, last.For, last.Position, want)
				}
			}
			plan := []string{user, words, prompt(role, "plan")}
			s = newServer(t, script, Options{})
			ask("turn one", user)
			ask("503", plan...)
			ask("plan one", plan...)
			ask("plan two", append(plan, call...)...)
			ask("turn two", append(append(plan, call...), words, user)...)
			ask("none", append(append(plan, call...), words, user, words, user)...)
			s = newServer(t, script, Options{})
			ask("turn two", append(plan, words, user)...) // the step is over
			s = newServer(t, script, Options{})
			ask("turn two", append(plan, words, prompt(role, "build"))...) // without steps of its own: a turn
			s = newServer(t, script, Options{})
			ask("plan one", append(append(plan, call...), `{"role":"user","content":"Plan it soon"}`)...) // words in the step's run
		}
	}
}
