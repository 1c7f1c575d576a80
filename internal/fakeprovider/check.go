package fakeprovider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// violation is a rule that a request breaks.
type violation struct {
	rule    string
	code    string
	param   string // the field
	message string
}

func broken(rule, param, format string, args ...any) *violation {
	return &violation{rule: rule, code: "strict_" + rule, param: param, message: fmt.Sprintf(format, args...)}
}

// writeError answers in the shape of OpenAI's errors.
func writeError(w http.ResponseWriter, status int, v *violation) {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "requests"
	case status >= 500:
		kind = "server_error"
	}
	e := map[string]any{"message": v.message, "type": kind, "param": nil, "code": nil}
	if v.param != "" {
		e["param"] = v.param
	}
	if v.code != "" {
		e["code"] = v.code
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may have gone; there is nobody to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// conversation is a request without its dialect.
type conversation struct {
	model  string
	system []byte   // as sent; in Chat it is the first item
	tools  []byte   // as sent
	items  [][]byte // as sent
	first  int      // how many items name the session
	turns  int      // assistant turns
	newest string   // the newest user, tool or step-prompt text

	kinds map[string]int // the turns by their kind: "turn", or "step:NODE"
	node  string         // the workflow step that is carried out; "": none
	over  bool           // its answer had no calls: what comes now is no longer its own
}

// turn notes an assistant turn, which has called nothing yet.
func (c *conversation) turn() {
	if c.kinds == nil {
		c.kinds = map[string]int{}
	}
	c.turns++
	c.kinds[c.kind()]++
	c.over = true
}

// called notes that the newest turn has calls, so it isn't its run's last.
func (c *conversation) called() { c.over = false }

// kind is what a turn is that comes now.
func (c *conversation) kind() string {
	if c.node == "" {
		return "turn"
	}
	return llm.StepKind(c.node)
}

// told notes what somebody else than the assistant says. The prompt of a
// workflow's step begins its run; anything else that comes behind the step's
// last answer ends it.
func (c *conversation) told(text string, newest bool) {
	tag, _, _ := strings.Cut(text, "\n")
	if node, ok := stepOf(tag); ok {
		c.node, c.over, newest = node, false, true
	} else if c.over {
		c.node = ""
	}
	if newest {
		c.newest = text
	}
}

// stepOf reads the node from the first line of a step's prompt.
func stepOf(line string) (node string, ok bool) {
	rest, ok := strings.CutPrefix(line, `<workflow_step mark="`)
	_, rest, _ = strings.Cut(rest, `"`)
	if !ok {
		return "", false
	}
	if after, has := strings.CutPrefix(rest, ` workflow="`); has {
		_, rest, _ = strings.Cut(after, `"`)
	}
	if rest, ok = strings.CutPrefix(rest, ` step="`); !ok {
		return "", false
	}
	node, _, ok = strings.Cut(rest, `"`)
	return html.UnescapeString(node), ok && node != ""
}

// toolless reports whether no tool is declared.
func (c *conversation) toolless() bool {
	return len(c.tools) == 0 || string(c.tools) == "[]" || string(c.tools) == "null"
}

// session returns the digest of what names the conversation.
func (c *conversation) session() string {
	h := sha256.New()
	for _, item := range c.items[:min(c.first, len(c.items))] {
		h.Write(item)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// extends says what of an earlier request isn't there any more, "" if it all
// is.
func (c *conversation) extends(last *conversation) (what string, item int) {
	switch {
	case !bytes.Equal(c.system, last.system):
		return "system", 0
	case !bytes.Equal(c.tools, last.tools):
		return "tools", 0
	}
	for i := range last.items {
		if i >= len(c.items) || !bytes.Equal(c.items[i], last.items[i]) {
			return "messages", i
		}
	}
	return "", 0
}

// decode reads a JSON value into a struct that names all known fields.
func decode(b []byte, v any, param string) *violation {
	if !jsontext.Value(b).IsValid() {
		err := jsonv2.Unmarshal(b, new(any))
		return broken("json", param, "not strict JSON: %v", err)
	}
	if err := jsonv2.Unmarshal(b, v, jsonv2.RejectUnknownMembers(true)); err != nil {
		return broken("field", param, "%v", err)
	}
	return nil
}

// filled refuses empty required fields, given as name and value in turn.
func filled(param string, pairs ...string) *violation {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return broken("field", param+"."+pairs[i], "%s.%s is missing or empty", param, pairs[i])
		}
	}
	return nil
}

func checkName(param, name string) *violation {
	ok := len(name) >= 1 && len(name) <= 64
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return broken("name", param, "%s is %q; want letters, digits, '_' and '-', at most 64", param, name)
	}
	return nil
}

// checkArguments demands a text that is a JSON object for any parser.
func checkArguments(param, text string) *violation {
	v := jsontext.Value(text)
	if v.Kind() != '{' || !v.IsValid() {
		return broken("arguments", param, "%s is no strict JSON object: %.200q", param, text)
	}
	return nil
}

// checkTool checks the declaration of a function; seen are the names so far.
func checkTool(param, name string, parameters jsontext.Value, seen map[string]bool) *violation {
	if v := checkName(param+".name", name); v != nil {
		return v
	}
	if seen[name] {
		return broken("duplicate", param+".name", "the tool %q is declared twice", name)
	}
	seen[name] = true
	var schema struct {
		Type string `json:"type"`
	}
	if err := jsonv2.Unmarshal(parameters, &schema); err != nil || schema.Type != "object" {
		return broken("field", param+".parameters", "%s.parameters must be a JSON Schema with type object", param)
	}
	return nil
}

// pairs follows the calls and results of a conversation.
type pairs struct {
	open      []string // calls whose results must come next, in this order
	answering bool     // the first of these results has come
	seen      map[string]bool
}

// call takes a call.
func (p *pairs) call(param, id string) *violation {
	if v := checkName(param, id); v != nil {
		return v
	}
	if p.seen[id] {
		return broken("duplicate", param, "the call id %q is used twice", id)
	}
	p.seen[id] = true
	p.open = append(p.open, id)
	return nil
}

// result takes a result.
func (p *pairs) result(param, id string) *violation {
	switch {
	case len(p.open) == 0 && p.seen[id]:
		return broken("pairing", param, "the call %q has a result already, or its result isn't directly behind it", id)
	case len(p.open) == 0:
		return broken("pairing", param, "No tool call found for function call output with call_id %s.", id)
	case p.open[0] != id:
		return broken("pairing", param, "the result of %q stands where that of %q must stand", id, p.open[0])
	}
	p.open = p.open[1:]
	p.answering = len(p.open) > 0
	return nil
}

// rest is called where no call may be open.
func (p *pairs) rest(param string) *violation {
	if len(p.open) > 0 {
		return p.unanswered(param)
	}
	return nil
}

func (p *pairs) unanswered(param string) *violation {
	return broken("pairing", param, "No tool output found for function call %s.", p.open[0])
}
