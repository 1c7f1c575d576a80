package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// The limits of a batch.
const (
	maxItems       = 64
	maxConcurrency = 8
	maxItemMillis  = 3_600_000
	maxItemError   = 2000
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
	if why := badBatch(b); why != "" {
		return w.failed(errors.New("batch: " + why))
	}
	out := workflow.BatchResult{Items: make([]workflow.BatchItemResult, len(b.Items))}
	slots := make(chan struct{}, max(b.MaxConcurrency, 1))
	var all sync.WaitGroup
	for i, item := range b.Items {
		slots <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			out.Items[i] = w.item(item)
			<-slots
		}()
	}
	all.Wait()
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errDeadline):
		return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.TimedOutAttempt, Code: "timeout", Message: "the batch's time was up", Receipt: toJSON(out)}, nil
	case cause != nil:
		return nil, nil
	}
	return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.OK, Output: toJSON(out)}, nil
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
func (w *work) item(it workflow.BatchItem) workflow.BatchItemResult {
	out := workflow.BatchItemResult{ID: it.ID, Outcome: "cancelled"}
	if w.ctx.Err() != nil {
		return out // it wasn't started
	}
	r, err := w.command(w.ctx, workflow.Command{Command: it.Command, Args: it.Args, Dir: it.Dir, TimeoutMs: it.TimeoutMs, MaxChars: it.MaxChars}, nil)
	if err != nil {
		out.Outcome, out.Error = "failed", shorten(text(err))
		return out
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
	return out
}

func shorten(s string) string {
	if len(s) > maxItemError {
		return strings.ToValidUTF8(s[:maxItemError], "")
	}
	return s
}
