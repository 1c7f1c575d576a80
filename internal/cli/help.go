package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
)

// helpTools prints the tools that the model has, as it is told of them.
func helpTools(w io.Writer) error {
	box, err := session.NewToolbox(declarations())
	if err != nil {
		return err
	}
	width := widthOf(w)
	if width < 40 {
		width = 80
	}
	for i, d := range box.Decls {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", d.Name)
		inset(w, "  ", d.Description, width)
		var schema argument
		if err := json.Unmarshal(d.Schema, &schema); err != nil {
			return fmt.Errorf("tool %s: schema: %w", d.Name, err)
		}
		schema.fields(w, "  ", width)
	}
	return nil
}

// argument is what is printed of a JSON schema.
type argument struct {
	Type        string              `json:"type"`
	Description string              `json:"description"`
	Enum        []string            `json:"enum"`
	Properties  map[string]argument `json:"properties"`
	Required    []string            `json:"required"`
	Items       *argument           `json:"items"`
}

// fields prints the properties: the required ones first.
func (a argument) fields(w io.Writer, indent string, width int) {
	names := slices.Sorted(maps.Keys(a.Properties))
	slices.SortStableFunc(names, func(x, y string) int {
		return index(a.Required, x) - index(a.Required, y)
	})
	for _, name := range names {
		p, kind := a.Properties[name], a.Properties[name].Type
		if len(p.Enum) > 0 {
			kind = strings.Join(p.Enum, " | ")
		}
		if !slices.Contains(a.Required, name) {
			kind += ", optional"
		}
		inset(w, indent+"  ", strings.TrimRight(fmt.Sprintf("%s (%s)  %s", name, kind, p.Description), " "), width)
		p.fields(w, indent+"  ", width)
		if p.Items != nil {
			p.Items.fields(w, indent+"  ", width)
		}
	}
}

// index is the place of s in list, its end if s isn't in it.
func index(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// inset prints a text with each line indented.
func inset(w io.Writer, indent, text string, width int) {
	for _, line := range strings.Split(wrap(text, width-len(indent)), "\n") {
		fmt.Fprintln(w, indent+line)
	}
}
