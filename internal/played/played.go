// Package played plays the conversation files of a core's tests.
//
// A conversation file (testdata/*.txt) states what comes, a line each ("> verb
// …"), and under each line what that led to. Lines that start with "#" are
// comments; they and blank lines stay as they are. A test plays the lines of a
// file in order and compares; to update is to write what came out, to be read
// by a person.
package played

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Conversations plays each file in a subtest of its name, with a player of its
// own: a function that carries out one line and returns what it led to, in
// whole lines. With update the files are rewritten instead of compared.
func Conversations(t *testing.T, update bool, player func(t *testing.T) func(line string) string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversation files: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { play(t, f, update, player(t)) })
	}
}

func play(t *testing.T, file string, update bool, do func(line string) string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := again(string(want), do)
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// again returns a file's text with what its lines lead to now.
func again(text string, do func(line string) string) string {
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if says, ok := strings.CutPrefix(line, "> "); ok {
			out.WriteString(line + "\n" + do(says))
		} else if strings.HasPrefix(line, "#") || line == "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
