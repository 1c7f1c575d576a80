package fakeprovider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// sealPrefix begins the encrypted content of our reasoning items.
const sealPrefix = "sealed:"

// seal returns the encrypted content for a summary: it can be checked later,
// by any server, and fits one model only.
func seal(model, summary string) string {
	sum := sha256.Sum256([]byte(model + "\x00" + summary))
	return sealPrefix + hex.EncodeToString(sum[:])
}

// object is a JSON object; its names are written in order, so equal requests
// get equal bytes.
type object = map[string]any

func encode(v any) []byte {
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // strings and numbers, which JSON can hold
	}
	return b
}

// wait returns false if the client went first.
func wait(ctx context.Context, ms int) bool {
	if ms <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stream writes the answer of a step.
type stream struct {
	w    http.ResponseWriter
	ctx  context.Context
	req  *Request
	step *llm.Step
	id   string
	seq  int // sequence_number of Responses
	sent int // deltas so far
}

func newStream(w http.ResponseWriter, r *http.Request, req *Request, step *llm.Step) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &stream{w: w, ctx: r.Context(), req: req, step: step, id: fmt.Sprintf("%s_%d", req.Session, req.Position)}
}

// send writes and flushes one event. Errors mean that the client has gone,
// which the context tells too.
func (s *stream) send(name string, data []byte) {
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// pace waits between two deltas.
func (s *stream) pace() bool {
	s.sent++
	if s.sent == 1 {
		return s.ctx.Err() == nil
	}
	return wait(s.ctx, s.step.PerDeltaMs)
}

func (s *stream) usage() llm.Usage { return s.step.UsageFor(len(s.req.Body)) }

// callID is the provider's id of the n-th call.
func (s *stream) callID(n int) string { return fmt.Sprintf("call_%s_%d", s.id, n) }

// chat streams the step as chunks.
func (s *stream) chat() {
	s.chunk(object{"role": "assistant", "content": ""}, nil)
	for _, d := range s.step.Deltas() {
		if !s.pace() {
			return
		}
		switch d.Type {
		case llm.ThinkingDelta:
			s.chunk(object{"reasoning_content": d.Text}, nil)
		case llm.TextDelta:
			s.chunk(object{"content": d.Text}, nil)
		case llm.CallStart:
			s.chunk(object{"tool_calls": []object{{"index": d.Index, "id": s.callID(d.Index), "type": "function",
				"function": object{"name": d.Name, "arguments": ""}}}}, nil)
		case llm.CallArgs:
			s.chunk(object{"tool_calls": []object{{"index": d.Index, "function": object{"arguments": d.Text}}}}, nil)
		}
	}
	if s.step.Finish == llm.FinishCut {
		return
	}
	s.chunk(object{}, s.finish())
	u := s.usage()
	s.send("", encode(object{"id": "chatcmpl_" + s.id, "object": "chat.completion.chunk", "model": s.req.Model,
		"choices": []object{}, "usage": object{"prompt_tokens": u.Input, "completion_tokens": u.Output,
			"total_tokens":              u.Input + u.Output,
			"prompt_tokens_details":     object{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
			"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}}))
	s.send("", []byte("[DONE]"))
}

func (s *stream) chunk(delta object, finish any) {
	s.send("", encode(object{"id": "chatcmpl_" + s.id, "object": "chat.completion.chunk", "model": s.req.Model,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}))
}

// finish is the finish_reason of the step.
func (s *stream) finish() string {
	switch {
	case s.step.Finish != "":
		return s.step.Finish
	case len(s.step.Tools) > 0:
		return "tool_calls"
	}
	return "stop"
}

// responses streams the step as items.
func (s *stream) responses(server *Server) {
	status, reason := "completed", ""
	switch s.step.Finish {
	case "length":
		status, reason = "incomplete", "max_output_tokens"
	case "content_filter":
		status, reason = "incomplete", "content_filter"
	}
	s.event("response.created", object{"response": s.response("in_progress", "", nil)})
	items := s.items()
	for i, item := range items {
		if !s.playItem(i, item) {
			return
		}
		if item["type"] == "reasoning" {
			server.remember(encode(item))
		}
	}
	if s.step.Finish == llm.FinishCut {
		return
	}
	s.event("response."+status, object{"response": s.response(status, reason, items)})
}

func (s *stream) event(name string, fields object) {
	fields["type"], fields["sequence_number"] = name, s.seq
	s.seq++
	s.send(name, encode(fields))
}

func (s *stream) response(status, reason string, items []object) object {
	if items == nil {
		items = []object{}
	}
	r := object{"id": "resp_" + s.id, "object": "response", "model": s.req.Model, "status": status,
		"output": items, "error": nil, "incomplete_details": nil, "usage": nil}
	if status == "in_progress" {
		return r
	}
	if reason != "" {
		r["incomplete_details"] = object{"reason": reason}
	}
	u := s.usage()
	r["usage"] = object{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning}}
	return r
}

// items are the whole items of the step: reasoning, message, calls.
func (s *stream) items() []object {
	var items []object
	if t := s.step.Thinking; t != "" {
		items = append(items, object{"type": "reasoning", "id": "rs_" + s.id,
			"summary":           []object{{"type": "summary_text", "text": t}},
			"encrypted_content": seal(s.req.Model, t)})
	}
	if t := s.step.Text; t != "" {
		items = append(items, object{"type": "message", "id": "msg_" + s.id, "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": t, "annotations": []object{}}}})
	}
	for i, t := range s.step.Tools {
		items = append(items, object{"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", s.id, i), "status": "completed",
			"call_id": s.callID(i), "name": t.Name, "arguments": t.Arguments()})
	}
	return items
}

// playItem streams one item; false if the client went.
func (s *stream) playItem(index int, item object) bool {
	kind, id := item["type"].(string), item["id"].(string)
	begun := object{"type": kind, "id": id, "status": "in_progress"}
	want, delta, call := llm.TextDelta, "response.output_text.delta", -1
	switch kind {
	case "reasoning":
		want, delta = llm.ThinkingDelta, "response.reasoning_summary_text.delta"
		begun = object{"type": kind, "id": id, "summary": []object{}}
	case "message":
		begun["role"], begun["content"] = "assistant", []object{}
	case "function_call":
		want, delta = llm.CallArgs, "response.function_call_arguments.delta"
		begun["call_id"], begun["name"], begun["arguments"] = item["call_id"], item["name"], ""
		call = index - (len(s.items()) - len(s.step.Tools))
	}
	s.event("response.output_item.added", object{"output_index": index, "item": begun})
	for _, d := range s.step.Deltas() {
		if d.Type != want || call >= 0 && d.Index != call {
			continue
		}
		if !s.pace() {
			return false
		}
		s.event(delta, object{"output_index": index, "item_id": id, "content_index": 0, "summary_index": 0, "delta": d.Text})
	}
	s.event("response.output_item.done", object{"output_index": index, "item": item})
	return s.ctx.Err() == nil
}
