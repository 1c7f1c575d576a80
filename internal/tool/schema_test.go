package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gamma-harness/gamma/internal/session"
)

func TestC10_Declarations(t *testing.T) {
	decls := Declarations()
	if _, err := session.NewToolbox(decls); err != nil {
		t.Fatalf("the core doesn't take them: %v", err)
	}
	want := map[string]string{"read": "path, offset, limit", "bash": "command, timeout, background, job, action", "write": "path, content", "edit": "path, edits"}
	f := newSet(t, nil)
	for _, d := range decls {
		var schema struct {
			Type       string
			Properties map[string]any
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(d.Schema, &schema); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		fields := strings.Split(want[d.Name], ", ")
		if schema.Type != "object" || schema.Additional == nil || *schema.Additional || len(schema.Properties) != len(fields) {
			t.Errorf("%s: %s", d.Name, d.Schema)
		}
		for _, name := range fields {
			if schema.Properties[name] == nil {
				t.Errorf("%s: the schema has no %s", d.Name, name)
			}
		}
		bad(t, f.raw(d.Name, `{"odd":1}`), "the fields are "+want[d.Name])
		if d.Description == "" || len(d.Description) > 800 {
			t.Errorf("%s: a description of %d bytes", d.Name, len(d.Description))
		}
	}
	if len(decls) != len(want) {
		t.Errorf("%d declarations", len(decls))
	}
}

// What the schema takes is decoded; what it refuses the decoder refuses too.
func TestC10_SchemaAndDecoderAgree(t *testing.T) {
	decode := map[string]func(json.RawMessage) error{
		"read":  func(b json.RawMessage) error { _, err := decodeRead(b); return err },
		"bash":  func(b json.RawMessage) error { _, err := decodeBash(b); return err },
		"write": func(b json.RawMessage) error { _, err := decodeWrite(b); return err },
		"edit":  func(b json.RawMessage) error { _, err := decodeEdit(b); return err },
	}
	args := map[string][]string{
		"read":  {`{"path":"a"}`, `{"path":"a","offset":3,"limit":4}`, `{"path":"a","limit":2.0}`, `{"path":"a","limit":0}`, `{}`, `{"path":null}`, `{"path":"a","x":1}`},
		"bash":  {`{"command":"a"}`, `{"command":"a","timeout":0.5,"background":true}`, `{"job":"j1","action":"wait","timeout":3}`, `{"command":"a","timeout":4000}`, `{"command":"a","timeout":0}`, `{"job":"j1","action":"x"}`, `{"command":1}`},
		"write": {`{"path":"a","content":""}`, `{"path":"a"}`, `{"path":"a","content":null}`},
		"edit":  {`{"path":"a","edits":[{"oldText":"a","newText":""}]}`, `{"path":"a","edits":[]}`, `{"path":"a","edits":[{"oldText":"a"}]}`, `{"path":"a","edits":{}}`, `{"path":"a","edits":[{"oldText":"a","newText":"b","x":1}]}`},
	}
	for _, d := range Declarations() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("x.json", doc); err != nil {
			t.Fatal(err)
		}
		schema, err := c.Compile("x.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range args[d.Name] {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(a))
			if err != nil {
				t.Fatal(err)
			}
			bySchema, byDecoder := schema.Validate(v), decode[d.Name](json.RawMessage(a))
			if (bySchema == nil) != (byDecoder == nil) {
				t.Errorf("%s %s: the schema says %v, the decoder %v", d.Name, a, bySchema, byDecoder)
			}
		}
	}
}
