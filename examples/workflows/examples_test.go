package workflows_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/examples/workflows"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/workflow"
)

// TestC11_EachExampleRuns carries each example out on a folder with a README.
// Those with steps for a model run in internal/e2e, over HTTP.
func TestC11_EachExampleRuns(t *testing.T) {
	inputs := map[string]string{"delay-retry": `{"seconds":1}`, "progress": `{"files":3}`, "human-decision": `{"task":"read, then write"}`}
	outputs := map[string]string{
		"branch":         `"README.md has 2 lines."`,
		"command-batch":  `{"succeeded":5,"failed":["job-6"]}`,
		"delay-retry":    `"It worked at last, and then we waited."`,
		"fix-loop":       `{"passed":true,"log":"3 lines, want 3\n"}`,
		"human-decision": `{"steps":["read","write"]}`,
		"include":        `"README.md is short: 8 bytes."`,
		"progress":       `"3 files were checked."`,
	}
	for _, e := range workflows.All() {
		def, err := e.Make()
		if err != nil {
			t.Fatal(err)
		}
		if script := filepath.Join("scripts", e.Name+".yaml"); talks(def) {
			if _, err := llm.LoadScript(script); err != nil { // package e2e runs it with the binary
				t.Errorf("%s has no model to run it offline: %v", e.Name, err)
			}
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			if def.Graph.Name != e.Name || def.Graph.Description == "" {
				t.Errorf("its name is %s, its description %q", def.Graph.Name, def.Graph.Description)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("one\ntwo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			input := inputs[e.Name]
			if input == "" {
				input = "{}"
			}
			if got := carry(t, def, dir, input); got != outputs[e.Name] {
				t.Errorf("got %s, want %s", got, outputs[e.Name])
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("it left %v behind (%v)", left, err)
			}
		})
	}
}

// talks reports whether a workflow has a step for a model.
func talks(d *workflow.Definition) bool {
	return slices.ContainsFunc(d.Graph.Nodes, func(n workflow.Node) bool { return n.NodeType == workflow.TypeAgent })
}

// carry runs a workflow to its end and returns its output. People say yes.
func carry(t *testing.T, def *workflow.Definition, dir, input string) string {
	db, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "gamma.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := host.NewRuns(host.Config{Store: db, Holder: "test", Env: func(string) []string { return os.Environ() },
		Find: func(store.Definition) (*workflow.Definition, error) { return def, nil }})
	id, err := h.Start(t.Context(), host.Request{Definition: def, Source: "test", Input: workflow.JSON(input), Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	for {
		run, err := h.Drive(t.Context(), id, nil)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == flow.Waiting {
			if err := h.Send(t.Context(), id, flow.Answer{Decision: run.Open.Decision, Choice: "yes", By: "test"}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if run.Status != flow.Completed {
			t.Fatalf("%s: %s", run.Status, run.Message)
		}
		out, err := db.Output(t.Context(), id, run.Nodes[run.Result].Seq)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
}
