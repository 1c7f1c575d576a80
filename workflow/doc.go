// Package workflow holds the words in which authors write durable workflows:
// nodes, edges between them, and the definition that joins them. It runs
// nothing. A definition is a graph, which is data, and a program, which
// answers named callbacks; the engine sees only the graph.
//
// # A first workflow
//
//	in := workflow.Input[Task]()
//	verify := workflow.Shell("verify",
//		func(c *workflow.Ctx) workflow.Command {
//			return workflow.Command{Command: "go", Args: []string{"test", in.Of(c).Package}, AllowNonZero: true}
//		},
//		func(c *workflow.Ctx, r workflow.ShellResult) (Verdict, error) {
//			return Verdict{Passed: r.ExitCode == 0, Log: r.Stdout}, nil
//		})
//	good := workflow.Compute("good", func(c *workflow.Ctx) (string, error) { return "all tests pass", nil })
//	bad := workflow.Compute("bad", func(c *workflow.Ctx) (string, error) { return verify.Of(c).Log, nil })
//	flow, err := workflow.Define("check", in, verify,
//		workflow.Switch(verify, "$.passed", workflow.Cases{"true": good, "false": bad}))
//
// The third argument of Define is the entry. Nodes belong to a definition by
// being its entry, an end of one of its edges, or the source of an exit.
//
// # Handles
//
// What makes a node is also the handle by which others read its output. A
// handle has the type of the output, so that reading the wrong type doesn't
// compile: verify.Of(c) is a Verdict. Of reads the newest output and fails the
// reading node if there is none; Last says whether there is one; Failure says
// how the newest attempt failed. The input is a handle too.
//
// Callbacks have one shape, func(*Ctx) …. They are called again after a crash,
// so that they must not do anything to the outside, except in Action, which
// says with Once that it must not be repeated.
//
// # Nodes
//
//	Agent         a step for a model. Submit: it submits a checked value.
//	              AssistantMessage: its visible answer is the output, verbatim
//	Compute       a Go function without effects
//	Action        a Go function with effects
//	Shell         one command; CommandBatch: up to 64 of them, 8 at once
//	Delay         waits, without a process
//	Notify        tells the session from which the run came
//	Checkpoint    waits for an answer of any type
//	HumanDecision waits for a person's choice; Decision: a model's choice
//	Include       another workflow, entered with an input and left by named exits
//
// Delay, Shell and CommandBatch are kinds of the node type action, Decision of
// agent, HumanDecision of checkpoint.
//
// # Edges
//
// A node has one way on at most. Then goes to one node. Switch goes by a field
// of the output ("$.passed"; the value is a string, a number or a boolean),
// Route by a choice and names a lane for each, Outcome by how the attempt ended
// ("ok", "failed", "timed_out"), and it is the only one that a failed attempt
// can take. Exits goes by the exit of an included workflow. A node without a
// way on ends the run, with its output as the run's. Loops are bounded by
// MaxSteps, 100 if it isn't given.
//
// # Errors
//
// Define reports all mistakes at once, as a *DefinitionError; each names the
// node and the field. What is left to run time: a value that can't be known
// before (a computed limit, the input). A callback's error fails its node.
//
// # Snapshot and identity
//
// The graph as JSON (Graph.Snapshot: fields in fixed order, maps sorted, no
// HTML escaping) is stored with each run, and its SHA-256 is the digest.
// ReadSnapshot reads it back to the same bytes. The digest covers the graph,
// not the code of the callbacks; that has a revision (Revision), which the
// author raises when a running workflow must not go on with the new code. A
// run resumes only where digest and revision are those it began with.
//
// Callbacks are named NODE.FIELD with the fields prompt, validate, maxChars,
// run, message, exec, parse, updates, delay, summary, request, timeout, input
// and exit; input, title and present are the definition's own. An included
// workflow's names have its place in front: "plan/propose.prompt".
package workflow
