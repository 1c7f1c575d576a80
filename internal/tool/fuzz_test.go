package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Whatever a model sends as arguments: no panic; the core's check and the
// tool's decoder agree but for what a flat schema can't say; what is decoded is
// within its limits; a refusal is short, and text.
func FuzzE5_ToolArguments(f *testing.F) {
	schemas := map[string]*jsonschema.Schema{}
	var names []string
	for _, d := range Declarations() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Schema))
		if err != nil {
			f.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("urn:x", doc); err != nil {
			f.Fatal(err)
		}
		if schemas[d.Name], err = c.Compile("urn:x"); err != nil {
			f.Fatal(err)
		}
		names = append(names, d.Name)
	}
	for i, s := range []string{
		`{"path":"a","offset":1,"limit":2.0}`, `{"command":"a","timeout":1e-10,"background":true}`, `{"job":"j1","action":"wait","timeout":3}`,
		`{"path":"a","content":"\ud800"}`, `{"path":"a","edits":[{"oldText":"a","newText":"b"},{}]}`, `null`, `[]`, ``, `{"path":1e999999}`,
		`{"path":"a","path":"b"}`, "{\"path\":\"\xff\"}", `{"path":"a","offset":1e400}`, `{"":{}}`, `{"command":"a","timeout":-0.0}`, `{"path":"a","edits":{}}`,
	} {
		f.Add(byte(i), []byte(s))
		f.Add(byte(i+2), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		name := names[int(which)%len(names)]
		err := decodeAny(t, name, raw)
		if err != nil {
			text := failure(err).Text
			if len(text) > maxFailure+100 || !utf8.ValidString(strings.ToValidUTF8(text, "\ufffd")) || text == "" {
				t.Fatalf("%s %q: a message of %d bytes", name, raw, len(text))
			}
		}
		doc, parseErr := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if parseErr != nil || !utf8.Valid(raw) || bytes.Contains(raw, []byte(`\u`)) {
			return // the core refuses it, or mends its characters first
		}
		schemaErr := schemas[name].Validate(doc)
		if err == nil && schemaErr != nil {
			t.Fatalf("%s %q: decoded, but the schema says %v", name, raw, schemaErr)
		}
		if err != nil && schemaErr == nil && name != "bash" &&
			!strings.Contains(err.Error(), "duplicate") && !strings.Contains(err.Error(), "a whole number from 1") {
			t.Fatalf("%s %q: the schema takes it, but %v", name, raw, err)
		}
	})
}

// decodeAny decodes and checks what was decoded.
func decodeAny(t *testing.T, name string, raw json.RawMessage) error {
	switch name {
	case "read":
		a, err := decodeRead(raw)
		if err == nil && (a.offset < 0 || a.limit < 0) {
			t.Fatalf("%q: %+v", raw, a)
		}
		return err
	case "write":
		_, err := decodeWrite(raw)
		return err
	case "edit":
		a, err := decodeEdit(raw)
		if err == nil && len(a.edits) == 0 {
			t.Fatalf("%q: no edits", raw)
		}
		return err
	}
	a, err := decodeBash(raw)
	if err == nil && a.timeout != 0 && (a.timeout < minTimeout || a.timeout > maxTimeout) {
		t.Fatalf("%q: %+v", raw, a)
	}
	return err
}
