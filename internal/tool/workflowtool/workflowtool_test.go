package workflowtool

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/llm"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestW41_Declaration pins the bytes that the model gets; -update rewrites the
// file.
func TestW41_Declaration(t *testing.T) {
	d := Declaration()
	var shown bytes.Buffer
	if err := json.Indent(&shown, d.Schema, "", "  "); err != nil {
		t.Fatal(err)
	}
	got := d.Name + "\n" + d.Description + "\n" + shown.String() + "\n"
	const file = "testdata/declaration.golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the declaration changed:\n%s", got)
	}
}

// TestW41_OneFlatSchema: one object without alternatives, every field in Args,
// and every field of Args in it.
func TestW41_OneFlatSchema(t *testing.T) {
	for _, word := range []string{"oneOf", "anyOf", "allOf", "$ref", "if"} {
		if strings.Contains(schema, `"`+word+`"`) {
			t.Errorf("the schema has %s", word)
		}
	}
	var s struct {
		Type       string
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(schema), &s); err != nil || s.Type != "object" {
		t.Fatalf("type %q, %v", s.Type, err)
	}
	given := map[string]any{}
	for name := range s.Properties {
		given[name] = nil
	}
	b, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var a Args
	if err := dec.Decode(&a); err != nil {
		t.Errorf("the schema has a field that Args hasn't: %v", err)
	}
	back, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(back, &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if _, ok := s.Properties[name]; !ok {
			t.Errorf("Args has %s, the schema hasn't", name)
		}
	}
	for _, action := range []string{List, Start, Status, Pause, Resume, Cancel, Answer, Update, Submit} {
		if strings.Count(schema, `"`+action+`"`) == 0 || !strings.Contains(description, action) {
			t.Errorf("action %s isn't declared or isn't described", action)
		}
	}
}

// TestE4_WorkflowIsInTheToolTable: a session takes the declaration, behind the
// messages to the user, and only where it is given.
func TestE4_WorkflowIsInTheToolTable(t *testing.T) {
	with, err := session.NewToolbox([]llm.Tool{Declaration()})
	if err != nil {
		t.Fatal(err)
	}
	if last := with.Decls[len(with.Decls)-1].Name; last != Name {
		t.Errorf("the last tool is %s", last)
	}
	without, err := session.NewToolbox(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(without.Decls) != len(with.Decls)-1 {
		t.Error("the tool is there without being given")
	}
}
