package repotest

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// checkImports compares each package's imports with its row in the table.
func checkImports(t *tree) []string {
	var out []string
	table := rooms()
	for _, dir := range t.packages() {
		if _, ok := table[dir]; !ok {
			out = append(out, dir+": the package has no row in the import table: add one to internal/repotest/table_test.go")
		}
	}
	for _, s := range t.code {
		for _, i := range s.file.Imports {
			pkg, ok := t.ours(importPath(i))
			if !ok {
				continue
			}
			if apart(s.dir, pkg) {
				out = append(out, t.at(i, "session and flow never import each other, not even in tests"))
			} else if r, ok := table[s.dir]; ok && !s.test && !r.allows(pkg) {
				out = append(out, t.at(i, "%s may not import %s: its row in the import table doesn't name it", s.dir, pkg))
			}
		}
	}
	return out
}

// apart reports whether one is the session core and the other the flow core.
func apart(a, b string) bool {
	return a == "internal/session" && b == "internal/flow" || a == "internal/flow" && b == "internal/session"
}

// impure reports whether a core package may not import imp.
func impure(imp string) bool {
	for _, root := range []string{"os", "io/ioutil", "path/filepath", "net", "database", "syscall", "log", "runtime",
		"context", "sync", "math/rand", "crypto/rand",
		"golang.org/x/sys", "github.com/google/uuid", "github.com/google/renameio", "github.com/gofrs/flock"} {
		if imp == root || strings.HasPrefix(imp, root+"/") {
			return true
		}
	}
	return false
}

// checkPurity keeps the outside world out of the core.
func checkPurity(t *tree) []string {
	var out []string
	table := rooms()
	for _, s := range t.production() {
		if table[s.dir].group != core {
			continue
		}
		for _, i := range s.file.Imports {
			if impure(importPath(i)) {
				out = append(out, t.at(i, "%s is pure and may not import %s: let an edge package do it and pass the value in", s.dir, importPath(i)))
			}
		}
		clock, print := s.localName("time"), s.localName("fmt")
		ast.Inspect(s.file, func(n ast.Node) bool {
			if what := impurity(n, clock, print); what != "" {
				out = append(out, t.at(n, "%s is pure and may not use %s", s.dir, what))
			}
			return true
		})
	}
	return out
}

// impurity names what a node of a core package does that it may not do, or
// returns "". clock and print are the file's names for time and fmt.
func impurity(n ast.Node, clock, print string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		return "a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a channel"
		}
	case *ast.SelectorExpr:
		if name, ok := selects(n, clock, "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick",
			"NewTimer", "NewTicker", "Local", "LoadLocation"); ok {
			return "time." + name + ": take the time from the event"
		}
		if name, ok := selects(n, print, "Print", "Printf", "Println", "Scan", "Scanf", "Scanln"); ok {
			return "fmt." + name
		}
	}
	return ""
}

// checkState refuses what runs or lives outside of any function.
func checkState(t *tree) []string {
	var out []string
	used := map[string]bool{}
	for _, s := range t.code {
		if !s.test {
			out = append(out, t.importsForEffect(s)...)
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					out = append(out, t.at(d, "init functions are not allowed: do it where the wiring is"))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR && !s.test {
					out = append(out, t.variables(s, d, used)...)
				}
			}
		}
	}
	for _, name := range sortedKeys(variables()) {
		dir := name[:strings.LastIndex(name, ".")]
		if !used[name] && slices.Contains(t.packages(), dir) {
			out = append(out, name+": the list of allowed variables names it, but the package has no such variable: drop it from internal/repotest/table_test.go")
		}
	}
	return out
}

// importsForEffect finds blank imports (embed's is its documented use) and
// dot imports, which would hide names from the other checks.
func (t *tree) importsForEffect(s *source) []string {
	var out []string
	for _, i := range s.file.Imports {
		if i.Name == nil {
			continue
		}
		if i.Name.Name == "_" && importPath(i) != "embed" || i.Name.Name == "." {
			out = append(out, t.at(i, "import of %s as %q: import it by name and call what you need", importPath(i), i.Name.Name))
		}
	}
	return out
}

// variables finds variables of a package that are not allowed, and marks the
// listed ones that it sees.
func (t *tree) variables(s *source, d *ast.GenDecl, used map[string]bool) []string {
	var out []string
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			full := s.dir + "." + name.Name
			if _, ok := variables()[full]; ok {
				used[full] = true
				continue
			}
			if name.Name == "_" || isError(v, i) || isEmbed(d, v) {
				continue
			}
			out = append(out, t.at(name, "variable %s of the package: make it a constant, a function or a field (or list it with a reason in internal/repotest/table_test.go)", name.Name))
		}
	}
	return out
}

// isError reports whether the i-th name of v is a sentinel error: its value
// comes from errors.New or fmt.Errorf, or it is named ErrX and set to a value.
func isError(v *ast.ValueSpec, i int) bool {
	if i >= len(v.Values) {
		return false
	}
	if strings.HasPrefix(v.Names[i].Name, "Err") {
		return true
	}
	call, ok := v.Values[i].(*ast.CallExpr)
	if !ok {
		return false
	}
	_, isNew := selects(call.Fun, "errors", "New")
	_, isErrorf := selects(call.Fun, "fmt", "Errorf")
	return isNew || isErrorf
}

// isEmbed reports whether a variable's value is embedded by the compiler.
func isEmbed(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// checkPackageNames refuses names that say nothing about what is held.
func checkPackageNames(t *tree) []string {
	bad := []string{"util", "utils", "common", "types", "models", "helper", "helpers", "manager", "service", "core", "base"}
	var out []string
	for _, s := range t.code {
		name := strings.TrimSuffix(s.file.Name.Name, "_test")
		if slices.Contains(bad, name) || slices.Contains(bad, path.Base(s.dir)) {
			out = append(out, t.at(s.file.Name, "package %s in %s: name the package after what it holds", name, s.dir))
		}
	}
	return out
}
