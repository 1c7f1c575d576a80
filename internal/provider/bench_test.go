package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/llm"
)

// longHistory has n turns of a call and its result, about 3 KB each.
func longHistory(n int) *llm.Request {
	line := "func f() {\n\tfmt.Println(\"hello, world\")\n\treturn\n}\n// prose that goes on, and on; it isn't code.\n"
	req := &llm.Request{System: strings.Repeat(line, 40), Messages: []llm.Message{say(llm.Developer, "facts"), say(llm.User, "go")}}
	for i := range 12 {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("words ", 60),
			Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)})
	}
	for i := range n {
		id := fmt.Sprintf("c%d.1", i+3)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.TextPart, Text: "Next one."}, call(id, "read", fmt.Sprintf(`{"path":"file%d.go"}`, i))}},
			result(id, strings.Repeat(line, 28)))
	}
	return req
}

func BenchmarkE32_Encode300KB(b *testing.B) {
	req := longHistory(100)
	for _, d := range []Dialect{Responses, Chat} {
		b.Run(string(d)+"/first", func(b *testing.B) {
			n := len(bodyOf(b, newEncoder(d), req))
			b.SetBytes(int64(n))
			for b.Loop() {
				bodyOf(b, newEncoder(d), req)
			}
		})
		b.Run(string(d)+"/next", func(b *testing.B) {
			// What a session does: the same history in a new slice, one turn longer.
			e := newEncoder(d)
			b.SetBytes(int64(len(bodyOf(b, e, req))))
			longer := *req
			longer.Messages = append(append([]llm.Message(nil), req.Messages...), say(llm.User, "more"))
			for b.Loop() {
				bodyOf(b, e, req)
				bodyOf(b, e, &longer)
			}
		})
	}
}

// chatDeltas is a stream of n text deltas.
func chatDeltas(n int) []byte {
	one := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","service_tier":"default","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	return []byte(strings.Repeat(one, n) + end)
}

func respDeltas(n int) []byte {
	one := "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":" word","logprobs":[],"sequence_number":4,"obfuscation":"abcdefgh"}` + "\n\n"
	end := `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
	return []byte(strings.Repeat(one, n) + end)
}

func BenchmarkE35_Decode1000Deltas(b *testing.B) {
	for d, stream := range map[Dialect][]byte{Chat: chatDeltas(1000), Responses: respDeltas(1000)} {
		b.Run(string(d), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				var a answer = newRespAnswer("m", func(llm.Delta) {})
				if d == Chat {
					a = newChatAnswer(func(llm.Delta) {})
				}
				s := newEventReader(bytes.NewReader(stream))
				for a.progress() != whole {
					e, err := s.next()
					if err != nil {
						b.Fatal(err)
					}
					if fail := a.take(e); fail != nil {
						b.Fatal(fail)
					}
				}
			}
		})
	}
}

func BenchmarkE35_SSE(b *testing.B) {
	stream := chatDeltas(1000)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		s := newEventReader(bytes.NewReader(stream))
		for {
			if _, err := s.next(); err != nil {
				break
			}
		}
	}
}

// BenchmarkP2_Turn is a whole request and answer over loopback HTTP, with 300
// KB of history.
func BenchmarkP2_Turn(b *testing.B) {
	stream := chatDeltas(20)
	m := dial(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream)
	}), Config{Dialect: Chat})
	req := longHistory(100)
	for b.Loop() {
		if _, err := m.Stream(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
