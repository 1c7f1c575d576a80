package repotest

import (
	"go/ast"
	"slices"
	"strings"
)

const (
	packageDocLines = 3
	packageDocChars = 200
)

// checkPackageDocs wants one package comment a package, and a substantial one
// where others import the package.
func checkPackageDocs(t *tree) []string {
	docs := map[string][]*source{}
	for _, s := range t.code {
		if !s.test && s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			docs[s.dir] = append(docs[s.dir], s)
		}
	}
	var out []string
	for _, dir := range t.packages() {
		switch d := docs[dir]; {
		case len(d) == 0:
			out = append(out, dir+": the package has no package comment: say what it holds, what it refuses, its invariants and formats")
		case len(d) > 1:
			out = append(out, t.at(d[1].file.Doc, "a second package comment; the first is in %s", d[0].path))
		case d[0].file.Name.Name != "main":
			text := strings.TrimSpace(d[0].file.Doc.Text())
			if n := strings.Count(text, "\n") + 1; n < packageDocLines || len(text) < packageDocChars {
				out = append(out, t.at(d[0].file.Doc, "the package comment has %d lines and %d characters; want at least %d and %d", n, len(text), packageDocLines, packageDocChars))
			}
		}
	}
	return out
}

// checkExportedDocs wants a comment at each exported name: functions, methods
// of exported types, types, constants and variables. The methods of the error
// interfaces mean the same everywhere and need none.
func checkExportedDocs(t *tree) []string {
	var out []string
	for _, s := range t.production() {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && !isErrorMethod(d) && !says(d.Doc) {
					out = append(out, t.at(d, "%s is exported and has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				out = append(out, t.undocumented(d)...)
			}
		}
	}
	return out
}

func isErrorMethod(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "Is", "As"}, d.Name.Name)
}

// exportedReceiver reports whether d is a function, or a method that a user of
// the package can see.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// undocumented finds exported types, constants and variables without a
// comment. For constants and variables the comment of their group is enough.
func (t *tree) undocumented(d *ast.GenDecl) []string {
	var out []string
	report := func(name *ast.Ident) {
		if name.IsExported() {
			out = append(out, t.at(name, "%s is exported and has no comment", name.Name))
		}
	}
	for _, spec := range d.Specs {
		switch v := spec.(type) {
		case *ast.TypeSpec:
			if !says(v.Doc) && !says(v.Comment) && (d.Lparen.IsValid() || !says(d.Doc)) {
				report(v.Name)
			}
		case *ast.ValueSpec:
			if says(d.Doc) || says(v.Doc) || says(v.Comment) {
				continue
			}
			for _, name := range v.Names {
				report(name)
			}
		}
	}
	return out
}

// says reports whether a comment has text besides directives.
func says(c *ast.CommentGroup) bool { return c != nil && strings.TrimSpace(c.Text()) != "" }
