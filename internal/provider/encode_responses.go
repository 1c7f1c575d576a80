package provider

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

func (e *encoder) respHead(b []byte, req *llm.Request) ([]byte, error) {
	b = append(b, `,"store":false`...)
	if !e.config.NoReasoning {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
		b = appendReasoning(b, req.Settings.Effort, e.config.Summary)
	}
	if req.Settings.CacheKey != "" {
		b = appendField(b, "prompt_cache_key", req.Settings.CacheKey)
	}
	if req.Settings.MaxOutput > 0 {
		b = appendInt(b, "max_output_tokens", req.Settings.MaxOutput)
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		s, err := schema(t)
		if err != nil {
			return nil, err
		}
		b = append(b, startOf(i, `,"tools":[`)...)
		b = append(b, `{"type":"function"`...)
		b = appendField(b, "name", t.Name)
		b = appendField(b, "description", t.Description)
		b = append(b, `,"parameters":`...)
		b = append(b, s...)
		b = append(b, `,"strict":false}`...)
	}
	if len(req.Tools) > 0 {
		b = append(b, ']')
	}
	if req.System != "" {
		b = appendField(b, "instructions", req.System)
	}
	return append(b, `,"input":[`...), nil
}

func appendReasoning(b []byte, effort, summary string) []byte {
	if effort == "" && summary == "" {
		return b
	}
	var fields []byte
	if effort != "" {
		fields = appendField(fields, "effort", effort)
	}
	if summary != "" {
		fields = appendField(fields, "summary", summary)
	}
	b = append(b, `,"reasoning":{`...)
	b = append(b, fields[1:]...) // without the first comma
	return append(b, '}')
}

// startOf returns first before the first element of a list, else a comma.
func startOf(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// respMessage appends the items of a message, separated by commas.
func (e *encoder) respMessage(dst []byte, m *llm.Message, maker string) ([]byte, error) {
	switch m.Role {
	case llm.Developer, llm.User:
		texts, err := textsOf(m)
		if err != nil {
			return nil, err
		}
		return appendRespText(dst, string(m.Role), "input_text", texts), nil
	case llm.ToolRole:
		results, err := resultsOf(m)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			dst = append(dst, startOf(i, "")...)
			dst = append(dst, `{"type":"function_call_output"`...)
			dst = appendField(dst, "call_id", wireID(r.CallID))
			dst = appendField(dst, "output", r.Text)
			dst = append(dst, '}')
		}
		return dst, nil
	case llm.Assistant:
		return appendRespAnswer(dst, m.Parts, maker)
	}
	return nil, fmt.Errorf("unknown role %q", m.Role)
}

func appendRespText(dst []byte, role, kind string, texts []string) []byte {
	dst = append(dst, `{"type":"message"`...)
	dst = appendField(dst, "role", role)
	for i, t := range texts {
		dst = append(dst, startOf(i, `,"content":[`)...)
		dst = append(dst, `{"type":"`...)
		dst = append(dst, kind...)
		dst = append(dst, '"')
		dst = appendField(dst, "text", t)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// appendRespAnswer appends the items of an assistant message: neighbouring
// texts are one item, a call is one, a raw part of this maker is one. An
// answer without any becomes an empty text, so it keeps its place.
func appendRespAnswer(dst []byte, parts []llm.Part, maker string) ([]byte, error) {
	items := 0
	var texts []string
	next := func() {
		if len(texts) > 0 {
			dst = append(dst, startOf(items, "")...)
			dst = appendRespText(dst, "assistant", "output_text", texts)
			items++
			texts = nil
		}
	}
	for i := range parts {
		p := &parts[i]
		raw := rawFor(parts, i, maker)
		switch {
		case raw != "":
			next()
			dst = append(dst, startOf(items, "")...)
			dst = append(dst, raw...)
			items++
		case p.Type == llm.TextPart:
			texts = append(texts, p.Text)
		case p.Type == llm.CallPart:
			if err := checkCall(p.Call); err != nil {
				return nil, err
			}
			next()
			dst = append(dst, startOf(items, "")...)
			dst = appendRespCall(dst, p.Call)
			items++
		case p.Type != llm.ThinkingPart:
			return nil, fmt.Errorf("part %d is %q; want text, thinking or call", i+1, p.Type)
		}
	}
	if items == 0 && len(texts) == 0 {
		texts = []string{""}
	}
	next()
	return dst, nil
}

func appendRespCall(dst []byte, c *llm.Call) []byte {
	dst = append(dst, `{"type":"function_call"`...)
	dst = appendField(dst, "call_id", wireID(c.ID))
	dst = appendField(dst, "name", wireName(c.Name))
	dst = appendField(dst, "arguments", llm.ReplayArguments(c.Arguments))
	return append(dst, '}')
}

// rawFor returns the raw item that stands for part i, or "". A reasoning item
// must have what it led to behind it.
func rawFor(parts []llm.Part, i int, maker string) string {
	p := &parts[i]
	if p.Maker != maker || len(p.Raw) == 0 {
		return ""
	}
	raw := llm.MendJSON(string(p.Raw))
	if v := jsontext.Value(raw); v.Kind() != '{' || !v.IsValid(jsontext.AllowDuplicateNames(true)) {
		return ""
	}
	if !isReasoning(raw) {
		return raw
	}
	for j := i + 1; j < len(parts); j++ {
		q := &parts[j]
		other := q.Type != llm.ThinkingPart || q.Maker == maker && len(q.Raw) > 0 && !isReasoning(string(q.Raw))
		if other {
			return raw
		}
	}
	return ""
}

func isReasoning(raw string) bool {
	var item struct {
		Type wide `json:"type"`
	}
	return readJSON([]byte(raw), &item) == nil && item.Type == "reasoning"
}
