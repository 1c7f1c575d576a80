package repotest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// specFile says which tests show which rule of the specification.
const specFile = "doc/spec.md"

const specHead = `# Rules and the tests that show them

A rule of the specification has a letter and a number (E5). A test shows a
rule when its name begins with it: a Go test or benchmark ` + "`TestE5_Clause`" + `, a
subtest "E5 clause", a conversation file ` + "`testdata/E5_clause.txt`" + `, a browser
test titled "E5 clause".

` + "`make spec`" + ` writes this file and ` + "`make check`" + ` fails when it is out of date. Only
rows that say "reviewed: REASON" are written by hand, for rules that no test
can show; they are kept.

| Rule | Shown by |
|---|---|
`

// rule is a rule's id, "E5".
type rule struct {
	letter string
	number int
}

func (r rule) String() string { return r.letter + strconv.Itoa(r.number) }

func compareRules(a, b rule) int {
	if c := strings.Compare(a.letter, b.letter); c != 0 {
		return c
	}
	return a.number - b.number
}

// proof is a test that shows a rule: its file (of a conversation, the
// directory) and its name.
type proof struct{ file, name string }

// ruleAtStart matches a rule's id where a name begins; the letters are those
// of the specification's pages.
const ruleAtStart = `([ABCDEIKNPRSUW])([0-9]{1,3})`

// proofs finds the tests that are named after rules.
func (t *tree) proofs() map[rule][]proof {
	found := map[rule][]proof{}
	note := func(file, name string, match []string) {
		if match == nil {
			return
		}
		n, _ := strconv.Atoi(match[2]) // digits, by the pattern
		r := rule{match[1], n}
		if p := (proof{file, name}); !slices.Contains(found[r], p) {
			found[r] = append(found[r], p)
		}
	}
	goName := regexp.MustCompile(`^(?:Test|Benchmark|Fuzz)` + ruleAtStart + `_`)
	title := regexp.MustCompile(`^` + ruleAtStart + ` \S`)
	for _, s := range t.code {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					note(s.path, n.Name.Name, goName.FindStringSubmatch(n.Name.Name))
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && !strings.Contains(text, "\n") {
					note(s.path, strconv.Quote(text), title.FindStringSubmatch(text))
				}
			}
			return true
		})
	}
	conversation := regexp.MustCompile(`^` + ruleAtStart + `_.*\.txt(?:ar)?$`)
	browser := regexp.MustCompile("\\b(?:test|it|describe)(?:\\.describe)?\\(\\s*[\"'`](" + ruleAtStart + " [^\"'`\\n]+)")
	for _, name := range sortedKeys(t.files) {
		dir, base := path.Split(name)
		if strings.Contains("/"+dir, "/testdata/") {
			note(path.Clean(dir), base, conversation.FindStringSubmatch(base))
		}
		if strings.HasSuffix(base, ".spec.ts") || strings.HasSuffix(base, ".test.ts") {
			for _, m := range browser.FindAllStringSubmatch(string(t.files[name]), -1) {
				note(name, strconv.Quote(m[1]), m[1:])
			}
		}
	}
	return found
}

// specText returns what doc/spec.md should hold: the found tests, and the
// reviewed rows of the present text for rules that no test shows.
func (t *tree) specText() string {
	rows := map[rule]string{}
	reviewed := regexp.MustCompile(`(?m)^\| ` + ruleAtStart + ` \| (reviewed: .*\S) \|$`)
	for _, m := range reviewed.FindAllStringSubmatch(string(t.files[specFile]), -1) {
		n, _ := strconv.Atoi(m[2]) // digits, by the pattern
		rows[rule{m[1], n}] = m[3]
	}
	for r, list := range t.proofs() {
		rows[r] = cell(list)
	}
	ids := make([]rule, 0, len(rows))
	for r := range rows {
		ids = append(ids, r)
	}
	slices.SortFunc(ids, compareRules)
	var b strings.Builder
	b.WriteString(specHead)
	for _, r := range ids {
		fmt.Fprintf(&b, "| %s | %s |\n", r, rows[r])
	}
	return b.String()
}

// cell prints the tests of one rule: the names in a file, then the file.
func cell(list []proof) string {
	byFile := map[string][]string{}
	for _, p := range list {
		byFile[p.file] = append(byFile[p.file], strings.ReplaceAll(p.name, "|", `\|`))
	}
	var parts []string
	for _, file := range sortedKeys(byFile) {
		names := byFile[file]
		slices.Sort(names)
		parts = append(parts, strings.Join(names, ", ")+" ("+file+")")
	}
	return strings.Join(parts, "; ")
}

// checkSpec compares doc/spec.md with the tests of the tree.
func checkSpec(t *tree) []string {
	got, ok := t.files[specFile]
	if !ok {
		return nil
	}
	have, want := strings.Split(string(got), "\n"), strings.Split(t.specText(), "\n")
	for i := range max(len(have), len(want)) {
		h, w := "nothing", "nothing"
		if i < len(have) {
			h = have[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if h != w {
			return []string{fmt.Sprintf("%s:%d: out of date: run make spec\n\thave %s\n\twant %s", specFile, i+1, h, w)}
		}
	}
	return nil
}
