package runs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gamma-harness/gamma/runs"
)

// TestW40_AWatchEndsWithServe: what Serve has ended with reaches who watches.
func TestW40_AWatchEndsWithServe(t *testing.T) {
	flow, dir := bought(t), t.TempDir()
	h := opened(t, runs.Options{Dir: dir}, flow.Definition())
	id, err := runs.Start(t.Context(), h, flow, Order{"a lamp"}, runs.Place{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	go func() { stop(h.Serve(ctx)) }()
	var last error
	for run, err := range h.Watch(ctx, id) {
		if run.Question != nil {
			if err := os.Remove(filepath.Join(dir, "gamma.db")); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if !errors.Is(last, runs.ErrGone) {
		t.Errorf("got %v", last)
	}
}
