package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/workflow"
)

// input is the run's input as JSON.
func (c *runCmd) input(a *app, def *workflow.Definition) (workflow.JSON, error) {
	given := 0
	for _, is := range []bool{len(c.Task) > 0, c.Input != nil, c.InputFile != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return nil, usagef("give one of: a task in words, --input, --input-file")
	}
	var raw []byte
	from := "--input"
	switch {
	case len(c.Task) > 0:
		return c.task(a.stdin)
	case c.InputFile != "":
		b, err := readRegular(inFolder(a.cwd, c.InputFile), maxPrompt)
		if err != nil {
			return nil, usagef("--input-file: %v", err)
		}
		raw, from = b, "--input-file "+c.InputFile
	case c.Input == nil:
		return emptyInput(def), nil
	default:
		raw = []byte(*c.Input)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		what := oneLine(string(raw), 60)
		if what == "" {
			what, err = "it", errors.New("it is empty")
		}
		return nil, usagef("%s: %s is no JSON (%v). %s", from, what, err, inputExample(def.Graph))
	}
	return raw, nil
}

// task is an input that is given in words.
func (c *runCmd) task(stdin io.Reader) (workflow.JSON, error) {
	task := strings.Join(c.Task, " ")
	if task == "-" {
		var err error
		if task, err = readStdin(stdin, "the task"); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]string{"task": strings.ToValidUTF8(task, "\uFFFD")})
}

// emptyInput is the input of a run that is given none.
func emptyInput(def *workflow.Definition) workflow.JSON {
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(def.Graph.Input, &s) == nil && s.Type == "object" {
		return workflow.JSON("{}")
	}
	return workflow.JSON("null")
}

// inputHelp says of an input that doesn't fit what was wanted: each field, and
// an input that fits.
func inputHelp(bad *host.InputError, raw workflow.JSON, g *workflow.Graph) error {
	var s schemaForm
	var b strings.Builder
	b.WriteString(bad.Error())
	if json.Unmarshal(g.Input, &s) == nil && len(s.Properties) > 0 {
		b.WriteString(misspelled(raw, s))
		b.WriteString("\nIts fields:")
		names := slices.Sorted(maps.Keys(s.Properties))
		slices.SortStableFunc(names, func(x, y string) int { return index(s.Required, x) - index(s.Required, y) })
		for _, name := range names {
			kind := s.Properties[name].kind()
			if slices.Contains(s.Required, name) {
				kind += ", required"
			}
			fmt.Fprintf(&b, "\n  %s (%s)  %s", name, kind, s.Properties[name].Description)
		}
	}
	b.WriteString("\n" + inputExample(g))
	return errors.New(b.String())
}

// misspelled names the fields of an input that there aren't, where one that
// there is may be meant.
func misspelled(raw workflow.JSON, s schemaForm) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	var b strings.Builder
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if near := nearest(f, names); near != "" && !slices.Contains(names, f) {
			fmt.Fprintf(&b, "\n- %q: did you mean %q?", f, near)
		}
	}
	return b.String()
}

// inputExample is a command whose input fits.
func inputExample(g *workflow.Graph) string {
	var s schemaForm
	var compact bytes.Buffer
	if json.Unmarshal(g.Input, &s) != nil || json.Compact(&compact, s.example(0)) != nil {
		return "The schema of its input: " + program() + " run --list --json"
	}
	return "One that fits:\n    " + program() + " run " + g.Name + " --input " + quoted(compact.String())
}
