package fakeprovider

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// chatRequest names every field that POST /chat/completions takes here.
type chatRequest struct {
	Model      string `json:"model"`
	Stream     bool   `json:"stream"`
	StreamOpts *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Effort         string           `json:"reasoning_effort"`
	CacheKey       string           `json:"prompt_cache_key"`
	MaxTokens      *int             `json:"max_tokens"`
	MaxCompletion  *int             `json:"max_completion_tokens"`
	Tools          jsontext.Value   `json:"tools"`
	ToolChoice     jsontext.Value   `json:"tool_choice"`
	Parallel       *bool            `json:"parallel_tool_calls"`
	Temperature    *float64         `json:"temperature"`
	TopP           *float64         `json:"top_p"`
	N              *int             `json:"n"`
	Stop           jsontext.Value   `json:"stop"`
	Seed           *int             `json:"seed"`
	ResponseFormat jsontext.Value   `json:"response_format"`
	Store          *bool            `json:"store"`
	User           string           `json:"user"`
	Messages       []jsontext.Value `json:"messages"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  jsontext.Value `json:"parameters"`
		Strict      *bool          `json:"strict"`
	} `json:"function"`
}

type chatMessage struct {
	Role       string         `json:"role"`
	Name       string         `json:"name"`
	Content    jsontext.Value `json:"content"`
	Refusal    *string        `json:"refusal"`
	ToolCalls  []chatCall     `json:"tool_calls"`
	ToolCallID string         `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// parseChat reads and checks a request of the Chat dialect.
func parseChat(s *Server, body []byte) (*conversation, *violation) {
	var r chatRequest
	if v := decode(body, &r, ""); v != nil {
		return nil, v
	}
	if v := filled("request", "model", r.Model); v != nil {
		return nil, v
	}
	if !r.Stream {
		return nil, broken("stream", "stream", "this server only streams: stream must be true")
	}
	if len(r.Messages) == 0 {
		return nil, broken("field", "messages", "messages is missing or empty")
	}
	if v := checkChatTools(r.Tools); v != nil {
		return nil, v
	}
	c := &conversation{model: r.Model, tools: r.Tools, first: 1}
	w := &messageWalk{c: c, noDeveloper: s.opts.NoDeveloper, pairs: pairs{seen: map[string]bool{}}}
	for i, m := range r.Messages {
		c.items = append(c.items, m)
		if v := w.message(fmt.Sprintf("messages[%d]", i), m); v != nil {
			return nil, v
		}
	}
	if w.firstHarness {
		c.first = 2
	}
	return c, w.pairs.rest("messages")
}

func checkChatTools(raw jsontext.Value) *violation {
	if len(raw) == 0 {
		return nil
	}
	var tools []chatTool
	if v := decode(raw, &tools, "tools"); v != nil {
		return v
	}
	seen := map[string]bool{}
	for i, t := range tools {
		param := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return broken("field", param+".type", "%s.type is %q; want function", param, t.Type)
		}
		if v := checkTool(param+".function", t.Function.Name, t.Function.Parameters, seen); v != nil {
			return v
		}
	}
	return nil
}

// messageWalk checks the messages of a Chat request in order.
type messageWalk struct {
	c            *conversation
	noDeveloper  bool
	pairs        pairs
	seen         bool // a message that isn't system or developer
	count        int
	firstHarness bool // the first message is system or developer
}

func (w *messageWalk) message(param string, raw []byte) *violation {
	var m chatMessage
	if v := decode(raw, &m, param); v != nil {
		return v
	}
	w.count++
	switch m.Role {
	case "system", "developer":
		return w.harness(param, &m)
	case "user":
		w.seen = true
		text, v := w.text(param, &m)
		w.c.told(text, true)
		return v
	case "assistant":
		w.seen = true
		return w.assistant(param, &m)
	case "tool":
		w.seen = true
		return w.tool(param, &m)
	}
	return broken("role", param+".role", "%s.role is %q", param, m.Role)
}

func (w *messageWalk) harness(param string, m *chatMessage) *violation {
	switch {
	case m.Role == "developer" && w.noDeveloper:
		return broken("role", param+".role", "this server doesn't know the role developer")
	case m.Role == "system" && w.seen:
		return broken("role", param+".role", "system messages must stand at the beginning")
	}
	w.firstHarness = w.firstHarness || w.count == 1
	text, v := w.text(param, m)
	w.c.told(text, false)
	return v
}

// text checks a message that holds text and nothing else.
func (w *messageWalk) text(param string, m *chatMessage) (string, *violation) {
	if len(m.ToolCalls) > 0 || m.ToolCallID != "" || m.Refusal != nil {
		return "", broken("field", param, "a %s message holds only content", m.Role)
	}
	if v := w.pairs.rest(param); v != nil {
		return "", v
	}
	return contentText(param+".content", m.Content, "text")
}

func (w *messageWalk) assistant(param string, m *chatMessage) *violation {
	if v := w.pairs.rest(param); v != nil {
		return v
	}
	w.c.turn()
	empty := len(m.Content) == 0 || m.Content.Kind() == 'n'
	switch {
	case m.ToolCallID != "":
		return broken("field", param, "an assistant message has no tool_call_id")
	case empty && len(m.ToolCalls) == 0 && m.Refusal == nil:
		return broken("field", param+".content", "%s has neither content nor calls", param)
	case !empty:
		if _, v := contentText(param+".content", m.Content, "text", "refusal"); v != nil {
			return v
		}
	}
	if len(m.ToolCalls) > 0 {
		w.c.called()
	}
	for i, c := range m.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", param, i)
		if c.Type != "function" {
			return broken("field", at+".type", "%s.type is %q; want function", at, c.Type)
		}
		if v := checkName(at+".function.name", c.Function.Name); v != nil {
			return v
		}
		if v := checkArguments(at+".function.arguments", c.Function.Arguments); v != nil {
			return v
		}
		if v := w.pairs.call(at+".id", c.ID); v != nil {
			return v
		}
	}
	return nil
}

func (w *messageWalk) tool(param string, m *chatMessage) *violation {
	if len(m.ToolCalls) > 0 || m.Refusal != nil {
		return broken("field", param, "a tool message holds only content and tool_call_id")
	}
	text, v := contentText(param+".content", m.Content, "text")
	if v != nil {
		return v
	}
	w.c.told(text, true)
	return w.pairs.result(param+".tool_call_id", m.ToolCallID)
}
