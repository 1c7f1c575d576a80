package provider

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

func (e *encoder) chatHead(b []byte, req *llm.Request) ([]byte, error) {
	b = append(b, `,"stream_options":{"include_usage":true}`...)
	if req.Settings.Effort != "" {
		b = appendField(b, "reasoning_effort", req.Settings.Effort)
	}
	if e.official && req.Settings.CacheKey != "" {
		b = appendField(b, "prompt_cache_key", req.Settings.CacheKey)
	}
	if req.Settings.MaxOutput > 0 {
		name := "max_tokens"
		if e.official {
			name = "max_completion_tokens"
		}
		b = appendInt(b, name, req.Settings.MaxOutput)
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		s, err := schema(t)
		if err != nil {
			return nil, err
		}
		b = append(b, startOf(i, `,"tools":[`)...)
		b = append(b, `{"type":"function","function":{"name":`...)
		b = appendQuoted(b, t.Name)
		b = appendField(b, "description", t.Description)
		b = append(b, `,"parameters":`...)
		b = append(b, s...)
		b = append(b, `}}`...)
	}
	if len(req.Tools) > 0 {
		b = append(b, ']')
	}
	b = append(b, `,"messages":[`...)
	if req.System != "" {
		b = appendChatText(b, e.harnessRole(true), []string{req.System})
	}
	return b, nil
}

// harnessRole returns the role for words of the harness.
func (e *encoder) harnessRole(leading bool) string {
	switch {
	case e.config.DeveloperRole:
		return "developer"
	case leading:
		return "system"
	}
	return "user"
}

// chatMessage appends one message, or one per result of a tool message.
func (e *encoder) chatMessage(dst []byte, m *llm.Message, leading bool) ([]byte, error) {
	switch m.Role {
	case llm.Developer, llm.User:
		texts, err := textsOf(m)
		if err != nil {
			return nil, err
		}
		role := "user"
		if m.Role == llm.Developer {
			role = e.harnessRole(leading)
		}
		return appendChatText(dst, role, texts), nil
	case llm.ToolRole:
		results, err := resultsOf(m)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			dst = append(dst, startOf(i, "")...)
			dst = append(dst, `{"role":"tool"`...)
			dst = appendField(dst, "tool_call_id", wireID(r.CallID))
			dst = appendField(dst, "content", r.Text)
			dst = append(dst, '}')
		}
		return dst, nil
	case llm.Assistant:
		return appendChatAnswer(dst, m.Parts)
	}
	return nil, fmt.Errorf("unknown role %q", m.Role)
}

// appendChatText appends a message with one text, or with a list of texts.
func appendChatText(dst []byte, role string, texts []string) []byte {
	dst = append(dst, `{"role":"`...)
	dst = append(dst, role...)
	dst = append(dst, '"')
	if len(texts) == 1 {
		dst = appendField(dst, "content", texts[0])
		return append(dst, '}')
	}
	for i, t := range texts {
		dst = append(dst, startOf(i, `,"content":[`)...)
		dst = append(dst, `{"type":"text"`...)
		dst = appendField(dst, "text", t)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// appendChatAnswer appends an assistant message: its texts as one string, its
// calls as one list.
func appendChatAnswer(dst []byte, parts []llm.Part) ([]byte, error) {
	var texts []string
	calls := 0
	for i := range parts {
		p := &parts[i]
		switch p.Type {
		case llm.TextPart:
			texts = append(texts, p.Text)
		case llm.CallPart:
			if err := checkCall(p.Call); err != nil {
				return nil, err
			}
			calls++
		case llm.ThinkingPart:
		default:
			return nil, fmt.Errorf("part %d is %q; want text, thinking or call", i+1, p.Type)
		}
	}
	dst = append(dst, `{"role":"assistant"`...)
	if len(texts) == 0 && calls > 0 {
		dst = append(dst, `,"content":null`...)
	} else {
		dst = appendField(dst, "content", strings.Join(texts, "\n\n"))
	}
	if calls > 0 {
		dst = appendChatCalls(dst, parts)
	}
	return append(dst, '}'), nil
}

func appendChatCalls(dst []byte, parts []llm.Part) []byte {
	n := 0
	for i := range parts {
		c := parts[i].Call
		if parts[i].Type != llm.CallPart {
			continue
		}
		dst = append(dst, startOf(n, `,"tool_calls":[`)...)
		dst = append(dst, `{"id":`...)
		dst = appendQuoted(dst, wireID(c.ID))
		dst = append(dst, `,"type":"function","function":{"name":`...)
		dst = appendQuoted(dst, wireName(c.Name))
		dst = appendField(dst, "arguments", llm.ReplayArguments(c.Arguments))
		dst = append(dst, `}}`...)
		n++
	}
	return append(dst, ']')
}
