// Package workflowtool declares the workflow tool: by it a model starts and
// steers workflow runs, and submits the output of the step that it carries out.
// What a call does is carried out by package host, on the same functions as the
// commands of the terminal.
package workflowtool

import (
	"encoding/json"

	"github.com/gamma-harness/gamma/llm"
)

// Name is the tool's name.
const Name = "workflow"

// Declaration declares the tool. It names no workflows, so that the prefix is
// the same wherever it is.
func Declaration() llm.Tool {
	return llm.Tool{Name: Name,
		Description: "Start and steer workflow runs, and submit the output of a workflow step. " +
			"Actions: list (what can be started) · start {workflow, input?|task?} · status {run?} · pause|resume|cancel {run} · " +
			"answer {run, value|choice, text?} (what a run asks you; never a decision that is a person's) · " +
			"submit {attempt, output} and update {attempt, type, key, data}: only when a step asks for them.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"action":{"enum":["list","start","status","pause","resume","cancel","answer","update","submit"]},` +
			`"workflow":{"type":"string","minLength":1,"description":"name of the workflow to start"},` +
			`"task":{"type":"string","minLength":1,"description":"the same as input {\"task\": …}"},` +
			`"input":{"description":"the run's input"},` +
			`"run":{"type":"string","minLength":1,"description":"id of a run"},` +
			`"choice":{"type":"string","minLength":1},` +
			`"text":{"type":"string"},` +
			`"value":{"description":"the answer to a checkpoint"},` +
			`"attempt":{"type":"string","minLength":1,"description":"as the step's prompt gives it"},` +
			`"output":{"description":"the step's output; its schema stands in the step's prompt"},` +
			`"type":{"type":"string","minLength":1},` +
			`"key":{"type":"string","minLength":1},` +
			`"data":{"type":"object"}` +
			`},"required":["action"],"additionalProperties":false}`)}
}
