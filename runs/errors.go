package runs

import (
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// What a caller may have to handle: constants, which nobody can change.
const (
	// ErrNotFound: there is no such run.
	ErrNotFound = constant("there is no such run")
	// ErrNotEnded: the run has no output yet.
	ErrNotEnded = constant("the run hasn't ended")
	// ErrUnknown: the workflow isn't one of those that the host was opened with.
	ErrUnknown = constant("the host doesn't have this workflow: give it to Open")
	// ErrAgentSteps: the workflow has a step for a model; see the package comment.
	ErrAgentSteps = constant("it is a step for a model, which package runs doesn't carry out: run a host of package gamma with this workflow on the same directory, and say so with Options.AgentsElsewhere")
	// ErrSession: the workflow needs the session from which it was started.
	ErrSession = constant("the workflow needs a session, which runs of this package don't have: start it with the command run")
	// ErrUnavailable: the database can't be used for now.
	ErrUnavailable = constant("try again later")
	// ErrGone: the database was removed or replaced while it was open. Nothing
	// more is written; close the host.
	ErrGone = constant("the database is gone")
	// ErrClosed: the host was closed.
	ErrClosed = constant("the host is closed")
)

// errNotOpen is a mistake of the program, which nobody handles.
const errNotOpen = constant("the host isn't open: use what Open returned")

// constant is an error that is always the same.
type constant string

func (c constant) Error() string { return string(c) }

// InputError is an input that doesn't fit the workflow's schema or Go type.
type InputError struct {
	Workflow string
	Broken   []string // one a fault, with its place
}

func (e *InputError) Error() string {
	return (&host.InputError{Workflow: e.Workflow, Broken: e.Broken}).Error()
}

// RefusedError says why a run doesn't take what it was sent. Nothing has
// changed.
type RefusedError struct {
	Run string
	// Code: invalid (the answer doesn't fit), conflict (somebody else has
	// answered, or nothing is asked), expired, forbidden, not_now, ended.
	Code   string
	Reason string
}

func (e *RefusedError) Error() string { return "run " + e.Run + ": " + e.Reason }

// EndedError says that a run has ended without an output.
type EndedError struct {
	Run     string
	Status  Status
	Reason  string // a code, as timeout or max_steps
	Message string
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("run %s has ended: %s: %s", e.Run, e.Status, e.Message)
}

// public turns an error from inside into one of this package.
func public(run string, err error) error {
	var refused *flow.Refusal
	var input *host.InputError
	var node *host.NodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &RefusedError{run, refused.Code, refused.Reason}
	case errors.As(err, &input):
		return &InputError{input.Workflow, input.Broken}
	case errors.As(err, &node):
		return fmt.Errorf("workflow %s: node %s: %w", node.Workflow, node.Node, needs(node.Err))
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	case errors.Is(err, store.ErrGone):
		return fmt.Errorf("%w: %w", ErrGone, err)
	case errors.Is(err, store.ErrTryLater):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// needs is what a node needs, in the words of this package.
func needs(err error) error {
	switch {
	case errors.Is(err, host.ErrNoSteps):
		return ErrAgentSteps
	case errors.Is(err, host.ErrNoSession), errors.Is(err, host.ErrNoOrigin):
		return ErrSession
	}
	return err
}
