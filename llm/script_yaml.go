package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/gamma-harness/gamma/internal/yamltext"
)

// scriptParser turns the YAML of one file into nodes and reports faults with
// their place.
type scriptParser struct {
	name    string
	lines   []string
	anchors map[string]ast.Node
}

// fail makes the error for a fault in a line.
func (p *scriptParser) fail(line int, field, format string, args ...any) error {
	return &ScriptError{File: p.name, Line: line, Field: field, Reason: fmt.Sprintf(format, args...), Excerpt: p.excerpt(line)}
}

// excerpt shows a line between its neighbours.
func (p *scriptParser) excerpt(line int) string {
	if line < 1 || line > len(p.lines) {
		return ""
	}
	var b strings.Builder
	for i := max(1, line-1); i <= min(line+1, len(p.lines)); i++ {
		text := []rune(strings.ReplaceAll(p.lines[i-1], "\t", "→"))
		if len(text) > 60 {
			text = append(text[:59], '…')
		}
		mark := " "
		if i == line {
			mark = ">"
		}
		fmt.Fprintf(&b, "\n%s %4d | %s", mark, i, string(text))
	}
	return b.String()[1:]
}

// parse returns the root of the file's only document.
func (p *scriptParser) parse(data []byte) (root ast.Node, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, p.fail(0, "", "the file is empty: want version: %d and steps", ScriptVersion)
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if !utf8.Valid(data) {
		good := data[:len(data)-len(afterValid(data))]
		return nil, p.fail(bytes.Count(good, []byte("\n"))+1, "", "the file is not UTF-8 text: save it as UTF-8")
	}
	p.lines = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	return p.document(string(data))
}

// afterValid returns what follows the longest valid start of data.
func afterValid(data []byte) []byte {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			break
		}
		data = data[n:]
	}
	return data
}

func (p *scriptParser) document(text string) (ast.Node, error) {
	roots, fault := yamltext.Parse(text, maxDepth, 0)
	if fault != nil {
		return nil, p.misread(fault)
	}
	if len(roots) == 0 {
		return nil, p.fail(0, "", "the file holds only comments: want version: %d and steps", ScriptVersion)
	}
	if len(roots) > 1 {
		return nil, p.fail(nodeLine(roots[1]), "", "a second document begins here: a script is one document")
	}
	p.anchors = map[string]ast.Node{}
	ast.Walk(anchorFinder(p.anchors), roots[0])
	return roots[0], nil
}

// maxDepth bounds the nesting of values.
const maxDepth = 200

type anchorFinder map[string]ast.Node

// Visit notes the anchors below a node.
func (a anchorFinder) Visit(n ast.Node) ast.Visitor {
	if x, ok := n.(*ast.AnchorNode); ok && x.Name != nil {
		a[x.Name.GetToken().Value] = x.Value
	}
	return a
}

// misread makes the error for what the parser says. A script that nobody can
// read must not end the process.
func (p *scriptParser) misread(f *yamltext.Fault) error {
	switch line := f.Line; {
	case f.Kind == yamltext.Failed:
		return p.fail(0, "", "the YAML parser failed (%s): simplify the file", f.Reason)
	case f.Kind == yamltext.Deep:
		return p.fail(line, "", "%s", f.Reason)
	case line >= 1 && line <= len(p.lines) && strings.HasPrefix(strings.TrimLeft(p.lines[line-1], " "), "\t"):
		return p.fail(line, "", "the line is indented with a tab: YAML wants spaces")
	default:
		return p.fail(line, "", "not valid YAML: %s", f.Reason)
	}
}

func nodeLine(n ast.Node) int {
	if n == nil || n.GetToken() == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

func keyText(k ast.MapKeyNode) string { return k.GetToken().Value }

// resolve follows anchors, aliases and tags to the value.
func (p *scriptParser) resolve(n ast.Node) ast.Node {
	for range maxDepth {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.TagNode:
			n = x.Value
		case *ast.AliasNode:
			to, ok := p.anchors[x.Value.GetToken().Value]
			if !ok {
				return n
			}
			n = to
		default:
			return n
		}
	}
	return n
}

// describe names a value for an error message.
func describe(n ast.Node) string {
	switch x := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.AliasNode:
		return "the unknown alias " + x.String()
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return quoteShort(x.Value)
	case *ast.LiteralNode:
		return quoteShort(x.Value.Value)
	}
	return quoteShort(n.GetToken().Value)
}

// setter stores the value of a field.
type setter func(n ast.Node, at string) error

// object reads a mapping with the known fields and returns the lines at which
// they stand.
func (p *scriptParser) object(n ast.Node, at string, known map[string]setter) (map[string]int, error) {
	m, ok := p.resolve(n).(ast.MapNode)
	if !ok {
		return nil, p.fail(nodeLine(n), at, "want a mapping, got %s", describe(p.resolve(n)))
	}
	seen := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		key, line := keyText(it.Key()), nodeLine(it.Key())
		field := strings.TrimPrefix(at+"."+key, ".")
		set, ok := known[key]
		if !ok {
			return nil, p.fail(line, field, "unknown field: known are %s", strings.Join(sortedKeys(known), ", "))
		}
		seen[key] = line
		if err := set(it.Value(), field); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func sortedKeys(m map[string]setter) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (p *scriptParser) list(n ast.Node, at string, each setter) error {
	s, ok := p.resolve(n).(*ast.SequenceNode)
	if !ok {
		return p.fail(nodeLine(n), at, "want a list, got %s", describe(p.resolve(n)))
	}
	for i, v := range s.Values {
		if err := each(v, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

// scalar returns the text of a plain value; numbers and booleans as written.
func (p *scriptParser) scalar(n ast.Node) (string, bool) {
	switch x := p.resolve(n).(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return x.GetToken().Value, true
	}
	return "", false
}

func (p *scriptParser) text(dst *string) setter {
	return func(n ast.Node, at string) error {
		s, ok := p.scalar(n)
		if !ok {
			return p.fail(nodeLine(n), at, "want text, got %s", describe(p.resolve(n)))
		}
		*dst = s
		return nil
	}
}

// count reads a whole number from 0 to max.
func (p *scriptParser) count(dst *int, max int) setter {
	return func(n ast.Node, at string) error {
		v := p.resolve(n)
		if _, ok := v.(*ast.IntegerNode); ok {
			if i, err := strconv.ParseInt(fmt.Sprint(v.(*ast.IntegerNode).Value), 10, 64); err == nil && i >= 0 && i <= int64(max) {
				*dst = int(i)
				return nil
			}
		}
		return p.fail(nodeLine(n), at, "want a whole number from 0 to %d, got %s", max, describe(v))
	}
}

// maxJSON bounds the arguments of a call, in bytes; aliases could blow up a
// small file.
const maxJSON = 4 << 20

// json turns a value into compact JSON whose keys stand in source order.
func (p *scriptParser) json(n ast.Node, at string) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := p.writeJSON(&b, n, at, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (p *scriptParser) writeJSON(b *bytes.Buffer, n ast.Node, at string, depth int) error {
	if depth > maxDepth || b.Len() > maxJSON {
		return p.fail(nodeLine(n), at, "is nested or repeated too much (an alias of itself?)")
	}
	switch x := p.resolve(n).(type) {
	case nil, *ast.NullNode:
		b.WriteString("null")
	case *ast.BoolNode:
		b.WriteString(strconv.FormatBool(x.Value))
	case ast.MapNode:
		return p.writeObject(b, x, at, depth)
	case *ast.SequenceNode:
		b.WriteByte('[')
		for i, v := range x.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := p.writeJSON(b, v, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		return p.writeScalar(b, n, at)
	}
	return nil
}

func (p *scriptParser) writeObject(b *bytes.Buffer, m ast.MapNode, at string, depth int) error {
	b.WriteByte('{')
	for it, first := m.MapRange(), true; it.Next(); first = false {
		if it.Key().Type() == ast.MergeKeyType {
			return p.fail(nodeLine(it.Key()), at, "merge keys (<<) can't be used in args")
		}
		if !first {
			b.WriteByte(',')
		}
		key, ok := p.scalar(it.Key())
		if !ok {
			return p.fail(nodeLine(it.Key()), at, "want plain text as key")
		}
		writeString(b, key)
		b.WriteByte(':')
		if err := p.writeJSON(b, it.Value(), at+"."+key, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// jsonNumber reports whether text is a number as JSON writes it.
func jsonNumber(text string) bool {
	return text != "" && strings.Contains("-0123456789", text[:1]) && json.Valid([]byte(text))
}

// writeScalar writes numbers as they stand where JSON allows it, so 1.0 stays
// 1.0. The parser takes large integers and exponents for text; they are told
// by the missing quotes.
func (p *scriptParser) writeScalar(b *bytes.Buffer, n ast.Node, at string) error {
	v := p.resolve(n)
	text, ok := p.scalar(v)
	if !ok {
		return p.fail(nodeLine(n), at, "can't be written as JSON: it is %s", describe(v))
	}
	asText := p.taggedText(n)
	plain := v.GetToken().Type != token.SingleQuoteType && v.GetToken().Type != token.DoubleQuoteType && v.Type() != ast.LiteralType
	switch x := v.(type) {
	case *ast.InfinityNode, *ast.NanNode:
		return p.fail(nodeLine(n), at, "JSON has no number %s", text)
	case *ast.StringNode, *ast.LiteralNode:
		if plain && !asText && jsonNumber(text) {
			b.WriteString(text)
			return nil
		}
		writeString(b, text)
	case *ast.IntegerNode:
		writeNumber(b, text, x.Value, asText)
	case *ast.FloatNode:
		writeNumber(b, text, x.Value, asText)
	}
	return nil
}

// taggedText reports whether the tag !!str makes text of a value.
func (p *scriptParser) taggedText(n ast.Node) bool {
	for range maxDepth {
		switch x := n.(type) {
		case *ast.TagNode:
			return x.GetToken().Value == "!!str"
		case *ast.AnchorNode:
			n = x.Value
		case *ast.AliasNode:
			n = p.anchors[x.Value.GetToken().Value]
		default:
			return false
		}
	}
	return false
}

// writeNumber writes a number as it stands, if JSON has that form.
func writeNumber(b *bytes.Buffer, text string, value any, asText bool) {
	switch {
	case asText:
		writeString(b, text)
	case jsonNumber(text):
		b.WriteString(text)
	default: // 0x10, 1_000, .5
		n, _ := json.Marshal(value) // a finite number always encodes
		b.Write(n)
	}
}

func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string always encodes
	b.Truncate(b.Len() - 1) // the encoder's newline
}
