package catalog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/workflow"
)

func named(name, revision string) catalog.Make {
	return func() (*workflow.Definition, error) {
		in := workflow.Input[struct{}]()
		f, err := workflow.Define(name, in, workflow.Compute("one", func(*workflow.Ctx) (string, error) { return "", nil }), workflow.Revision(revision))
		if err != nil {
			return nil, err
		}
		return f.Definition(), nil
	}
}

func TestW5_AllFaultsOfAProgramsWorkflowsAtOnce(t *testing.T) {
	broken := func() (*workflow.Definition, error) { return nil, errors.New("broken") }
	_, err := catalog.New([]catalog.Make{nil, broken, named("list", "1"), named("mine", "1"), named("mine", "2"), named("echo", "1"),
		func() (*workflow.Definition, error) { return nil, nil }}, true)
	for _, want := range []string{"workflow 1: it is nil", "workflow 2: broken", `"list" is reserved`, `workflow 5: workflow 4 has the name "mine" too`,
		`workflow 6: an example has the name "echo"`, "workflow 7: it has no definition"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestW7_ARunGoesOnOnlyOnItsDefinition(t *testing.T) {
	have := func(make ...catalog.Make) *catalog.Catalog {
		c, err := catalog.New(make, false)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := have(named("mine", "1"))
	d, _ := first.All()[0].Make()
	stored := host.Describe(d, first.All()[0].Source)
	for _, c := range []struct {
		have *catalog.Catalog
		want string
	}{
		{have(named("other", "1"), named("mine", "1")), ""},
		{have(named("mine", "2")), "has changed since the run began: go on with the mytool that began it"},
		{have(named("other", "1")), "isn't in this mytool"},
		{nil, "isn't in this mytool"},
	} {
		_, err := c.have.Stored(stored, "mytool")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestW12_WhetherThereIsADatabase: asking makes none.
func TestW12_WhetherThereIsADatabase(t *testing.T) {
	dir := t.TempDir()
	want := func(there bool) {
		t.Helper()
		if got, err := catalog.There(dir); err != nil || got != there {
			t.Errorf("got %v, %v, want %v", got, err, there)
		}
	}
	want(false)
	if err := os.Symlink("nothing", filepath.Join(dir, "gamma.db")); err != nil {
		t.Fatal(err)
	}
	want(true)
	if err := os.Remove(filepath.Join(dir, "gamma.db")); err != nil {
		t.Fatal(err)
	}
	db, life, err := catalog.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer life.Close()
	want(true)
	dir = filepath.Join(dir, "gamma.db") // no folder
	if _, err := catalog.There(dir); err == nil {
		t.Error("a file is no data directory, and no error came")
	}
}
