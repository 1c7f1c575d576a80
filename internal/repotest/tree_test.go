package repotest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is what the checks look at.
type tree struct {
	module string            // the module's path
	files  map[string][]byte // by slash path from the top
	fset   *token.FileSet
	code   []*source // Go files of the module, by path
}

// source is one parsed Go file.
type source struct {
	path string
	dir  string // the package's path without the module's
	test bool
	file *ast.File
}

// load reads the files of this repository.
func load(t *testing.T) (top string, tr *tree) {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The tree may belong to another user than the one who tests it.
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files in %s: %v; these checks need git and a clone", top, err)
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		full := filepath.Join(top, filepath.FromSlash(name))
		// A tracked file may be gone from the working tree.
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if files[name], err = os.ReadFile(full); err != nil {
			t.Fatal(err)
		}
	}
	if tr, err = parse(files); err != nil {
		t.Fatal(err)
	}
	return top, tr
}

// parse makes a tree from files, among them the module's go.mod.
func parse(files map[string][]byte) (*tree, error) {
	t := &tree{files: files, fset: token.NewFileSet()}
	first, _, _ := bytes.Cut(files["go.mod"], []byte("\n"))
	module, ok := strings.CutPrefix(string(first), "module ")
	if !ok {
		return nil, fmt.Errorf("go.mod: the first line is %q, want module PATH", first)
	}
	t.module = strings.TrimSpace(module)
	for _, name := range sortedKeys(files) {
		if path.Ext(name) != ".go" || t.isData(path.Dir(name)) {
			continue
		}
		f, err := parser.ParseFile(t.fset, name, files[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		t.code = append(t.code, &source{
			path: name, dir: path.Dir(name), file: f,
			test: strings.HasSuffix(name, "_test.go"),
		})
	}
	return t, nil
}

// isData reports whether Go files in dir are no code of this module.
func (t *tree) isData(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		base := path.Base(dir)
		if base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '_' || base[0] == '.' {
			return true
		}
		if _, ok := t.files[dir+"/go.mod"]; ok {
			return true
		}
	}
	return false
}

// at returns a finding at a node of a Go file.
func (t *tree) at(n ast.Node, format string, args ...any) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: ", p.Filename, p.Line) + fmt.Sprintf(format, args...)
}

// lines returns how many lines of source n covers.
func (t *tree) lines(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}

// production returns the Go files that aren't tests.
func (t *tree) production() []*source {
	return slices.DeleteFunc(slices.Clone(t.code), func(s *source) bool { return s.test })
}

// packages returns the directories that hold Go files.
func (t *tree) packages() []string {
	dirs := map[string]bool{}
	for _, s := range t.code {
		dirs[s.dir] = true
	}
	return sortedKeys(dirs)
}

// ours returns the package that an import names, without the module's path,
// and whether it is one of ours.
func (t *tree) ours(imp string) (string, bool) {
	if imp == t.module {
		return ".", true
	}
	return strings.CutPrefix(imp, t.module+"/")
}

// importPath returns the path in an import declaration.
func importPath(s *ast.ImportSpec) string { return strings.Trim(s.Path.Value, "`\"") }

// sortedKeys returns a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// localName returns the name by which a file knows an imported package, or ""
// if it doesn't import it by name.
func (s *source) localName(imp string) string {
	for _, i := range s.file.Imports {
		if importPath(i) != imp {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path.Base(imp)
	}
	return ""
}

// selects reports whether n is PACKAGE.NAME with one of the names, and which.
func selects(n ast.Node, pkg string, names ...string) (string, bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	return sel.Sel.Name, ok && pkg != "" && x.Name == pkg && slices.Contains(names, sel.Sel.Name)
}
