package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gamma-harness/gamma/llm"
)

// toolRow is a row of the tool table.
type toolRow struct {
	name string
	// safe tools may run again after a crash: they have no effects, or, as
	// workflow, have them once a call.
	safe bool
	// lockPath tools run one at a time for each path.
	lockPath bool
}

// The tools about which there are rules here. By ToolWorkflow the model steers
// workflows and hands in the output of a step.
const (
	ToolWorkflow    = "workflow"
	toolSkill       = "skill"
	toolTodo        = "todo"
	toolMessageUser = "message_user"
	toolAskUser     = "ask_user"
)

// toolTable is the fixed list of tools in its fixed order.
func toolTable() []toolRow {
	return []toolRow{
		{name: "read", safe: true},
		{name: "bash"},
		{name: "write", lockPath: true},
		{name: "edit", lockPath: true},
		{name: toolTodo},
		{name: toolSkill, safe: true},
		{name: toolMessageUser},
		{name: ToolWorkflow, safe: true},
	}
}

// Toolbox is the tools of a session: declarations in their fixed order, the
// compiled schemas, and the row of the table for each.
type Toolbox struct {
	Decls  []llm.Tool
	byName map[string]toolSpec
}

type toolSpec struct {
	Safe     bool
	LockPath bool
	schema   *jsonschema.Schema
	known    []string // argument names, in schema order
	required bool     // at least one argument is required
}

// NewToolbox puts the declarations into the fixed order. The core tools are
// added; a name that the table doesn't list is an error.
func NewToolbox(world []llm.Tool) (*Toolbox, error) {
	given := map[string]llm.Tool{}
	for _, d := range append(coreDecls(), world...) {
		given[d.Name] = d
	}
	t := &Toolbox{byName: map[string]toolSpec{}}
	for _, row := range toolTable() {
		d, ok := given[row.name]
		if !ok {
			continue // a build offers only tools that work in it
		}
		delete(given, row.name)
		spec, err := compile(d)
		if err != nil {
			return nil, fmt.Errorf("tool %s: schema: %w", d.Name, err)
		}
		spec.Safe, spec.LockPath = row.safe, row.lockPath
		t.Decls = append(t.Decls, d)
		t.byName[d.Name] = spec
	}
	for name := range given {
		return nil, fmt.Errorf("tool %s is not in the tool table", name)
	}
	return t, nil
}

func compile(d llm.Tool) (toolSpec, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Schema))
	if err != nil {
		return toolSpec{}, err
	}
	c := jsonschema.NewCompiler()
	const name = "urn:gamma:tool" // absolute, so that no folder's name matters
	if err := c.AddResource(name, doc); err != nil {
		return toolSpec{}, err
	}
	schema, err := c.Compile(name)
	if err != nil {
		return toolSpec{}, err
	}
	known, err := propertyNames(d.Schema)
	return toolSpec{schema: schema, known: known, required: len(schema.Required) > 0}, err
}

// propertyNames lists the schema's properties in their order.
func propertyNames(schema []byte) ([]string, error) {
	var top struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &top); err != nil || len(top.Properties) == 0 {
		return nil, err
	}
	d := jsontext.NewDecoder(bytes.NewReader(top.Properties))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var names []string
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		names = append(names, name.String())
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// check decodes a call's arguments strictly: a known tool, one JSON object
// with no doubled name and no broken Unicode, valid by the tool's schema.
func (t *Toolbox) check(c llm.Call) (json.RawMessage, error) {
	spec, ok := t.byName[c.Name]
	if !ok {
		return nil, fmt.Errorf("unknown tool %s; the tools are: %s", quote(c.Name), strings.Join(t.names(), ", "))
	}
	raw := strings.TrimSpace(c.Arguments)
	if raw == "" && !spec.required {
		raw = "{}"
	}
	v := jsontext.Value(raw)
	if !v.IsValid() {
		return nil, spec.explain("the arguments are not valid JSON: " + jsonFault(raw))
	}
	if v.Kind() != '{' {
		return nil, spec.explain("the arguments must be one JSON object")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return nil, spec.explain("the arguments are not valid JSON: " + err.Error())
	}
	if err := spec.schema.Validate(doc); err != nil {
		return nil, spec.explain("the arguments break the schema:\n- " + strings.Join(violations(err, "arguments"), "\n- "))
	}
	return json.RawMessage(raw), nil
}

func (s toolSpec) explain(what string) error {
	return errors.New(what + "\nThe call was not run. Known arguments: " + strings.Join(s.known, ", ") + ".")
}

func (t *Toolbox) names() []string {
	var out []string
	for _, d := range t.Decls {
		out = append(out, d.Name)
	}
	return out
}

// jsonFault says what is wrong with invalid JSON text.
func jsonFault(raw string) string {
	if raw == "" {
		return "they are empty"
	}
	d := jsontext.NewDecoder(strings.NewReader(raw))
	if err := d.SkipValue(); err != nil {
		return strings.TrimPrefix(err.Error(), "jsontext: ")
	}
	return "text follows the object"
}

// violations lists the violations of a schema: place and reason. whole names
// the value.
func violations(err error, whole string) []string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return []string{err.Error()}
	}
	var lines []string
	for _, unit := range v.BasicOutput().Errors {
		if unit.Error == nil || len(unit.Errors) > 0 {
			continue
		}
		at := unit.InstanceLocation
		if at == "" {
			at = whole
		}
		lines = append(lines, at+": "+unit.Error.String())
	}
	if len(lines) == 0 {
		return []string{err.Error()}
	}
	return lines
}

// lockKey is the key under which two calls on one path run one after the
// other. Symlinks aren't followed here: two names that lead to one file only
// through a symlink exclude each other in the tool, in any order.
func lockKey(args, workspace string) string {
	var a struct {
		Path string `json:"path"`
	}
	if json.Unmarshal([]byte(args), &a) != nil {
		return ""
	}
	p := path.Clean(a.Path)
	if rel, ok := strings.CutPrefix(p, path.Clean(workspace)+"/"); ok {
		return rel
	}
	return p
}

// quote shows a name from outside in a message, shortened.
func quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
