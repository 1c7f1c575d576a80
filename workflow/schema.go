package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf infers the JSON Schema of a type. Lists are lists: null isn't one.
func schemaOf[T any](s *spec, field string) JSON {
	inferred, err := jsonschema.For[T](nil)
	if err != nil {
		var v T
		s.problem(field, "no JSON Schema can be made of %T: %v", v, err)
		return nil
	}
	noNullLists(inferred)
	b, err := encode(inferred)
	if err != nil {
		s.problem(field, "no JSON Schema can be written of its type: %v", err)
		return nil
	}
	return b
}

// noNullLists takes null out of the types of lists and maps, which the
// inference adds since Go encodes nil as null.
func noNullLists(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && (s.Types[1] == "array" || s.Types[1] == "object") && s.Properties == nil {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		noNullLists(p)
	}
	for _, d := range s.Defs {
		noNullLists(d)
	}
	noNullLists(s.Items)
	noNullLists(s.AdditionalProperties)
}

// withEnum sets the values that a property can have.
func withEnum(schema JSON, property string, values []string) JSON {
	var s jsonschema.Schema
	if schema == nil || json.Unmarshal(schema, &s) != nil || s.Properties[property] == nil {
		return schema
	}
	for _, v := range values {
		s.Properties[property].Enum = append(s.Properties[property].Enum, v)
	}
	return marshal(&s)
}

// missingField returns the part of a dotted path that a schema rules out, "" if
// it allows all of it.
func missingField(schema JSON, path string) string {
	var s struct {
		Type                 any             `json:"type"`
		Properties           map[string]JSON `json:"properties"`
		AdditionalProperties JSON            `json:"additionalProperties"`
	}
	if path == "" {
		return `""`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type == nil {
		return "" // anything goes
	}
	name, rest, more := strings.Cut(path, ".")
	p, ok := s.Properties[name]
	switch {
	case ok && more:
		return missingField(p, rest)
	case ok, s.Type == "object" && string(s.AdditionalProperties) != "false" && !closed(s.AdditionalProperties):
		return ""
	}
	return name
}

// schemaAt is the schema of a dotted path, nil if it says nothing of it.
func schemaAt(schema JSON, path string) JSON {
	for name := range strings.SplitSeq(path, ".") {
		var s struct {
			Properties map[string]JSON `json:"properties"`
		}
		if json.Unmarshal(schema, &s) != nil {
			return nil
		}
		schema = s.Properties[name]
	}
	return schema
}

// casesOf lists the cases of a switch on a value with a schema, nil if they
// can't be told. all: each needs its own. why says what the value is if it can
// choose none.
func casesOf(schema JSON) (values []string, all bool, why string) {
	var s struct {
		Type any    `json:"type"`
		Enum []JSON `json:"enum"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, false, ""
	}
	for _, v := range s.Enum {
		text, err := Case(JSON(`{"v":`+string(v)+`}`), "v")
		if err != nil {
			return nil, false, "" // null, which no case takes
		}
		values = append(values, text)
	}
	switch {
	case len(values) > 0:
		return values, true, ""
	case s.Type == "boolean":
		return []string{"true", "false"}, false, ""
	case s.Type == "object", s.Type == "array":
		return nil, false, fmt.Sprintf("an %s", s.Type)
	}
	return nil, false, ""
}

// closed reports whether additionalProperties is the schema that nothing fits.
func closed(s JSON) bool {
	return bytes.Equal(bytes.ReplaceAll(s, []byte(" "), nil), []byte(`{"not":{}}`))
}

// Violations says in which ways a JSON value breaks a schema, each with the
// place in front ("/files/0: got number, want string"); none if it fits. An
// empty schema allows anything.
func Violations(schema, value JSON) ([]string, error) {
	v, err := validator.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []string{"it is no JSON: " + err.Error()}, nil
	}
	if len(schema) == 0 {
		return nil, nil
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := validator.NewCompiler()
	c.DefaultDraft(validator.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(schemaName)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if err := compiled.Validate(v); err != nil {
		broken, ok := err.(*validator.ValidationError)
		if !ok {
			return nil, err
		}
		return leaves(broken), nil
	}
	return nil, nil
}

// schemaName is absolute, so that no folder's name matters.
const schemaName = "urn:gamma:schema"

// noLoader keeps schemas from naming files or hosts.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// leaves are the violations that have no cause of their own.
func leaves(e *validator.ValidationError) []string {
	var out []string
	for _, unit := range e.BasicOutput().Errors {
		if unit.Error == nil || len(unit.Errors) > 0 {
			continue
		}
		line := unit.Error.String()
		if unit.InstanceLocation != "" {
			line = unit.InstanceLocation + ": " + line
		}
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return []string{e.Error()}
	}
	return out
}

// Case returns the text by which a value at a dotted path chooses a case. An
// error says why it can't.
func Case(value JSON, path string) (string, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("the output is no JSON: %w", err)
	}
	for _, name := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return "", fmt.Errorf("%s is in no object", name)
		}
		if v, ok = m[name]; !ok {
			return "", fmt.Errorf("there is no field %s", name)
		}
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	}
	return "", fmt.Errorf("the value is no string, number or boolean")
}
