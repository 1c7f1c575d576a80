package repotest

import (
	"fmt"
	"go/ast"
	"strings"
)

const (
	fileLines      = 800 // no file is longer
	longFileLines  = 500 // a longer one is listed with a reason
	longFileCount  = 5   // and no more than so many are
	funcLines      = 100 // no function is longer
	longFuncLines  = 40  // few are
	longFuncShare  = 5   // percent
	longFuncListed = 20  // how many a finding names
)

// checkFileLength keeps files short, tests too.
func checkFileLength(t *tree) []string { return fileLengths(t, longFiles()) }

// fileLengths finds files that are too long; listed holds the ones that may
// be long.
func fileLengths(t *tree, listed map[string]string) []string {
	var out []string
	if len(listed) > longFileCount {
		out = append(out, fmt.Sprintf("internal/repotest/table_test.go: %d long files are listed; want at most %d", len(listed), longFileCount))
	}
	for _, name := range sortedKeys(listed) {
		if _, ok := t.files[name]; !ok {
			out = append(out, name+": there is no such file: drop it from the list of long files")
		}
	}
	for _, s := range t.code {
		n := strings.Count(string(t.files[s.path]), "\n")
		_, ok := listed[s.path]
		switch {
		case n > fileLines:
			out = append(out, fmt.Sprintf("%s:1: %d lines; no file has more than %d: split it by what it holds", s.path, n, fileLines))
		case n > longFileLines && !ok:
			out = append(out, fmt.Sprintf("%s:1: %d lines; a file over %d is split, or listed with a reason in internal/repotest/table_test.go", s.path, n, longFileLines))
		case n <= longFileLines && ok:
			out = append(out, fmt.Sprintf("%s:1: %d lines: drop it from the list of long files", s.path, n))
		}
	}
	return out
}

// checkFunctionLength keeps functions short, outside of tests.
func checkFunctionLength(t *tree) []string {
	var out, long []string
	total := 0
	for _, s := range t.production() {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			total++
			if n := t.lines(f); n > funcLines {
				out = append(out, t.at(f, "%s has %d lines; no function has more than %d", f.Name.Name, n, funcLines))
			} else if n > longFuncLines {
				long = append(long, t.at(f, "%s has %d lines", f.Name.Name, n))
			}
		}
	}
	if n := len(long) + len(out); n*100 > total*longFuncShare {
		out = append(out, fmt.Sprintf("%d of %d functions have over %d lines; want at most %d %%:\n\t%s", n, total,
			longFuncLines, longFuncShare, strings.Join(long[:min(len(long), longFuncListed)], "\n\t")))
	}
	return out
}
