package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// What a configuration file may have. The YAML parser takes time that grows
// with the square of some of these.
const (
	maxConfig = 256 << 10 // bytes
	maxNested = 40        // levels
	maxIndent = 400       // columns
)

// readRegular reads a file of at most max bytes. What isn't a regular file is
// refused without waiting for it.
func readRegular(path string, max int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, bare(err))
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, bare(err))
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, bare(err))
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("%s: has more than %d KiB", path, max>>10)
	}
	return data, nil
}

// configReader fills a configuration from YAML. It is strict: every fault
// names the line, the field and the reason.
type configReader struct {
	lines   map[string]int      // of each field that the file sets
	anchors map[string]ast.Node // &name
}

// lineError is a fault of the file; field is "" if none can be named.
type lineError struct {
	line   int
	field  string
	reason string
}

func (e *lineError) Error() string {
	if e.field == "" {
		return e.reason
	}
	return e.field + ": " + e.reason
}

// read reads the file's bytes into the struct that to points to.
func (r *configReader) read(data []byte, to any) *lineError {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := plausible(data); err != nil {
		return err
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		line, reason := 1, err.Error()
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			line, reason = y.GetToken().Position.Line, y.GetMessage()
		}
		return &lineError{line: line, reason: reason}
	}
	seen := false
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.DirectiveNode, *ast.NullNode:
			continue
		default:
			if seen {
				return &lineError{line: lineOf(body), reason: "a second document: put all settings into one, without ---"}
			}
			seen = true
			if err := r.value(body, reflect.ValueOf(to).Elem(), "", 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// plausible refuses bytes that the parser can't be asked about.
func plausible(data []byte) *lineError {
	depth, from := 0, 0 // open brackets, and how far the line is indented that opened the first
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return &lineError{line: i + 1, reason: "is not text in UTF-8"}
		}
		rest := strings.TrimLeft(string(line), " \t")
		indent, nested := len(line)-len(rest), 0
		for strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "? ") {
			nested, rest = nested+1, strings.TrimLeft(rest[2:], " \t")
		}
		if depth == 0 || indent <= from { // what stands here isn't between brackets
			depth, from = 0, indent
		}
		most := 0
		depth, most = brackets(rest, depth)
		if max(nested, most) > maxNested || indent > maxIndent {
			return &lineError{line: i + 1, reason: "is nested too deeply"}
		}
	}
	return nil
}

// brackets counts how many are open behind a line, and the most within it.
func brackets(line string, depth int) (end, most int) {
	quote := rune(0)
	for _, c := range line {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
			most = max(most, depth)
		case (c == ']' || c == '}') && depth > 0:
			depth--
		}
	}
	return depth, most
}

// lineOf is the line that a node begins in.
func lineOf(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		n = v.Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// value reads a node into a field.
func (r *configReader) value(n ast.Node, to reflect.Value, field string, depth int) *lineError {
	wrong := func(format string, args ...any) *lineError {
		return &lineError{lineOf(n), field, fmt.Sprintf(format, args...)}
	}
	if depth > maxNested {
		return wrong("is nested too deeply")
	}
	switch x := n.(type) {
	case *ast.AnchorNode:
		if err := r.value(x.Value, to, field, depth+1); err != nil {
			return err
		}
		r.anchors[x.Name.GetToken().Value] = x.Value // behind its value, which so can't hold itself
		return nil
	case *ast.AliasNode:
		target := r.anchors[x.Value.GetToken().Value]
		if target == nil {
			return wrong("there is no anchor &%s before it", x.Value.GetToken().Value)
		}
		return r.value(target, to, field, depth+1)
	case *ast.TagNode:
		return wrong("tags (%s) aren't taken: write the plain value", x.Start.Value)
	case *ast.NullNode:
		return nil // as if it weren't there
	}
	if to.Type() == reflect.TypeFor[time.Duration]() {
		return r.duration(n, to, wrong)
	}
	switch to.Kind() {
	case reflect.Pointer:
		v := reflect.New(to.Type().Elem())
		if err := r.value(n, v.Elem(), field, depth); err != nil {
			return err
		}
		to.Set(v)
		return nil
	case reflect.Struct, reflect.Map:
		return r.mapping(n, to, field, depth)
	case reflect.Slice:
		return r.list(n, to, field, depth)
	}
	return scalar(n, to, wrong)
}

// mapping reads "name: value" pairs into a struct or a map of strings.
func (r *configReader) mapping(n ast.Node, to reflect.Value, field string, depth int) *lineError {
	var pairs []*ast.MappingValueNode
	switch x := n.(type) {
	case *ast.MappingNode:
		pairs = x.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{x}
	default:
		return &lineError{lineOf(n), field, "want settings of the form \"name: value\", got " + kindOf(n)}
	}
	for _, p := range pairs {
		if err := r.pair(p, to, field, depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *configReader) pair(p *ast.MappingValueNode, to reflect.Value, around string, depth int) *lineError {
	key := p.Key.GetToken().Value
	field := strings.TrimPrefix(around+"."+key, ".")
	line := p.Key.GetToken().Position.Line
	r.lines[field] = line
	if to.Kind() == reflect.Map {
		if to.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
		}
		v := reflect.New(to.Type().Elem()).Elem()
		if err := r.value(p.Value, v, field, depth+1); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(key), v)
		return nil
	}
	var names []string
	for i := range to.NumField() {
		name := to.Type().Field(i).Tag.Get("yaml")
		if name == key {
			return r.value(p.Value, to.Field(i), field, depth+1)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return &lineError{line, field, "unknown field: known are " + strings.Join(names, ", ")}
}

func (r *configReader) list(n ast.Node, to reflect.Value, field string, depth int) *lineError {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return &lineError{lineOf(n), field, "want a list ([a, b], or a line \"- a\" for each), got " + kindOf(n)}
	}
	out := reflect.MakeSlice(to.Type(), len(seq.Values), len(seq.Values))
	for i, v := range seq.Values {
		at := fmt.Sprintf("%s[%d]", field, i)
		r.lines[at] = lineOf(v)
		if err := r.value(v, out.Index(i), at, depth+1); err != nil {
			return err
		}
	}
	to.Set(out)
	return nil
}

// duration takes 30m, 1h30m, and 0.
func (r *configReader) duration(n ast.Node, to reflect.Value, wrong func(string, ...any) *lineError) *lineError {
	text, isText := textOf(n)
	if i, ok := n.(*ast.IntegerNode); ok && i.GetToken().Value == "0" {
		text, isText = "0", true
	}
	d, err := time.ParseDuration(text)
	if !isText || err != nil {
		return wrong("want a time such as 30m or 1h30m, got %s", valueOf(n))
	}
	to.SetInt(int64(d))
	return nil
}

// scalar reads a text, a number, or true and false.
func scalar(n ast.Node, to reflect.Value, wrong func(string, ...any) *lineError) *lineError {
	switch to.Kind() {
	case reflect.String:
		text, ok := textOf(n)
		if !ok {
			return wrong("want a text, got %s (in quotes it is a text)", valueOf(n))
		}
		to.SetString(text)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return wrong("want true or false, got %s", valueOf(n))
		}
		to.SetBool(b.Value)
	case reflect.Int:
		if _, ok := n.(*ast.IntegerNode); !ok {
			return wrong("want a whole number, got %s", valueOf(n))
		}
		i, err := strconv.ParseInt(strings.ReplaceAll(n.GetToken().Value, "_", ""), 0, strconv.IntSize)
		if err != nil {
			return wrong("%s is no number that fits", n.GetToken().Value)
		}
		to.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.GetToken().Value, 64)
		_, whole := n.(*ast.IntegerNode)
		if _, broken := n.(*ast.FloatNode); !whole && !broken || err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return wrong("want a number, got %s", valueOf(n))
		}
		to.SetFloat(f)
	default:
		panic(fmt.Sprintf("configuration: a field of the type %s", to.Type())) // the struct is ours
	}
	return nil
}

func textOf(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	}
	return "", false
}

// valueOf names what stands there, without the words of a text: a secret may
// have got into the wrong place.
func valueOf(n ast.Node) string {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NanNode, *ast.InfinityNode:
		return n.GetToken().Value
	}
	return kindOf(n)
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.NanNode, *ast.InfinityNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "settings"
	case *ast.SequenceNode:
		return "a list"
	}
	return "something else"
}
