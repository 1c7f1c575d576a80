package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// finish prints the result and sets the exit code.
func (r *flowing) finish(run *flow.Run, interrupted bool) error {
	res := wire.RunResult{Type: "result", Run: r.id, Workflow: r.info.Workflow, Status: string(run.Status), Reason: run.Reason, Message: run.Message}
	if run.Status == flow.Completed {
		out, err := outputOf(r.app.ctx, r.db, run)
		if err != nil {
			return err
		}
		res.Output = out
	}
	if yields(run) {
		w := r.app.question(run)
		r.out.words, res.Waits, res.Message, r.answered = waitsUser, !w.answered, w.question, w.answered
	}
	hint := ""
	r.app.code, hint = r.outcome(run, interrupted)
	if r.app.lostStep(run) {
		res.Waits, res.Message, hint = false, lostStepText(run), ""
		r.out.words = ""
	}
	if r.app.lostSession(run) {
		hint = r.lost(run, &res, hint)
	}
	r.out.result(res, hint)
	return r.broken(run.Status.Ended())
}

// outputOf is the output of a run that has completed; nil if it has none.
func outputOf(ctx context.Context, db store.Store, run *flow.Run) (json.RawMessage, error) {
	out, err := db.Output(ctx, run.ID, run.Nodes[run.Result].Seq)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("run %s: output: %w", run.ID, err)
	}
	return json.RawMessage(out), nil
}

// outcome is the exit code, and what to do next.
func (r *flowing) outcome(run *flow.Run, interrupted bool) (int, string) {
	goOn := "Go on with:\n    " + program() + " run --resume " + r.id
	switch run.Status {
	case flow.Completed:
		return exitDone, ""
	case flow.TimedOut:
		return exitLimit, ""
	case flow.Cancelled:
		return exitInterrupt, ""
	case flow.Failed:
		if run.Reason == "max_steps" {
			return exitLimit, ""
		}
		return exitError, ""
	}
	if pid := r.carrier; pid != "" && yields(run) {
		return exitHuman, "The step waits for you, carried out by " + pid + ". Answer with:\n    " + answerWords(r.id)
	} else if pid != "" {
		return exitHuman, "Carried out by " + pid + ". Follow it with:\n    " + program() + " runs watch " + r.id
	}
	if r.answered {
		return exitHuman, "You have answered. " + goOn
	}
	if r.waits.Load() {
		return exitHuman, "The step waits for you. Answer with:\n    " + speak(r.place(), r.flags.repeated(), "")
	}
	if interrupted {
		return exitInterrupt, goOn + r.flags.repeated()
	}
	if run.Status == flow.Waiting && run.Open != nil && run.Open.Decision != "" {
		return exitHuman, strings.Join(answerHint(r.graph, run), "\n")
	}
	return exitHuman, goOn
}

// answerHint says how to answer what a run waits for.
func answerHint(g *workflow.Graph, run *flow.Run) []string {
	n := g.Node(run.Open.Node)
	if n == nil {
		return []string{"Answer it with the gamma that began the run."}
	}
	if n.HumanDecision == nil {
		return []string{"Answer with:", "    " + program() + " runs answer " + run.ID + " --json " + quoted(formOf(n).example)}
	}
	var keys []string
	for _, c := range n.HumanDecision.Choices {
		keys = append(keys, c.Key)
	}
	return []string{"Answer with:", "    " + program() + " runs answer " + run.ID + " --choice " + strings.Join(keys, "|")}
}
