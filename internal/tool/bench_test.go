package tool

import (
	"os"
	"strings"
	"testing"
)

// One call of each tool, without the model and the core.
func BenchmarkP2_Tools(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(dir+"/a/b/x", []byte(strings.Repeat("a line of text\n", 1000)), 0o644); err != nil {
		b.Fatal(err)
	}
	s, err := New(Config{Workspace: dir, Forbidden: []string{dir + "/.gamma"}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for name, args := range map[string]string{
		"read": `{"path":"a/b/x"}`, "bash": `{"command":"true"}`, "write": `{"path":"a/b/y","content":"text"}`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if out := s.Run(b.Context(), toolCall(name, args), nil); out.Outcome != outcomeOK {
					b.Fatal(out.Text)
				}
			}
		})
	}
}
