package cli

import (
	"encoding/json"
	"slices"

	"github.com/gamma-harness/gamma/workflow"
)

// valueForm is how a person gives the answer of a checkpoint.
type valueForm struct {
	words   bool   // plain words are enough
	field   string // the only property of the object that they become; "": they are the answer
	example string // an answer as JSON
}

// schemaForm is as much of a schema as it takes to make an example.
type schemaForm struct {
	Description string                `json:"description"`
	Type        any                   `json:"type"` // a string; a list of them is taken for its first
	Properties  map[string]schemaForm `json:"properties"`
	Required    []string              `json:"required"`
	Items       *schemaForm           `json:"items"`
	Enum        []json.RawMessage     `json:"enum"`
	Const       json.RawMessage       `json:"const"`
}

// formOf reads the schema of a checkpoint's answer.
func formOf(n *workflow.Node) valueForm {
	raw := n.Expect().Schema
	var s schemaForm
	if len(raw) == 0 {
		return valueForm{words: true, example: `"…"`}
	}
	if json.Unmarshal(raw, &s) != nil { // true, false, or with parts that aren't of this kind
		return valueForm{example: "…"}
	}
	f := valueForm{words: s.text(), example: string(s.example(0))}
	if len(s.Properties) != 1 || s.kind() != "object" {
		return f
	}
	for name, p := range s.Properties {
		if p.text() && !slices.ContainsFunc(s.Required, func(r string) bool { return r != name }) {
			f.words, f.field = true, name
		}
	}
	return f
}

// value makes an answer of what was typed. False: it is no JSON, and has to be.
func (f valueForm) value(text string) (workflow.JSON, bool) {
	var object map[string]json.RawMessage
	switch {
	case !f.words, f.field != "" && json.Unmarshal([]byte(text), &object) == nil && object != nil:
		return workflow.JSON(text), json.Valid([]byte(text))
	case f.field != "":
		b, err := json.Marshal(map[string]string{f.field: text})
		return b, err == nil
	}
	b, err := json.Marshal(text)
	return b, err == nil
}

func (s schemaForm) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			first, _ := t[0].(string)
			return first
		}
	}
	return ""
}

// text reports whether any words are meant.
func (s schemaForm) text() bool { return s.kind() == "string" && len(s.Enum) == 0 && len(s.Const) == 0 }

// deepest is how deep an example goes: it shows the form, and fits a line.
const deepest = 3

func (s schemaForm) example(depth int) json.RawMessage {
	switch {
	case len(s.Const) > 0:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch s.kind() {
	case "integer", "number":
		return json.RawMessage("1")
	case "boolean":
		return json.RawMessage("true")
	case "null":
		return json.RawMessage("null")
	case "array":
		if s.Items == nil || depth >= deepest {
			return json.RawMessage("[]")
		}
		return slices.Concat(json.RawMessage("["), s.Items.example(depth+1), json.RawMessage("]"))
	case "object":
		all := map[string]json.RawMessage{}
		for name, p := range s.Properties {
			if depth < deepest {
				all[name] = p.example(depth + 1)
			}
		}
		b, err := json.Marshal(all)
		if err != nil {
			return json.RawMessage("{}") // a schema's own value that is no JSON: it was checked before it was stored
		}
		return b
	}
	return json.RawMessage(`"…"`)
}
