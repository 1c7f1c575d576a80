package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// StepExecutor carries out agent steps in sessions. It is idempotent by
// attempt id: a second call joins the turn in flight or adopts its answer.
type StepExecutor interface {
	// Completions lists what it knows: "submit", "assistant". A step that
	// needs another one fails.
	Completions() []string
	// Look says what the session's branch has of the attempt.
	Look(ctx context.Context, s Step) (flow.StepOutcome, error)
	// Step prompts, unless that is done, and returns when the step has
	// settled. When ctx ends with an Ending of timeout, cancel or escape, the step
	// is aborted with that, and the outcome says what came of it. If that was
	// before the call, nothing is prompted, and s may have no prompt. With
	// another cause (park, or a lost claim) the step stays as it is, for whoever
	// goes on with it, and the cause is returned as an error. An error
	// means that nothing can be said; the run goes on at its next claim. An
	// attempt that has failed, or was aborted by timeout or cancel, stays so: a
	// caller whose claim is lost may still ask for it, and must get that
	// outcome, not another prompt.
	// InUseError: another process has the session. The run is parked for a host
	// with its words.
	// UnfitError: so too, of a host that can't carry it out as it is.
	// ErrAbsent: the session isn't here, and nothing was shown; of an assistant
	// step, or one that was begun in its session of origin (There).
	Step(ctx context.Context, s Step) (flow.StepOutcome, error)
	// Hold: a person stopped the step; no reminder and no prompt until resume.
	Hold(attempt string)
}

// How a step completes.
const (
	CompleteSubmit    = "submit"
	CompleteAssistant = "assistant"
)

// ErrAbsent: the session of a step isn't here.
var ErrAbsent = errors.New("the session isn't here")

// InUseError says which process has the session of a step.
type InUseError struct{ Owner string }

func (e *InUseError) Error() string {
	return e.Owner + "; the run goes on when that process has left it"
}

// UnfitError says why this host can't carry out a step that another one may.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string { return e.Why }

// Step is one agent step.
type Step struct {
	Run, Workflow, Node, Attempt string
	Session                      string        // of origin; "" if there is none
	Prompt                       string        // not needed for Look
	Completion                   string        // submit | assistant
	MaxChars                     int           // of assistant; 0: no limit
	Expect                       workflow.JSON // schema of a submission
	// Accept checks a submission; its error is told to the model.
	Accept func(workflow.JSON) error
	// Publish stores an update of the step. by names the model's call that makes
	// it.
	Publish func(by string, u workflow.Update) error
	// Waits says, while Step runs, that the step waits for the user (true), or
	// that the user has spoken or the step goes on otherwise (false). It
	// returns when that is stored; the step's deadline stands in between. What
	// is the case already is no error. After an error the step is about to be
	// ended by its context. It must not be called after Step has returned.
	Waits func(waiting bool) error
	// Held reports whether the run's claim is certain to be held; nil: it is.
	Held func() bool
	// There: the submit step was begun in its session of origin, by what is
	// stored. It is carried out there and nowhere else; one that wasn't is never
	// carried out there.
	There bool
	// Resumes is how often the run has let the attempt go on after Escape had
	// held it. A session with fewer resume prompts of the attempt owes one.
	Resumes int
}

// prepare makes the prompt and the limits, before anything is shown.
func (w *work) prepare() (flow.Event, error) {
	n := w.effect.Node
	prompt, err := w.prompt()
	if err != nil {
		return w.failed(err)
	}
	p := flow.Prepared{Attempt: w.effect.Attempt, PromptHash: flow.TextHash(prompt)}
	e := n.Expect()
	p.MaxChars = e.MaxChars
	if e.DynamicMaxChars {
		out, err := w.call(n.ID, "maxChars", nil)
		if err != nil {
			return w.failed(fmt.Errorf("maxChars: %w", err))
		}
		var limit float64
		if json.Unmarshal(out, &limit) != nil || limit < 1 || limit != float64(int(limit)) {
			p.BadMaxChars = true
		}
		p.MaxChars = int(limit)
	}
	if w.Graph.Has(n.ID + ".timeout") {
		if p.TimeoutMs, err = w.millis("timeout"); err != nil {
			return w.failed(fmt.Errorf("timeout: %w", err))
		}
		if p.TimeoutMs <= 0 {
			p.TimeoutMs = -1
		}
	}
	return p, nil
}

// prompt asks the author for the prompt, for a while.
func (w *work) prompt() (string, error) {
	ctx, stop := context.WithTimeoutCause(w.ctx, callLimit, fmt.Errorf("prompt: it wasn't there after %v", callLimit))
	defer stop()
	out, err := w.callWith(ctx, w.effect.Node.ID, "prompt", nil, nil)
	if err != nil {
		return "", err
	}
	var s string
	if err := json.Unmarshal(out, &s); err != nil || flow.Blank(s) {
		return "", errors.New("prompt: it is no text, or empty")
	}
	return s, nil
}

// agentStep looks what the session has of the attempt and goes on from there.
func (w *work) agentStep() (flow.Event, error) {
	n, attempt := w.effect.Node, w.effect.Attempt
	s := Step{Run: w.run.ID, Workflow: w.Graph.Name, Node: n.ID, Attempt: attempt, Session: w.run.Session, Completion: CompleteSubmit,
		MaxChars: w.run.Open.MaxChars, Expect: n.Expect().Schema, Accept: w.accept, Waits: w.waits, Held: w.held, Resumes: w.run.Open.Resumes,
		There: w.run.Open.There, Publish: func(by string, u workflow.Update) error { return w.publish(w.ctx, by, u) }}
	if n.Assistant() {
		s.Completion = CompleteAssistant
	}
	if w.Steps == nil || !slices.Contains(w.Steps.Completions(), s.Completion) {
		return flow.StepDone{Attempt: attempt, Outcome: flow.StepOutcome{Stop: flow.StopError,
			Detail: "nothing here carries out agent steps that complete by " + s.Completion}}, nil
	}
	o, err := w.Steps.Look(context.WithoutCancel(w.ctx), s) // also when its time is up: an answer that people see counts
	if err == nil && o.State != flow.StepSettled {
		var bad error
		if s.Prompt, bad = w.prompt(); bad != nil && w.ctx.Err() == nil {
			return w.failedStep(bad)
		}
		o, err = w.settle(s, o)
	}
	used, unfit := (*InUseError)(nil), (*UnfitError)(nil)
	switch {
	case errors.As(err, &used):
		return flow.Park{For: flow.ForHost, Message: used.Error()}, nil
	case errors.As(err, &unfit):
		return flow.Park{For: flow.ForHost, Message: unfit.Error()}, nil
	case errors.Is(err, ErrAbsent) && (n.Assistant() || w.run.Open.There):
		return flow.Unseen{Attempt: attempt}, nil
	case err != nil:
		return nil, fmt.Errorf("step %s: %w", attempt, err)
	}
	return flow.StepDone{Attempt: attempt, Outcome: o}, nil
}

// settle has the step carried out, of which the session has seen this much. If
// it is to end already and the session has seen nothing, there is nothing to be
// stopped there.
func (w *work) settle(s Step, seen flow.StepOutcome) (flow.StepOutcome, error) {
	cause := context.Cause(w.ctx)
	if seen.State == flow.StepAbsent && (errors.Is(cause, errDeadline) || errors.Is(cause, errCancelled) || errors.Is(cause, errEscaped)) {
		return flow.StepOutcome{State: flow.StepSettled, Stop: flow.StopAborted, Cause: cause.Error()}, nil
	}
	return w.Steps.Step(w.ctx, s)
}

// held reports, by the clock on the wall, whether the lease is far from its end.
// A machine that slept knows that before a timer tells. It is safe for
// concurrent use.
func (r *runner) held() bool {
	return time.Now().Add(crashpoint.Quick(StartMargin)).UnixMilli() < r.until.Load()
}

// waits stores that the step waits for the user, or no longer does.
func (w *work) waits(waiting bool) error {
	if waiting {
		return w.send(w.ctx, flow.Yielded{Attempt: w.effect.Attempt})
	}
	return w.send(w.ctx, flow.Spoke{Attempt: w.effect.Attempt})
}

func (w *work) failedStep(err error) (flow.Event, error) {
	if fault := w.faulted(); fault != nil {
		return nil, fault
	}
	return flow.StepDone{Attempt: w.effect.Attempt, Outcome: flow.StepOutcome{Stop: flow.StopError, Detail: text(err)}}, nil
}

// accept checks a submission by its schema and by the author.
func (w *work) accept(out workflow.JSON) error {
	n := w.effect.Node
	broken, err := workflow.Violations(n.Expect().Schema, out)
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return errors.New("the submission doesn't fit: " + strings.Join(broken, "; "))
	}
	if err := workflow.Decodes(w.Program, n.ID, out); err != nil {
		return fmt.Errorf("the submission doesn't fit: %w", err)
	}
	if !w.Graph.Has(n.ID + ".validate") {
		return nil
	}
	_, err = w.call(n.ID, "validate", out)
	return err
}
