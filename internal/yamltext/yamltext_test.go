package yamltext

import (
	"strings"
	"testing"
)

func TestParseTellsWhereAndWhy(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		roots int
		kind  Kind
		line  int
	}{
		"a document":    {"a: 1\n", 1, 0, 0},
		"nothing":       {"", 0, 0, 0},
		"comments":      {"# a\n", 0, 0, 0},
		"two documents": {"a: 1\n---\nb: 2\n", 2, 0, 0},
		"no YAML":       {"a: 1\nb: [\n", 0, Syntax, 2},
		"brackets":      {"a: 1\nb: " + strings.Repeat("[", 9), 0, Deep, 2},
		"openers":       {strings.Repeat("- ", 9) + "x", 0, Deep, 1},
	} {
		t.Run(name, func(t *testing.T) {
			roots, fault := Parse(c.text, 8, 0)
			if len(roots) != c.roots || (fault == nil) != (c.kind == 0) {
				t.Fatalf("%d roots, %+v", len(roots), fault)
			}
			if fault != nil && (fault.Kind != c.kind || fault.Line != c.line || fault.Reason == "") {
				t.Errorf("%+v", fault)
			}
		})
	}
}
