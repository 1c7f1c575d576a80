package workflow_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestW2_WhatMustNotCompile builds programs that are wrong by their types. The
// first line of each says what the compiler must complain of.
func TestW2_WhatMustNotCompile(t *testing.T) {
	dirs, err := filepath.Glob("testdata/compile/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	args := []string{"build", "-o", t.TempDir()}
	for _, d := range dirs {
		args = append(args, "./"+d)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	if err == nil {
		t.Fatal("all of them compile")
	}
	said := map[string]string{} // by program
	for line := range strings.Lines(string(out)) {
		file, _, _ := strings.Cut(line, ":")
		name := filepath.Base(filepath.Dir(file))
		if said[name] == "" {
			said[name] = line
		}
	}
	for _, d := range dirs {
		src, err := os.ReadFile(filepath.Join(d, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(src), "\n")
		want := strings.TrimPrefix(first, "// want: ")
		if got := said[filepath.Base(d)]; !strings.Contains(got, want) {
			t.Errorf("%s: the compiler says %q, want %q in it", d, got, want)
		}
	}
}
