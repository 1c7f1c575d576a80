package repotest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write doc/spec.md from the tests that are there")

// check is one property of the whole repository.
type check struct {
	name string
	run  func(*tree) []string
}

func checks() []check {
	return []check{
		{"imports", checkImports},
		{"purity", checkPurity},
		{"package docs", checkPackageDocs},
		{"exported docs", checkExportedDocs},
		{"file length", checkFileLength},
		{"function length", checkFunctionLength},
		{"package names", checkPackageNames},
		{"package state", checkState},
		{"forbidden text", checkText},
		{"unfinished", checkUnfinished},
		{"R5 sleeps and skips", checkSleeps},
		{"R5 goroutine leaks", checkLeaks},
		{"spec index", checkSpec},
		{"R20 threat model", checkThreats},
	}
}

func TestRepository(t *testing.T) {
	top, tr := load(t)
	if *update {
		text := tr.specText()
		if err := os.WriteFile(filepath.Join(top, filepath.FromSlash(specFile)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		tr.files[specFile] = []byte(text)
	}
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			for _, finding := range c.run(tr) {
				t.Error(finding)
			}
		})
	}
}
