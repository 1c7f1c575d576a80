package workflows

import (
	"fmt"

	w "github.com/gamma-harness/gamma/workflow"
)

// Jobs says how many commands are run.
type Jobs struct {
	Count    int `json:"count,omitempty" jsonschema:"how many commands; 6 if it isn't given"`
	Parallel int `json:"parallel,omitempty" jsonschema:"how many at once, 8 at most; 3 if it isn't given"`
}

// Tally counts how the commands ended.
type Tally struct {
	Succeeded int      `json:"succeeded"`
	Failed    []string `json:"failed"`
}

// CommandBatch runs commands beside each other and counts how they ended. The
// last one fails, which is a result and no failure of the node.
func CommandBatch() (*w.Definition, error) {
	in := w.Input(func(j Jobs) (Jobs, error) {
		if j.Count == 0 {
			j.Count = 6
		}
		if j.Parallel == 0 {
			j.Parallel = 3
		}
		return j, nil
	})
	run := w.CommandBatch("run", func(c *w.Ctx) w.Batch {
		b := w.Batch{MaxConcurrency: in.Of(c).Parallel}
		for n := 1; n <= in.Of(c).Count; n++ {
			code := 0
			if n == in.Of(c).Count {
				code = 3
			}
			b.Items = append(b.Items, w.BatchItem{ID: fmt.Sprintf("job-%d", n), Command: "sh",
				Args: []string{"-c", fmt.Sprintf("sleep 0.1; echo job %d; exit %d", n, code)}, TimeoutMs: 10_000})
		}
		return b
	})
	tally := w.Compute("tally", func(c *w.Ctx) (Tally, error) {
		t := Tally{Failed: []string{}}
		for _, r := range run.Of(c).Items {
			if r.Outcome == "succeeded" {
				t.Succeeded++
			} else {
				t.Failed = append(t.Failed, r.ID)
			}
		}
		return t, nil
	})
	flow, err := w.Define("command-batch", in, run,
		w.Description("Run commands beside each other and count how they ended."),
		w.Then(run, tally))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
