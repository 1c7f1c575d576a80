// Package yamltext parses YAML that people and other programs wrote, guarded:
// the parser is foreign code that panics on some inputs, and its time grows
// with the square of the depth. What the text means is its reader's.
package yamltext

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Kind is a kind of fault.
type Kind int

// The kinds of faults.
const (
	Syntax Kind = iota + 1 // the text isn't YAML
	Deep                   // values are nested too deeply
	Failed                 // the parser itself failed
)

// Fault says why a text can't be parsed.
type Fault struct {
	Kind   Kind
	Line   int // from 1; 0 if unknown
	Reason string
}

// Parse returns the roots of the text's documents; one that is empty or holds
// only comments has none. Values are nested at most depth deep.
func Parse(text string, depth int, mode parser.Mode, options ...parser.Option) (roots []ast.Node, fault *Fault) {
	defer func() {
		if r := recover(); r != nil {
			roots, fault = nil, &Fault{Kind: Failed, Reason: fmt.Sprint(r)}
		}
	}()
	tokens := lexer.Tokenize(text)
	if line := tooDeep(tokens, depth); line > 0 {
		return nil, &Fault{Deep, line, fmt.Sprintf("values are nested more than %d deep", depth)}
	}
	f, err := parser.Parse(tokens, mode, options...)
	if err != nil {
		var y yaml.Error
		if !errors.As(err, &y) || y.GetToken() == nil {
			return nil, &Fault{Kind: Syntax, Reason: err.Error()}
		}
		return nil, &Fault{Syntax, y.GetToken().Position.Line, y.GetMessage()}
	}
	for _, d := range f.Docs {
		if _, isComment := d.Body.(*ast.CommentGroupNode); d.Body != nil && !isComment {
			roots = append(roots, d.Body)
		}
	}
	return roots, nil
}

// tooDeep returns the line at which values are nested too deeply, or 0.
func tooDeep(tokens token.Tokens, most int) int {
	depth, run := 0, 0 // open brackets; openers in a row, as in "- - - x"
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
			run++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			run++
		default:
			run = 0
		}
		if depth > most || run > most {
			return t.Position.Line
		}
	}
	return 0
}
