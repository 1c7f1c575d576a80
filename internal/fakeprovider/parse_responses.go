package fakeprovider

import (
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// responsesRequest names every field that POST /responses takes here. Fields
// of type jsontext.Value are known and not looked into.
type responsesRequest struct {
	Model          string         `json:"model"`
	Stream         bool           `json:"stream"`
	Store          *bool          `json:"store"`
	Include        []string       `json:"include"`
	Reasoning      *reasoningOpts `json:"reasoning"`
	CacheKey       string         `json:"prompt_cache_key"`
	CacheRetention jsontext.Value `json:"prompt_cache_retention"`
	CacheOptions   jsontext.Value `json:"prompt_cache_options"`
	MaxOutput      *int           `json:"max_output_tokens"`
	Tools          jsontext.Value `json:"tools"`
	ToolChoice     jsontext.Value `json:"tool_choice"`
	Parallel       *bool          `json:"parallel_tool_calls"`
	Instructions   jsontext.Value `json:"instructions"`
	Text           jsontext.Value `json:"text"`
	Temperature    *float64       `json:"temperature"`
	TopP           *float64       `json:"top_p"`
	Metadata       jsontext.Value `json:"metadata"`
	ServiceTier    string         `json:"service_tier"`
	Truncation     string         `json:"truncation"`
	Safety         string         `json:"safety_identifier"`
	Input          jsontext.Value `json:"input"`
}

type reasoningOpts struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type responsesTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      *bool          `json:"strict"`
}

type messageItem struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Status  string         `json:"status"`
	Role    string         `json:"role"`
	Phase   string         `json:"phase"`
	Content jsontext.Value `json:"content"`
}

type contentPart struct {
	Type        string         `json:"type"`
	Text        *string        `json:"text"`
	Refusal     *string        `json:"refusal"`
	Annotations jsontext.Value `json:"annotations"`
	Logprobs    jsontext.Value `json:"logprobs"`
}

type callItem struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type outputItem struct {
	Type   string  `json:"type"`
	ID     string  `json:"id"`
	Status string  `json:"status"`
	CallID string  `json:"call_id"`
	Output *string `json:"output"`
}

type reasoningItem struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Status    string         `json:"status"`
	Summary   []contentPart  `json:"summary"`
	Content   jsontext.Value `json:"content"`
	Encrypted string         `json:"encrypted_content"`
}

// parseResponses reads and checks a request of the Responses dialect.
func parseResponses(s *Server, body []byte) (*conversation, *violation) {
	var r responsesRequest
	if v := decode(body, &r, ""); v != nil {
		return nil, v
	}
	if v := filled("request", "model", r.Model, "input", string(r.Input)); v != nil {
		return nil, v
	}
	if !r.Stream {
		return nil, broken("stream", "stream", "this server only streams: stream must be true")
	}
	c := &conversation{model: r.Model, system: r.Instructions, tools: r.Tools, first: 1}
	if v := checkResponsesTools(r.Tools); v != nil {
		return nil, v
	}
	if r.Input.Kind() == '"' {
		if err := jsonv2.Unmarshal(r.Input, &c.newest); err != nil {
			return nil, broken("field", "input", "%v", err)
		}
		c.items = [][]byte{r.Input}
		return c, nil
	}
	var items []jsontext.Value
	if v := decode(r.Input, &items, "input"); v != nil {
		return nil, v
	}
	w := &inputWalk{server: s, c: c, pairs: pairs{seen: map[string]bool{}}}
	for i, item := range items {
		c.items = append(c.items, item)
		if v := w.item(fmt.Sprintf("input[%d]", i), item); v != nil {
			return nil, v
		}
	}
	if v := w.end(); v != nil {
		return nil, v
	}
	return c, nil
}

func checkResponsesTools(raw jsontext.Value) *violation {
	if len(raw) == 0 {
		return nil
	}
	var tools []responsesTool
	if v := decode(raw, &tools, "tools"); v != nil {
		return v
	}
	seen := map[string]bool{}
	for i, t := range tools {
		param := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return broken("field", param+".type", "%s.type is %q; want function", param, t.Type)
		}
		if v := checkTool(param, t.Name, t.Parameters, seen); v != nil {
			return v
		}
	}
	return nil
}

// inputWalk checks the items of an input in order.
type inputWalk struct {
	server  *Server
	c       *conversation
	pairs   pairs
	last    string // what the last item was: user, message, call, result, reasoning, other
	dangled string // the reasoning item that has nothing behind it yet
}

func (w *inputWalk) item(param string, raw []byte) *violation {
	var head struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	if err := jsonv2.Unmarshal(raw, &head); err != nil {
		return broken("field", param, "%v", err)
	}
	switch {
	case head.Type == "reasoning":
		return w.reasoning(param, raw)
	case head.Type == "function_call":
		return w.call(param, raw)
	case head.Type == "function_call_output":
		return w.output(param, raw)
	case head.Type == "message" || head.Type == "" && head.Role != "":
		return w.message(param, raw)
	case !w.server.wasServed(raw):
		return broken("item", param, "%s has the unknown type %q and isn't an item that was served", param, head.Type)
	}
	return w.assistant(param, "other")
}

// assistant notes an item of an assistant turn. A message behind a message is
// a turn of its own: one answer has one message item.
func (w *inputWalk) assistant(param, kind string) *violation {
	if w.pairs.answering {
		return w.pairs.unanswered(param)
	}
	own := w.last == "" || w.last == "user" || w.last == "result" || w.last == "message" && kind == "message"
	if own {
		w.c.turn()
	}
	w.last = kind
	w.dangled = ""
	if kind == "call" {
		w.c.called()
	}
	if kind == "reasoning" {
		w.dangled = param
	}
	return nil
}

// other notes an item that isn't the assistant's.
func (w *inputWalk) other(param, kind string) *violation {
	if w.dangled != "" {
		return broken("reasoning", w.dangled, "Item '%s' of type 'reasoning' was provided without its required following item.", w.dangled)
	}
	w.last = kind
	if kind == "user" {
		return w.pairs.rest(param)
	}
	return nil
}

func (w *inputWalk) reasoning(param string, raw []byte) *violation {
	var r reasoningItem
	if !w.server.wasServed(raw) {
		if v := decode(raw, &r, param); v != nil {
			return v
		}
		if v := filled(param, "id", r.ID, "encrypted_content", r.Encrypted); v != nil {
			return v
		}
	} else if err := jsonv2.Unmarshal(raw, &r); err != nil {
		return broken("field", param, "%v", err)
	}
	text := ""
	for _, p := range r.Summary {
		if p.Text != nil {
			text += *p.Text
		}
	}
	if strings.HasPrefix(r.Encrypted, sealPrefix) && r.Encrypted != seal(w.c.model, text) {
		return broken("reasoning", param, "the encrypted content of %s could not be verified for the model %s", param, w.c.model)
	}
	return w.assistant(param, "reasoning")
}

func (w *inputWalk) call(param string, raw []byte) *violation {
	var c callItem
	if v := decode(raw, &c, param); v != nil {
		return v
	}
	if v := checkName(param+".name", c.Name); v != nil {
		return v
	}
	if v := checkArguments(param+".arguments", c.Arguments); v != nil {
		return v
	}
	if v := w.assistant(param, "call"); v != nil {
		return v
	}
	return w.pairs.call(param+".call_id", c.CallID)
}

func (w *inputWalk) output(param string, raw []byte) *violation {
	var o outputItem
	if v := decode(raw, &o, param); v != nil {
		return v
	}
	if o.Output == nil {
		return broken("field", param+".output", "%s.output is missing", param)
	}
	if v := w.other(param, "result"); v != nil {
		return v
	}
	w.c.told(*o.Output, true)
	return w.pairs.result(param+".call_id", o.CallID)
}

func (w *inputWalk) message(param string, raw []byte) *violation {
	var m messageItem
	if w.server.wasServed(raw) {
		return w.assistant(param, "message")
	}
	if v := decode(raw, &m, param); v != nil {
		return v
	}
	kind := "input_text"
	switch m.Role {
	case "user", "developer", "system":
		if v := w.other(param, "user"); v != nil {
			return v
		}
	case "assistant":
		kind = "output_text"
		if v := w.assistant(param, "message"); v != nil {
			return v
		}
	default:
		return broken("role", param+".role", "%s.role is %q", param, m.Role)
	}
	text, v := contentText(param+".content", m.Content, kind, "refusal")
	if m.Role != "assistant" {
		w.c.told(text, m.Role == "user")
	}
	return v
}

// end checks what may not be open at the end.
func (w *inputWalk) end() *violation { return w.other("input", "user") }

// contentText reads a string or a list of parts of the given kinds.
func contentText(param string, raw jsontext.Value, kinds ...string) (string, *violation) {
	if raw.Kind() == '"' {
		var s string
		v := decode(raw, &s, param)
		return s, v
	}
	var parts []contentPart
	if v := decode(raw, &parts, param); v != nil {
		return "", v
	}
	if len(parts) == 0 {
		return "", broken("field", param, "%s is empty", param)
	}
	var texts []string
	for i, p := range parts {
		text := p.Text
		if p.Type == "refusal" {
			text = p.Refusal
		}
		known := false
		for _, k := range kinds {
			known = known || k == p.Type
		}
		if !known || text == nil {
			return "", broken("field", param, "%s[%d] has type %q and must hold text of type %s", param, i, p.Type, strings.Join(kinds, " or "))
		}
		texts = append(texts, *text)
	}
	return strings.Join(texts, "\n"), nil
}
