package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/llm"
)

func TestE10_Classes(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		code   string
		kind   string
		text   string
		want   llm.Class
	}{
		{"408", 408, "", "", "", llm.Retry},
		{"409", 409, "", "", "", llm.Retry},
		{"429", 429, "", "", "", llm.Retry},
		{"500", 500, "", "", "", llm.Retry},
		{"599", 599, "", "", "", llm.Retry},
		{"400", 400, "", "", "", llm.Fatal},
		{"402", 402, "", "", "", llm.Fatal},
		{"404", 404, "", "", "", llm.Fatal},
		{"413", 413, "", "", "", llm.Overflow},
		{"a code wins over the status", 400, "context_length_exceeded", "invalid_request_error", "", llm.Overflow},
		{"no money isn't a rate limit", 429, "insufficient_quota", "insufficient_quota", "", llm.Fatal},
		{"a rate limit under another status", 403, "rate_limit_exceeded", "", "", llm.Retry},
		{"a type where no code is", 400, "", "exceed_context_size_error", "", llm.Overflow},
		{"text, last of all", 400, "", "invalid_request_error", "maximum context length is 8192 tokens", llm.Overflow},
		{"text of a throttle", 400, "", "", "tokens per minute: context window", llm.Fatal},
		{"text never decides about 429", 429, "", "", "maximum context length", llm.Retry},
		{"text never decides about a key", 401, "", "", "maximum context length", llm.Fatal},
		{"text never beats a code", 400, "unsupported_value", "", "maximum context length", llm.Fatal},
		{"a deadline isn't a context", 500, "", "", "context deadline exceeded", llm.Retry},
		{"in a stream, unknown", 0, "odd", "", "", llm.Retry},
		{"in a stream, a number", 0, "503", "", "", llm.Retry},
		{"in a stream, a number that's final", 0, "401", "", "", llm.Fatal},
		{"in a stream, a bad request", 0, "", "invalid_request_error", "", llm.Fatal},
		{"in a stream, text", 0, "", "invalid_request_error", "the context window is full", llm.Overflow},
	} {
		t.Run("E10 "+c.name, func(t *testing.T) {
			if got := classOf(c.status, refusal{c.code, c.kind, c.text}); got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
		})
	}
}

// TestE10_StatusClassesFitScripts: scripted errors and real ones mean the same.
func TestE10_StatusClassesFitScripts(t *testing.T) {
	for status := 400; status < 600; status++ {
		for _, code := range []string{"", "context_length_exceeded", "odd"} {
			step := llm.Step{Error: &llm.StepError{Status: status, Code: code}}
			_, err := step.Response()
			if got, want := classOf(status, refusal{code: code}), failure(t, err).Class; got != want {
				t.Errorf("%d %q: %s; a script says %s", status, code, got, want)
			}
		}
	}
}

func TestE10_RefusalShapes(t *testing.T) {
	for _, c := range []struct {
		body string
		want refusal
	}{
		{`{"error":{"message":"m","type":"t","code":"c","param":null}}`, refusal{"c", "t", "m"}},
		{`{"error":"m"}`, refusal{"", "", "m"}},
		{`{"error":{"message":"m","code":400}}`, refusal{"400", "", "m"}},
		{`{"message":"m","type":"t","code":"c"}`, refusal{"c", "t", "m"}},
		{`{"type":"error","error":{"type":"t","message":"m"}}`, refusal{"", "t", "m"}},
		{`{"type":"error","code":"c","message":"m"}`, refusal{"c", "", "m"}},
		{`{"detail":"m"}`, refusal{"", "", "m"}},
		{`{"detail":[{"msg":"m","type":"x"}]}`, refusal{"", "", "m"}},
		{`[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]`, refusal{"429", "", "m"}},
		{`"m"`, refusal{"", "", "m"}},
		{"<html>\n  no\xff </html>", refusal{"", "", "<html> no\uFFFD </html>"}},
		{``, refusal{}},
		{`null`, refusal{}},
		{`[]`, refusal{}},
		{`{"error":null,"detail":[1]}`, refusal{}},
		{`{"error":[1],"message":{"x":1}}`, refusal{}},
	} {
		if got := readRefusal([]byte(c.body)); got != c.want {
			t.Errorf("%s: got %+v; want %+v", c.body, got, c.want)
		}
	}
}

func TestE10_MessagesAreShortAndSayWhatToDo(t *testing.T) {
	for status, want := range map[int]string{
		401: "LAB_KEY", 404: "base URL", 413: "too large", 307: "redirect", 500: "Internal Server Error",
	} {
		if e := statusError(status, http.Header{}, nil, "LAB_KEY"); !strings.Contains(e.Message, want) {
			t.Errorf("%d: %s", status, e.Message)
		}
	}
	e := statusError(500, http.Header{}, []byte(`{"error":"`+strings.Repeat("é", 9000)+`\n"}`), "")
	if n := len([]rune(e.Message)); n > 2100 || strings.Contains(e.Message, "\n") {
		t.Errorf("%d characters", n)
	}
}

// TestE10_ReasoningRefusalNamesTheSetting: a server whose model takes no
// reasoning options; the same words from a chat server are left alone.
func TestE10_ReasoningRefusalNamesTheSetting(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error"}}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		name    string
		config  Config
		advised bool
	}{
		{"E10 responses", Config{Provider: "lab", Dialect: Responses}, true},
		{"E10 responses without reasoning", Config{Provider: "lab", Dialect: Responses, NoReasoning: true}, false},
		{"E10 chat", Config{Provider: "lab", Dialect: Chat}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.BaseURL, c.config.Model = server.URL+"/v1", "m"
			m, err := New(c.config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Stream(t.Context(), &llm.Request{}, nil)
			var e *llm.Error
			if !errors.As(err, &e) || strings.Contains(e.Message, `models: {"lab/m": {reasoning: false}}`) != c.advised {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestC12_ModelsThatNeverReason(t *testing.T) {
	for name, want := range map[string]bool{"gpt-4o": true, "gpt-4.1-mini": true, "gpt-3.5-turbo": true, "chatgpt-4o-latest": true,
		"gpt-5": false, "gpt-5-mini": false, "o1": false, "o3-mini": false, "o4-mini": false, "qwen3": false, "": false} {
		if got := NeverReasons(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
