package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// refusal is what a provider says about an error.
type refusal struct{ code, kind, message string }

// readRefusal reads the error shapes that servers use: {"error": {…}},
// {"error": "text"}, {"code", "message"}, {"detail": …}, one of them in a
// list, or plain text.
func readRefusal(body []byte) refusal {
	var v any
	if err := readJSON(body, &v); err != nil {
		return refusal{message: excerpt(body, 500)}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	if text, ok := v.(string); ok {
		return refusal{message: text}
	}
	outer, _ := v.(map[string]any)
	r := refusalOf(outer)
	switch e := outer["error"].(type) {
	case string:
		r.message = e
	case map[string]any:
		inner := refusalOf(e)
		return refusal{cmp.Or(inner.code, r.code), inner.kind, cmp.Or(inner.message, r.message)}
	}
	return r
}

func refusalOf(m map[string]any) refusal {
	r := refusal{
		code:    cmp.Or(word(m["code"]), word(m["status"])),
		kind:    word(m["type"]),
		message: cmp.Or(word(m["message"]), word(m["detail"])),
	}
	if list, ok := m["detail"].([]any); ok && len(list) > 0 {
		first, _ := list[0].(map[string]any)
		r.message = cmp.Or(r.message, word(first["msg"]))
	}
	if r.kind == "error" { // the type of the event, not of the error
		r.kind = ""
	}
	return r
}

// word returns a string or number as text, anything else as "".
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// status returns the code as an HTTP status, if it is one.
func (r refusal) status() int {
	n, err := strconv.Atoi(r.code)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

// classOf decides what an error means. status is 0 for errors inside a stream
// or in the body of a response that pretended success.
func classOf(status int, r refusal) llm.Class {
	if c := codeClass(r.code); c != "" {
		return c
	}
	if c := kindClass(r.kind); c != "" {
		return c
	}
	if status == 0 {
		status = r.status()
	}
	c := statusClass(status, r.kind)
	if (status == 0 || status == 400 || status == 422 || status == 500) && saysOverflow(r.message) {
		return llm.Overflow
	}
	return c
}

// codeClass knows the codes whose meaning doesn't depend on the status.
func codeClass(code string) llm.Class {
	switch code {
	case "context_length_exceeded", "context_window_exceeded", "exceed_context_size_error",
		"request_too_large", "string_above_max_length", "model_max_prompt_tokens_exceeded":
		return llm.Overflow
	case "rate_limit_exceeded", "rate_limit_error", "server_error", "internal_error", "internal_server_error",
		"overloaded_error", "overloaded", "server_overloaded", "server_is_overloaded", "slow_down",
		"service_unavailable", "engine_overloaded", "timeout", "vector_store_timeout",
		"RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED":
		return llm.Retry
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "usage_limit_reached",
		"account_deactivated", "invalid_api_key", "model_not_found", "invalid_prompt",
		"unsupported_parameter", "unknown_parameter", "unsupported_value":
		return llm.Fatal
	}
	return ""
}

// kindClass knows the error types that are as good as a code.
func kindClass(kind string) llm.Class {
	switch kind {
	case "exceed_context_size_error", "request_too_large":
		return llm.Overflow
	case "rate_limit_error", "overloaded_error", "server_error", "api_error", "internal_server_error":
		return llm.Retry
	case "insufficient_quota":
		return llm.Fatal
	}
	return ""
}

// statusClass is the class of a status; without one the type decides.
func statusClass(status int, kind string) llm.Class {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return llm.Overflow
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout,
		status == http.StatusConflict, status >= 500:
		return llm.Retry
	case status != 0:
		return llm.Fatal
	}
	switch kind {
	case "invalid_request_error", "authentication_error", "permission_error", "not_found_error":
		return llm.Fatal
	}
	return llm.Retry
}

// saysOverflow is the last resort for servers that give no code.
func saysOverflow(message string) bool {
	m := strings.ToLower(message)
	for _, throttle := range []string{"rate limit", "per minute", "per min", "quota"} {
		if strings.Contains(m, throttle) {
			return false
		}
	}
	for _, phrase := range []string{
		"context length", "context window", "context size", "maximum context",
		"prompt is too long", "input is too long", "exceeds the model's maximum",
		"maximum prompt length", "too many input tokens",
	} {
		if strings.Contains(m, phrase) {
			return true
		}
	}
	return false
}

// refusesReasoning reports whether a refusal is about the reasoning options.
func refusesReasoning(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "reasoning") || strings.Contains(m, "encrypted content") || strings.Contains(m, "encrypted_content")
}

// statusError is the failure of a response that says so by its status.
// keyName is where the key comes from.
func statusError(status int, header http.Header, body []byte, keyName string) *llm.Error {
	r := readRefusal(body)
	e := &llm.Error{
		Class: classOf(status, r), Status: status, Code: cmp.Or(r.code, r.kind), Phase: llm.PhaseHeader,
		RetryAfter: retryAfter(header),
		Message:    cmp.Or(excerpt([]byte(r.message), 2000), http.StatusText(status), "no reason given"),
	}
	switch {
	case status >= 300 && status < 400:
		e.Code = "redirect"
		e.Message = "the base URL answers with a redirect" + target(header) + ", which isn't followed; correct the base URL"
	case status == http.StatusUnauthorized:
		e.Message = "the key was refused (check " + keyName + "): " + e.Message
	case status == http.StatusNotFound:
		e.Message = "not found (check the model name and the base URL): " + e.Message
	case e.Class == llm.Overflow:
		e.Message = "the request is too large: " + e.Message
	}
	return e
}

// streamError is the failure that an event, or the JSON body of a response
// with status 200, tells.
func streamError(body []byte) *llm.Error {
	r := readRefusal(body)
	return &llm.Error{
		Class: classOf(0, r), Code: cmp.Or(r.code, r.kind, "stream_error"),
		Message: "the provider broke the answer off: " + cmp.Or(excerpt([]byte(r.message), 2000), "no reason given"),
	}
}

// notStream is the failure of a response with status 200 that isn't a stream.
func notStream(contentType string, body []byte) *llm.Error {
	r := readRefusal(body)
	if strings.Contains(contentType, "json") && saysError(body) {
		e := streamError(body)
		e.Message = "the provider refused with status 200: " + cmp.Or(excerpt([]byte(r.message), 2000), "no reason given")
		return e
	}
	return &llm.Error{
		Class: llm.Fatal, Code: "not_a_stream",
		Message: fmt.Sprintf("the answer is %s and not an event stream (check the base URL): %s",
			cmp.Or(excerpt([]byte(contentType), 80), "of unknown type"), excerpt(body, 200)),
	}
}

// saysError reports whether a JSON body speaks of an error.
func saysError(body []byte) bool {
	var v any
	if err := readJSON(body, &v); err != nil {
		return false
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	m, _ := v.(map[string]any)
	isAnswer := m["choices"] != nil || m["output"] != nil
	return m != nil && (m["error"] != nil || !isAnswer)
}

// excerpt returns the beginning of a text from outside, in one line.
func excerpt(b []byte, limit int) string {
	cut := len(b) > limit*4
	if cut {
		b = b[:limit*4]
	}
	s := strings.Join(strings.Fields(llm.MendText(string(b))), " ")
	if r := []rune(s); len(r) > limit {
		s, cut = string(r[:limit]), true
	}
	if cut {
		s += "…"
	}
	return s
}
