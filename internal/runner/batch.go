package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// The limits of a batch.
const (
	maxItems       = 64
	maxConcurrency = 8
	maxItemMillis  = 3_600_000
	maxItemError   = 2000
	maxBatch       = 4 << 20  // bytes of a batch: its arguments are in the results
	batchBytes     = 20 << 20 // of JSON, which the items' streams share, each the same
)

// batch runs commands beside each other. How one ends is its result; the node
// fails only if the batch itself is wrong.
func (w *work) batch() (flow.Event, error) {
	raw, err := w.call(w.effect.Node.ID, "exec", nil)
	if err != nil {
		return w.failed(err)
	}
	var b workflow.Batch
	if err := json.Unmarshal(raw, &b); err != nil {
		return w.failed(fmt.Errorf("batch: %w", err))
	}
	if len(raw) > maxBatch {
		return w.failed(fmt.Errorf("batch: it has %d bytes; at most %d are allowed", len(raw), maxBatch))
	}
	if why := badBatch(b); why != "" {
		return w.failed(errors.New("batch: " + why))
	}
	run := w.items(b)
	out := workflow.BatchResult{Items: run.results}
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errDeadline):
		return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.TimedOutAttempt, Code: flow.CauseTimeout, Message: "the batch's time was up", Receipt: flow.ToJSON(out)}, nil
	case cause != nil:
		return nil, nil
	case run.gone != nil:
		return w.parked(run.gone, !run.begun(), flow.ToJSON(out)), nil
	}
	return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.OK, Output: flow.ToJSON(out)}, nil
}

// batchRun is what became of a batch's items.
type batchRun struct {
	results []workflow.BatchItemResult
	gone    *goneError // an item found no workspace, and none was started any more
}

// begun reports whether a command was started.
func (r batchRun) begun() bool {
	return slices.ContainsFunc(r.results, func(i workflow.BatchItemResult) bool { return i.Result != nil })
}

// items runs the items, so many at once.
func (w *work) items(b workflow.Batch) batchRun {
	run := batchRun{results: make([]workflow.BatchItemResult, len(b.Items))}
	share := batchBytes / (2 * len(b.Items))
	type ended struct {
		i    int
		r    workflow.BatchItemResult
		gone *goneError
	}
	ends := make(chan ended)
	busy := 0
	take := func() {
		e := <-ends
		busy--
		run.results[e.i] = e.r
		if e.gone != nil {
			run.gone = e.gone
		}
	}
	for i, it := range b.Items {
		for busy >= max(b.MaxConcurrency, 1) {
			take()
		}
		if run.gone != nil {
			run.results[i] = workflow.BatchItemResult{ID: it.ID, Outcome: "cancelled"}
			continue
		}
		busy++
		go func() {
			r, gone := w.item(it, share)
			ends <- ended{i, r, gone}
		}()
	}
	for busy > 0 {
		take()
	}
	return run
}

func badBatch(b workflow.Batch) string {
	if len(b.Items) == 0 || len(b.Items) > maxItems {
		return fmt.Sprintf("it has %d items; want 1 to %d", len(b.Items), maxItems)
	}
	if b.MaxConcurrency < 0 || b.MaxConcurrency > maxConcurrency {
		return fmt.Sprintf("maxConcurrency %d; want 1 to %d", b.MaxConcurrency, maxConcurrency)
	}
	id := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)
	seen := map[string]bool{}
	for i, it := range b.Items {
		switch {
		case !id.MatchString(it.ID):
			return fmt.Sprintf("item %d: id %q; want a letter or digit, then letters, digits, . _ : or -, 64 characters at most", i, it.ID)
		case seen[it.ID]:
			return fmt.Sprintf("item %d: the id %s is there twice", i, it.ID)
		case it.Command == "":
			return fmt.Sprintf("item %s: command is empty", it.ID)
		case it.TimeoutMs < 1 || it.TimeoutMs > maxItemMillis:
			return fmt.Sprintf("item %s: timeoutMs %d; want 1 to %d", it.ID, it.TimeoutMs, maxItemMillis)
		case it.MaxChars < 0 || it.MaxChars > maxChars:
			return fmt.Sprintf("item %s: maxOutputChars %d; want 1 to %d", it.ID, it.MaxChars, maxChars)
		}
		seen[it.ID] = true
	}
	return ""
}

// item runs one command of a batch.
func (w *work) item(it workflow.BatchItem, share int) (workflow.BatchItemResult, *goneError) {
	out := workflow.BatchItemResult{ID: it.ID, Outcome: "cancelled"}
	if w.ctx.Err() != nil {
		return out, nil // it wasn't started
	}
	r, err := w.command(workflow.Command{Command: it.Command, Args: it.Args, Dir: it.Dir, TimeoutMs: it.TimeoutMs, MaxChars: it.MaxChars}, share, nil)
	if err != nil {
		out.Error = shorten(text(err))
		var gone *goneError
		if !errors.As(err, &gone) {
			out.Outcome = "failed"
		}
		return out, gone
	}
	out.Result = &r
	switch {
	case r.TimedOut:
		out.Outcome = "timedOut"
	case w.ctx.Err() != nil:
	case r.ExitCode != 0:
		out.Outcome, out.Error = "failed", shorten(exitMessage(r))
	default:
		out.Outcome = "succeeded"
	}
	return out, nil
}

func shorten(s string) string {
	if len(s) > maxItemError {
		return strings.ToValidUTF8(s[:maxItemError], "")
	}
	return s
}
