package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/gamma-harness/gamma/internal/yamltext"
)

// field is one field of the frontmatter.
type field struct {
	name    string // as written; under metadata "metadata.NAME"
	line    int    // in the file
	node    ast.Node
	comment string // behind the value, in its line
}

// fieldSet is the frontmatter, each field once.
type fieldSet struct {
	line     int // of its first line
	fields   []field
	metadata []field
}

// top returns a field of the top level.
func (fs fieldSet) top(name string) (field, bool) { return find(fs.fields, name) }

// both returns a field of ours: from the top level, then from metadata.
func (fs fieldSet) both(name string) []field {
	var out []field
	if f, ok := find(fs.fields, name); ok && !f.empty() {
		out = append(out, f)
	}
	if f, ok := find(fs.metadata, "metadata."+name); ok && !f.empty() {
		out = append(out, f)
	}
	return out
}

func find(fields []field, name string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

// empty reports whether a field has no value ("name:").
func (f field) empty() bool {
	_, isNull := f.node.(*ast.NullNode)
	return f.node == nil || isNull
}

// text returns the value as text, without space around it; numbers and
// booleans as written.
func (f field) text() (string, bool) {
	n := f.node
	if tag, ok := n.(*ast.TagNode); ok && tag.GetToken().Value == "!!str" {
		n = tag.Value
	}
	var s string
	switch x := n.(type) {
	case *ast.StringNode:
		s = x.Value
	case *ast.LiteralNode:
		s = x.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s = x.GetToken().Value
	default:
		return "", false
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd")), true
}

// words returns the names of a list or of a text in which spaces (or commas)
// stand between them.
func (f field) words() (words []string, commas, ok bool) {
	if list, isList := f.node.(*ast.SequenceNode); isList {
		for _, v := range list.Values {
			w, ok := field{node: v}.text()
			if !ok {
				return nil, false, false
			}
			words = append(words, w)
		}
		return words, false, true
	}
	text, ok := f.text()
	words = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n,", r) })
	return words, strings.Contains(text, ","), ok
}

// kind describes the value for a message.
func (f field) kind() string {
	if text, ok := f.text(); ok {
		return fmt.Sprintf("%.80q", text)
	}
	switch f.node.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	return "no plain value"
}

// isText reports whether a field of the top level holds text that people
// write freely, so that YAML's own signs in it are most likely meant as text.
func isText(name string) bool {
	return slices.Contains([]string{"name", "description", "license", "compatibility"}, name)
}

// fields reads the frontmatter, a second time with quotes if need be.
func (m *manifest) fields(p parts) (fieldSet, bool) {
	fs := fieldSet{line: p.yamlLine}
	root, fault := parseYAML(p.yaml)
	if fault == nil {
		fault = misread(root)
	}
	if fault != nil {
		repaired, again := parseYAML(requote(p.yaml))
		if again == nil {
			again = misread(repaired)
		}
		line := p.yamlLine + max(fault.line, 1) - 1
		if again != nil {
			m.error(line, "the frontmatter isn't valid YAML: %s", fault.reason)
			return fs, false
		}
		m.warn(line, "not valid as written (%s), read as if its values were in quotes: put quotes around the value", fault.reason)
		root = repaired
	}
	if mapping, ok := root.(ast.MapNode); ok {
		fs.fields = m.collect("", mapping, p.yamlLine)
	}
	if f, ok := fs.top("metadata"); ok && !f.empty() {
		if n, ok := f.node.(ast.MapNode); ok {
			fs.metadata = m.collect("metadata.", n, p.yamlLine)
		} else {
			m.warn(f.line, "metadata must be a mapping of text to text; it is %s and is left out", f.kind())
		}
	}
	return fs, true
}

// collect lists the fields of a mapping; of two with one name the first
// counts.
func (m *manifest) collect(prefix string, mapping ast.MapNode, yamlLine int) []field {
	var out []field
	lines := map[string]int{}
	for it := mapping.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		f := field{name: prefix + key.Value, line: yamlLine + key.Position.Line - 1, node: it.Value()}
		if first, ok := lines[f.name]; ok {
			m.warn(f.line, "%s is set twice: the one in line %d counts", f.name, first)
			continue
		}
		lines[f.name] = f.line
		if c := it.Value().GetComment(); c != nil && len(c.Comments) > 0 {
			if t := c.Comments[0].GetToken(); t.Position.Line == it.Value().GetToken().Position.Line {
				f.comment = "#" + t.Value
			}
		}
		out = append(out, f)
	}
	return out
}

// yamlFault says why a frontmatter can't be read.
type yamlFault struct {
	line   int // in the frontmatter, from 1; 0 if unknown
	reason string
}

// misread finds what YAML accepts and nobody means: text at the top level, or
// a text field that holds a list, a mapping, an alias or a tag.
func misread(root ast.Node) *yamlFault {
	if root == nil {
		return nil
	}
	mapping, ok := root.(ast.MapNode)
	if !ok {
		return &yamlFault{root.GetToken().Position.Line, "want lines such as name: value, got " + field{node: root}.kind()}
	}
	for it := mapping.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		f := field{name: key.Value, node: it.Value()}
		if _, ok := f.text(); !ok && !f.empty() && isText(f.name) {
			return &yamlFault{key.Position.Line, fmt.Sprintf("%s must be text, YAML takes it for %s", f.name, f.kind())}
		}
	}
	return nil
}

// maxDepth bounds how deep values are nested; the parser's time grows with
// its square.
const maxDepth = 50

// parseYAML returns the root of the text, nil if it holds nothing. One bad
// skill must not take the others away.
func parseYAML(text string) (ast.Node, *yamlFault) {
	roots, fault := yamltext.Parse(text, maxDepth, parser.ParseComments, parser.AllowDuplicateMapKey())
	switch {
	case fault != nil && fault.Kind == yamltext.Failed:
		return nil, &yamlFault{0, "the YAML parser failed: " + fault.Reason}
	case fault != nil && fault.Kind == yamltext.Syntax && (strings.Contains(fault.Reason, "\t") || strings.Contains(fault.Reason, "tab ")):
		return nil, &yamlFault{fault.Line, "a tab stands where YAML wants spaces"}
	case fault != nil:
		return nil, &yamlFault{fault.Line, fault.Reason}
	case len(roots) > 1:
		return nil, &yamlFault{roots[1].GetToken().Position.Line, "a second document begins here"}
	case len(roots) == 0:
		return nil, nil
	}
	return roots[0], nil
}

// checkRest reports fields that have no meaning or not the standard's form.
func (m *manifest) checkRest(fs fieldSet) {
	ours := []string{"type", "conflictsWith", "requiresSkills"}
	known := append([]string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}, ours...)
	for _, f := range fs.fields {
		switch {
		case slices.Contains(known, f.name):
		case alike(f.name, known) != "":
			m.warn(f.line, "unknown field %s, which is left out: did you mean %s?", f.name, alike(f.name, known))
		default:
			m.warn(f.line, "unknown field %s, which is left out: put fields of your own under metadata", f.name)
		}
	}
	if f, ok := fs.top("compatibility"); ok {
		if text, _ := f.text(); utf8.RuneCountInString(text) > maxCompatibility {
			m.warn(f.line, "compatibility has %d characters; the standard allows %d", utf8.RuneCountInString(text), maxCompatibility)
		}
	}
	for _, f := range fs.metadata {
		name := strings.TrimPrefix(f.name, "metadata.")
		if slices.Contains(ours, name) {
			continue
		}
		if near := alike(name, ours); near != "" {
			m.warn(f.line, "unknown field %s: did you mean metadata.%s?", f.name, near)
		}
		if _, isText := f.node.(*ast.StringNode); !isText && f.node.Type() != ast.LiteralType {
			m.warn(f.line, "%s must be text: put quotes around the value", f.name)
		}
	}
}

// alike returns the known name that name is another spelling of, or "".
func alike(name string, known []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
	}
	for _, k := range known {
		if plain(k) == plain(name) || distance(k, name) <= 2 && len(name) > 5 {
			return k
		}
	}
	return ""
}
