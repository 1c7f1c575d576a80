package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestR2_ReadmeExample runs what the README tells people to copy: a kill in
// the middle of a command, and the resumption.
func TestR2_ReadmeExample(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## Kill it and go on")
	_, after, _ := strings.Cut(section, "```sh\n")
	script, _, ok := strings.Cut(after, "```")
	if !ok || !strings.Contains(script, "kill -9") {
		t.Fatal("the README has no such example")
	}
	p := newPlace(t)
	cmd := exec.Command("bash", "-c", strings.Replace(script, "sleep 20", "sleep 1", 1))
	cmd.Dir = p.ws
	cmd.Env = append(p.cmd().Env, "PATH="+filepath.Dir(gammaBin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	r := p.finish(cmd)
	if r.code != 0 || !strings.Contains(r.stdout, "  interrupted  ") || !strings.HasSuffix(r.stdout, "The command had begun: log.txt has its line.\n") ||
		!strings.Contains(r.stderr, "? bash echo started >> log.txt; sleep 1 · outcome unknown") {
		t.Errorf("exit %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}
