package repotest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// threatFile says what is promised against whom, and which tests show it.
const threatFile = "doc/threat-model.md"

// checkThreats wants each row of the threat model to name a test, and each
// test that it names to exist.
func checkThreats(t *tree) []string {
	text, ok := t.files[threatFile]
	if !ok {
		return nil
	}
	there := t.testNames()
	quoted := regexp.MustCompile("`([^`]+)`")
	var out []string
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| threat |") {
			continue
		}
		at := fmt.Sprintf("%s:%d: ", threatFile, n+1)
		if len(cells) != 3 {
			out = append(out, at+fmt.Sprintf("the row has %d cells; want threat, what holds it, test", len(cells)))
			continue
		}
		tests := quoted.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 {
			out = append(out, at+"the row names no test that shows what it promises")
		}
		for _, m := range tests {
			if !there[m[1]] {
				out = append(out, at+"there is no test "+m[1])
			}
		}
	}
	return out
}

// testNames are the names of all tests and fuzz targets, and the base names of
// all conversation files.
func (t *tree) testNames() map[string]bool {
	there := map[string]bool{}
	for _, s := range t.code {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				there[f.Name.Name] = true
			}
		}
	}
	for name := range t.files {
		if strings.Contains("/"+name, "/testdata/") {
			there[path.Base(name)] = true
		}
	}
	return there
}
