package fakeprovider

import (
	"slices"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// eventFaults are errors inside a stream.
func eventFaults() []Fault {
	inText := func(name string, want Want, chat, resp frame) []Fault {
		want.Partial = "Half an answer"
		return both(func(d Dialect) Fault {
			last := resp
			if d == Chat {
				last = chat
			}
			return Fault{Name: name, Chunks: whole(lf(append(half(d), last))), Want: want}
		})
	}
	failed := func(err string) frame { return respEnd("response.failed", nil, `"error":`+err+`,`) }
	retry := func(code string) Want { return Want{Class: llm.Retry, Code: code} }
	return slices.Concat(
		inText("error_event", retry("server_error"),
			frame{data: `{"error":{"message":"Boom","type":"server_error","code":null}}`},
			frame{"error", `{"type":"error","code":"server_error","message":"Boom","param":null,"sequence_number":9}`}),
		inText("error_event_untyped", retry("server_error"),
			frame{data: `{"error":{"message":"Boom","code":"server_error"}}`},
			frame{data: `{"error":{"message":"Boom","code":"server_error"}}`}),
		inText("error_event_unnamed", retry("server_error"),
			frame{data: `{"object":"error","error":{"message":"Boom","code":"server_error"}}`},
			frame{data: `{"type":"error","code":"server_error","message":"Boom"}`}),
		inText("error_event_nested", retry("rate_limit_exceeded"),
			frame{data: `{"choices":[],"error":{"message":"Slow","code":"rate_limit_exceeded"}}`},
			frame{"error", `{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow"}}`}),
		inText("error_event_by_name", retry("stream_error"),
			frame{"error", `{"message":"Boom"}`}, frame{"error", `{"message":"Boom"}`}),
		inText("error_event_text", retry("stream_error"),
			frame{data: `{"error":"Boom"}`}, frame{"error", `"Boom"`}),
		inText("error_event_number", retry("502"),
			frame{data: `{"id":"x","error":{"code":502,"message":"Upstream"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`},
			frame{"error", `{"type":"error","code":502,"message":"Upstream"}`}),
		inText("error_event_overflow", Want{Class: llm.Overflow, Code: "context_length_exceeded"},
			frame{data: `{"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"}}`},
			failed(`{"code":"context_length_exceeded","message":"Too long"}`)),
		inText("error_event_quota", Want{Class: llm.Fatal, Code: "insufficient_quota"},
			frame{data: `{"error":{"message":"Pay","code":"insufficient_quota"}}`},
			failed(`{"code":"insufficient_quota","message":"Pay"}`)),
		inText("error_event_bad_request", Want{Class: llm.Fatal, Code: "invalid_request_error"},
			frame{data: `{"error":{"message":"No","type":"invalid_request_error"}}`},
			frame{"error", `{"type":"error","error":{"message":"No","type":"invalid_request_error"}}`}),
		inText("broken_off", Want{Class: llm.Retry},
			chatChoice(0, "{}", "error"), failed(`null`)),
	)
}

// refused makes a fault for each dialect from a status, a body and headers.
func refused(name string, status int, body string, want Want, header ...string) []Fault {
	h := map[string]string{"Content-Type": "application/json"}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	return both(func(Dialect) Fault {
		return Fault{Name: name, Status: status, Header: h, Chunks: whole([]byte(body)), Want: want}
	})
}

// statusFaults are refusals by HTTP status.
func statusFaults() []Fault {
	is := func(c llm.Class, code string) Want { return Want{Class: c, Code: code} }
	after := func(d time.Duration, code string) Want { return Want{Class: llm.Retry, Code: code, RetryAfter: d} }
	const limited = `{"error":{"message":"Slow down","type":"requests","code":"rate_limit_exceeded"}}`
	const date, later = "Mon, 02 Nov 2026 10:00:00 GMT", "Mon, 02 Nov 2026 10:00:30 GMT"
	return slices.Concat(
		refused("status_400", 400, `{"error":{"message":"Bad field","type":"invalid_request_error","code":"unknown_parameter"}}`, is(llm.Fatal, "unknown_parameter")),
		refused("status_400_overflow", 400, `{"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, is(llm.Overflow, "context_length_exceeded")),
		refused("status_400_overflow_type", 400, `{"error":{"code":400,"message":"the request exceeds the available context","type":"exceed_context_size_error"}}`, is(llm.Overflow, "400")),
		refused("status_400_overflow_text", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, is(llm.Overflow, "400")),
		refused("status_401", 401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`, is(llm.Fatal, "invalid_api_key")),
		refused("status_403", 403, `{"error":"forbidden"}`, is(llm.Fatal, "")),
		refused("status_404", 404, `{"error":{"message":"No such model","code":"model_not_found"}}`, is(llm.Fatal, "model_not_found")),
		refused("status_408", 408, ``, is(llm.Retry, "")),
		refused("status_409", 409, `{"error":{"message":"Conflict"}}`, is(llm.Retry, "")),
		refused("status_413", 413, `<html>Request Entity Too Large</html>`, is(llm.Overflow, ""), "Content-Type", "text/html"),
		refused("status_422", 422, `{"detail":[{"loc":["body"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`, is(llm.Fatal, "")),
		refused("status_429", 429, limited, after(time.Second, "rate_limit_exceeded"), "Retry-After", "1"),
		refused("status_429_no_header", 429, limited, after(0, "rate_limit_exceeded")),
		refused("status_429_date", 429, limited, after(30*time.Second, ""), "Retry-After", later, "Date", date),
		refused("status_429_date_past", 429, limited, after(0, ""), "Retry-After", date, "Date", later),
		refused("status_429_ms", 429, limited, after(1500*time.Millisecond, ""), "Retry-After-Ms", "1500", "Retry-After", "2"),
		refused("status_429_fraction", 429, limited, after(250*time.Millisecond, ""), "Retry-After", "0.25"),
		refused("status_429_nonsense", 429, limited, after(0, ""), "Retry-After", "soon"),
		refused("status_429_quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, is(llm.Fatal, "insufficient_quota")),
		refused("status_429_tokens", 429, `{"error":{"message":"Request too large: context length per minute","type":"tokens"}}`, is(llm.Retry, "tokens")),
		refused("status_500", 500, `{"error":{"message":"Oops","type":"server_error","code":null}}`, is(llm.Retry, "server_error")),
		refused("status_500_overflow_text", 500, `{"error":"the prompt exceeds the context window"}`, is(llm.Overflow, "")),
		refused("status_502", 502, "<html>\n<h1>Bad Gateway</h1>\n</html>", is(llm.Retry, ""), "Content-Type", "text/html"),
		refused("status_503", 503, `[{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}]`, after(time.Minute, "503"), "Retry-After", "60"),
		refused("status_504", 504, ``, is(llm.Retry, "")),
		refused("status_529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, is(llm.Retry, "overloaded_error")),
		refused("redirect", 307, ``, is(llm.Fatal, "redirect"), "Location", "http://127.0.0.1:1/elsewhere?token=secret"),
		refused("redirect_found", 302, ``, is(llm.Fatal, "redirect"), "Location", "/login"),
	)
}

// bodyFaults are responses with status 200 that aren't streams.
func bodyFaults() []Fault {
	is := func(c llm.Class, code string) Want { return Want{Class: c, Code: code} }
	return slices.Concat(
		refused("json_error_with_200", 200, `{"error":{"message":"Upstream","code":"server_error"}}`, is(llm.Retry, "server_error")),
		refused("json_error_429_with_200", 200, `{"error":{"message":"Slow","code":429}}`, is(llm.Retry, "429")),
		refused("json_error_401_with_200", 200, `{"error":{"message":"No key","code":401}}`, is(llm.Fatal, "401")),
		refused("json_overflow_with_200", 200, `{"error":{"message":"Too long","code":"context_length_exceeded"}}`, is(llm.Overflow, "context_length_exceeded")),
		refused("json_answer", 200, `{"id":"x","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"output":[],"error":null}`, is(llm.Fatal, "not_a_stream")),
		refused("html_with_200", 200, `<html>Please log in</html>`, is(llm.Fatal, "not_a_stream"), "Content-Type", "text/html; charset=utf-8"),
		both(func(d Dialect) Fault {
			return Fault{Name: "wrong_content_type", Header: map[string]string{"Content-Type": "text/plain"},
				Chunks: whole(lf(sampleFrames(d))), Want: is(llm.Fatal, "not_a_stream")}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "no_content_type", Header: map[string]string{"Content-Type": ""},
				Chunks: whole(lf(sampleFrames(d))), Want: sampleWant(d)}
		}),
		both(func(d Dialect) Fault {
			return Fault{Name: "content_type_with_charset", Header: map[string]string{"Content-Type": "Text/Event-Stream; charset=UTF-8"},
				Chunks: whole(lf(sampleFrames(d))), Want: sampleWant(d)}
		}),
	)
}
