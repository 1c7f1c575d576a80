package cli

import (
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
	case transcript.Done, transcript.NoYield, transcript.Interrupted:
		status, code = "done", exitDone
	case transcript.Yield:
		status, code = "needs_human", exitHuman
		if r.Yield != nil && r.Yield.Reason == "complete" {
			status, code = "done", exitDone
		}
	case transcript.Length, transcript.ContentFilter, transcript.ModelIncomplete:
		status, code = "incomplete", exitIncomplete
	case transcript.Limit, transcript.ContextOverflow:
		status, code = "limit", exitLimit
	case transcript.Aborted:
		status, code = "error", exitInterrupt
	default:
		status, code = "error", exitError
	}
	if code == exitDone && len(r.Denials) > 0 {
		status, code = "denied", exitDenied
	}
	return status, code
}

// resultOf makes the last line of a run.
func resultOf(id string, r *session.Run) (wire.Result, int) {
	status, code := outcome(r)
	out := wire.Result{Type: "result", Status: status, Reason: string(r.Reason), Detail: r.Detail, Session: id,
		Run: r.ID.String(), Text: r.Text, Usage: usageOf(r.Usage), Denials: []wire.Denial{}}
	if r.Reason == transcript.Yield && r.Yield != nil {
		out.Yield, out.Text = messageOf(r.Yield), r.Yield.Text
	}
	for _, d := range r.Denials {
		out.Denials = append(out.Denials, wire.Denial(d))
	}
	if f := r.LastFail; f != nil && code == exitError {
		out.Error = &wire.Error{Code: f.Code, Class: string(f.Class), Status: f.Status, Message: f.Message}
	}
	return out, code
}
