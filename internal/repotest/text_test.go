package repotest

import (
	"bytes"
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// checkText finds names of a build machine and of package registries, in any
// file. They are put together here so that this file doesn't hold them.
func checkText(t *tree) []string {
	machine := []string{"/wo" + "rk/", "/far" + "m/", "/tmp/bash" + "_jobs"}
	registries := []string{"proxy." + "golang.org", "registry." + "npmjs.org", "deb." + "debian.org"}
	var out []string
	for _, name := range sortedKeys(t.files) {
		for _, bad := range machine {
			if line, ok := lineOf(t.files[name], bad); ok {
				out = append(out, fmt.Sprintf("%s:%d: %q is a path of one machine", name, line, bad))
			}
		}
		for _, bad := range registries {
			if line, ok := lineOf(t.files[name], bad); ok {
				out = append(out, fmt.Sprintf("%s:%d: %q is a registry's host: leave the choice to the user's settings (npm: omit-lockfile-registry-resolved)", name, line, bad))
			}
		}
	}
	return out
}

// lineOf returns the number of the first line with text in it.
func lineOf(b []byte, text string) (int, bool) {
	i := bytes.Index(b, []byte(text))
	if i < 0 {
		return 0, false
	}
	return bytes.Count(b[:i], []byte("\n")) + 1, true
}

// checkUnfinished finds markers of unfinished work in Go files.
func checkUnfinished(t *tree) []string {
	marker := regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}, "|") + `)\b`)
	var out []string
	for _, name := range sortedKeys(t.files) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		for _, m := range marker.FindAllIndex(t.files[name], -1) {
			line := bytes.Count(t.files[name][:m[0]], []byte("\n")) + 1
			out = append(out, fmt.Sprintf("%s:%d: %s: finish it, or write it down in doc/rough-edges.md", name, line, t.files[name][m[0]:m[1]]))
		}
	}
	return out
}

// checkSleeps finds tests that wait by the clock or leave themselves out.
func checkSleeps(t *tree) []string {
	var out []string
	for _, s := range t.code {
		if !s.test {
			continue
		}
		clock, handles := s.localName("time"), s.testHandles()
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, ok := selects(n, clock, "Sleep"); ok {
				out = append(out, t.at(n, "time.Sleep in a test: wait for the event itself, in a testing/synctest bubble where it is about time"))
			}
			for _, h := range handles {
				if name, ok := selects(n, h, "Skip", "Skipf", "SkipNow"); ok {
					out = append(out, t.at(n, "%s.%s: a test that may leave itself out proves nothing: set up what it needs", h, name))
				}
			}
			return true
		})
	}
	return out
}

// checkLeaks wants goleak in the tests of each package that starts
// goroutines.
func checkLeaks(t *tree) []string {
	starts, looks := map[string]ast.Node{}, map[string]bool{}
	for _, s := range t.code {
		if s.test {
			looks[s.dir] = looks[s.dir] || s.localName("go.uber.org/goleak") != ""
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && starts[s.dir] == nil {
				starts[s.dir] = g
			}
			return true
		})
	}
	var out []string
	for _, dir := range sortedKeys(starts) {
		if !looks[dir] {
			out = append(out, t.at(starts[dir], "%s starts a goroutine and no test of it looks for leaks: call goleak.VerifyTestMain in a TestMain", dir))
		}
	}
	return out
}

// testHandles returns the names of the file's parameters and variables of
// testing's types.
func (s *source) testHandles() []string {
	names := map[string]bool{}
	pkg := s.localName("testing")
	ast.Inspect(s.file, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		typ := f.Type
		if p, ok := typ.(*ast.StarExpr); ok {
			typ = p.X
		}
		if _, ok := selects(typ, pkg, "T", "B", "F", "TB"); ok {
			for _, name := range f.Names {
				names[name.Name] = true
			}
		}
		return true
	})
	return sortedKeys(names)
}
