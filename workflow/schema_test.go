package workflow_test

import (
	"os"
	"path/filepath"
	"testing"

	w "github.com/gamma-harness/gamma/workflow"
)

// TestW7_TheFolderOfTheHostDoesNotMatter: a run depends on its stored
// definition, not on where the process that carries it out stands.
func TestW7_TheFolderOfTheHostDoesNotMatter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "100%")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	schema := w.JSON(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`)
	if broken, err := w.Violations(schema, w.JSON(`{"n":1}`)); err != nil || len(broken) > 0 {
		t.Errorf("%v, %v", broken, err)
	}
	if broken, err := w.Violations(schema, w.JSON(`{"n":"x"}`)); err != nil || len(broken) != 1 {
		t.Errorf("%v, %v", broken, err)
	}
}
