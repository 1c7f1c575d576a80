package e2e

import (
	"strconv"
	"strings"
	"testing"
)

// TestW41_AnUpdateIsPublishedOnce: wherever a process dies around a model's
// update of its step, whoever goes on publishes it once.
func TestW41_AnUpdateIsPublishedOnce(t *testing.T) {
	t.Parallel()
	script := "version: 1\nsteps:\n  - tools: [{name: workflow, args: {action: update, update: {type: note, key: a, data: {n: 1}}}}]\n" +
		submits(`{"answer": "Any."}`)
	points := map[string]bool{}
	for n := 1; ; n++ {
		p := newPlace(t)
		p.bin = crashBin
		p.script(script)
		if !p.diesAt("store.after-commit:"+strconv.Itoa(n), "run", "echo", "tea") {
			if n < 6 {
				t.Fatalf("only %d commits", n-1)
			}
			break
		}
		if p.history() == nil {
			continue // it died before there was a run
		}
		p.ok("run", "--resume", "last")
		published := strings.Count(p.ok("runs", "export", "last").stdout, `"kind":"updated"`)
		if published != 1 {
			t.Errorf("killed behind commit %d: published %d times", n, published)
		}
		points[p.runStatus()] = true
	}
	if len(points) != 1 || !points["completed "] {
		t.Errorf("the runs ended as %v", points)
	}
}
