// Package mutant plays a table of rules that can be switched off: a simulator
// that doesn't notice a rule's absence doesn't test the rule.
//
// A row is a rule's name and what happens without the rule. In the sources the
// name stands in a hook. A name "Group:case" is one case of a hook "Group:".
package mutant

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Rule is a row: a name and what the switched-off rule does instead.
type Rule = [2]string

// Found is what a search has come to: the seed of the first history that
// failed and why, or, without a fault, how many histories the mutant survived.
type Found struct {
	Seed      uint64
	Fault     string
	Histories uint64
}

// Hunt switches off one rule after the other, each in a subtest, and fails
// where search finds nothing. off switches off a rule, or none with "".
func Hunt(t *testing.T, rules []Rule, off func(name string), search func(name string) Found) {
	t.Cleanup(func() { off("") })
	for _, r := range rules {
		t.Run(r[0], func(t *testing.T) {
			off(r[0])
			f := search(r[0])
			if f.Fault == "" {
				t.Fatalf("survived %d histories: %s", f.Histories, r[1])
			}
			what, _, _ := strings.Cut(f.Fault, "\n")
			t.Logf("seed %d: %s", f.Seed, what)
		})
	}
}

// Listed holds a table against the hooks in the sources of dirs. before is what
// stands before a hook's name there, as a regular expression.
func Listed(t *testing.T, rules []Rule, before string, dirs ...string) {
	hooked, listed := map[string]bool{}, map[string]bool{}
	hook := regexp.MustCompile(`(?:` + before + `)"((?:\w+\.)?[A-Z]\w+:?)"`)
	for _, dir := range dirs {
		for _, source := range sources(t, dir) {
			for _, m := range hook.FindAllStringSubmatch(source, -1) {
				hooked[m[1]] = true
			}
		}
	}
	for _, r := range rules {
		name := r[0]
		if group, _, ok := strings.Cut(name, ":"); ok {
			name = group + ":"
		}
		listed[name] = true
		if !hooked[name] {
			t.Errorf("no hook for %s", r[0])
		}
	}
	for name := range hooked {
		if !listed[name] {
			t.Errorf("the hook %s is not in the table", name)
		}
	}
}

// sources returns the texts of a folder's Go files without its tests.
func sources(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	var out []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}
