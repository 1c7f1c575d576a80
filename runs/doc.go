// Package runs starts durable workflow runs inside a program of one's own,
// carries them out, watches and answers them, and reads what came of them.
//
// Open opens a data directory with the program's workflows, Start stores a run,
// Serve carries out what is stored, Watch yields how a run stands, Answer answers
// what it asks, and Output reads what came of it, as a Go type. The package's
// example has all of them.
//
// Watch goes on for as long as its context does, whoever serves. So end that
// context with the error of Serve; Watch yields it:
//
//	ctx, stop := context.WithCancelCause(ctx)
//	go func() { stop(host.Serve(ctx)) }()
//
// # What is kept
//
// Everything is in the database gamma.db of the directory. A call that has
// returned without an error is on disk. Kill the process at any moment: after
// Open and Serve each run goes on where it was. Several processes may have the
// same directory open, on one machine, and share the work; each program of
// package gamma is one of them.
//
// # Definitions
//
// A run goes on only where its workflow has the name, graph and revision that it
// began with; package gamma's comment says what that means for a new build.
// Elsewhere it is parked for the operator, and Resume tries again.
//
// # Steps for a model
//
// This package opens no sessions, so it carries out no agent steps: Start refuses
// a workflow that has some with ErrAgentSteps, unless Options.AgentsElsewhere
// says that a host of package gamma (mytool host) with the same workflows works
// on the same directory. Then a run that comes to such a step is parked for that
// host, which goes on with it; this one leaves the run alone until the step is
// over.
// Notifications and answers for a session need the session from which a run was
// started, which runs of this package don't have: ErrSession.
//
// # Errors
//
// Errors are wrapped; use errors.Is with the Err constants, and errors.As with
// *InputError, *RefusedError, *EndedError. ErrUnavailable is in errors of a
// database that can't be used for now (a full disk); nothing was lost, and the
// same call may be tried again. Serve waits by itself. ErrGone is in errors of a
// database whose file was removed or replaced; Serve ends with it.
package runs
