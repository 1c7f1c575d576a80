package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// The exit codes.
const (
	exitDone       = 0
	exitError      = 1
	exitUsage      = 2
	exitHuman      = 3
	exitDenied     = 4
	exitLimit      = 5
	exitIncomplete = 6
	exitLocked     = 7
	exitInterrupt  = 130
)

// outcome maps how a run settled to the status and the exit code.
func outcome(r *session.Run) (status string, code int) {
	switch r.Reason {
	case transcript.Done, transcript.NoYield:
		status, code = "done", exitDone
	case transcript.Interrupted:
		if status, code = "done", exitDone; r.Copied { // nothing goes on without words
			status, code = "needs_human", exitHuman
		}
	case transcript.Yield:
		status, code = "needs_human", exitHuman
		if r.Yield != nil && r.Yield.Reason == "complete" {
			status, code = "done", exitDone
		}
	case transcript.Length, transcript.ContentFilter, transcript.ModelIncomplete:
		status, code = "incomplete", exitIncomplete
	case transcript.Limit, transcript.ContextOverflow, transcript.Irreducible:
		status, code = "limit", exitLimit
	case transcript.Aborted:
		status, code = "error", exitInterrupt
		if byWorkflow(r) {
			code = exitError
		}
	default:
		status, code = "error", exitError
	}
	if code == exitDone && len(r.Denials) > 0 {
		status, code = "denied", exitDenied
	}
	return status, code
}

// byWorkflow reports whether a run was a workflow's step that the workflow
// ended, and no person.
func byWorkflow(r *session.Run) bool {
	return r.Reason == transcript.Aborted && r.Abort != nil && r.Abort.Cause != "" && r.Abort.Cause != transcript.CauseEscape
}

// resultOf makes the last line of a run.
func resultOf(id string, r *session.Run) (wire.Result, int) {
	status, code := outcome(r)
	out := wire.Result{Type: "result", Status: status, Reason: string(r.Reason), Detail: r.Detail, Session: id,
		Run: r.ID.String(), Text: r.Text, Usage: wire.Usage(r.Usage), Denials: []wire.Denial{}}
	if byWorkflow(r) {
		out.Detail = "the step was ended by its workflow: " + r.Abort.Cause
	}
	if r.Reason == transcript.Yield && r.Yield != nil {
		out.Yield, out.Text = owner.MessageOf(r.Yield), r.Yield.Text
	}
	for _, d := range r.Denials {
		out.Denials = append(out.Denials, wire.Denial(d))
	}
	if f := r.LastFail; f != nil && code == exitError {
		out.Error = &wire.Error{Code: f.Code, Class: string(f.Class), Status: f.Status, Message: f.Message}
	}
	return out, code
}

// epilogue says in words why a run ended in a way that people should know of,
// and what the command to go on is good for. Both are "" if it is done.
// repeat: the run is an old one.
func epilogue(r wire.Result, repeat bool) (why, hint string) {
	const goOn = "Go on with:"
	run := func(now, old string) string {
		if repeat {
			return "The last run " + old
		}
		return now
	}
	failure := r.Detail
	if r.Error != nil {
		failure = r.Error.Message
	}
	switch transcript.Reason(r.Reason) {
	case transcript.Yield:
		if r.Status == "needs_human" && r.Yield == nil {
			return "Waiting for you (what for is lost).", "Answer with:"
		}
		if r.Status == "needs_human" {
			return fmt.Sprintf("Waiting for you (%s).", r.Yield.Reason), "Answer with:"
		}
	case badOutput:
		return "! " + failure, goOn
	case transcript.NoYield:
		return "The model stopped while a task was still in progress.", goOn
	case transcript.Aborted:
		if r.Detail != "" { // no person stopped it
			return run("Stopped: ", "was stopped: ") + r.Detail + ".", goOn
		}
		return run("Stopped by you.", "was stopped by you."), goOn
	case transcript.Interrupted:
		if r.Status == "needs_human" {
			return "Nothing to go on with: " + r.Detail + ".", goOn
		}
	case transcript.Limit:
		return run("Stopped ", "stopped ") + limitText(r.Detail) + ".", goOn
	case transcript.Irreducible:
		return "! " + run("The conversation doesn't fit into the model, and compacting doesn't help: ", "ended, since the conversation doesn't fit into the model: ") +
			cmp.Or(failure, "its window is full") + ". Use a model with a larger window (--model), or start a new session.", ""
	case transcript.ContextOverflow:
		return "! " + run("The conversation no longer fits into the model: ", "ended, since the conversation no longer fits into the model: ") +
			cmp.Or(failure, "its window is full") + ". Start a new session.", ""
	case transcript.Length:
		return run("The answer was cut by the model's output limit", "ended with an answer that was cut by the model's output limit") + detail(r.Detail) + ".", goOn
	case transcript.ContentFilter:
		return run("The answer was cut by the provider's content filter.", "ended with an answer that was cut by the provider's content filter."), goOn
	case transcript.ModelError, transcript.ModelIncomplete:
		return "! " + run("", "ended with an error: ") + cmp.Or(failure, r.Reason), goOn
	case transcript.CrashLoop:
		return "! " + run("The run was ended: ", "was ended: ") + "it was resumed again and again without getting any further.", goOn
	}
	return "", ""
}

// limitText says which limit, with the flag or setting that sets it.
func limitText(detail string) string {
	name, value, _ := strings.Cut(detail, ": ")
	switch name {
	case "turns":
		plural := "s"
		if value == "1" {
			plural = ""
		}
		return "after " + value + " answer" + plural + " (--max-turns)"
	case "tokens":
		return "after " + value + " tokens (budgets.tokens)"
	case "cost":
		return "after " + value + " (budgets.cost)"
	case "wall time":
		return "when its time was up (budgets.wall)"
	}
	return "at a limit" + " (" + detail + ")"
}
