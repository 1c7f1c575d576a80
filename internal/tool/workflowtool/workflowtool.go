// Package workflowtool is the tool workflow: by it the model starts and steers
// durable workflows, and hands in the output of a step that completes with
// checked data (W41).
//
// The declaration is one flat object schema: an action, and the fields that
// the actions take. Which of them an action needs is checked where it is
// carried out, with the action's name in the error, so that the schema stays
// the same for all models and stays short.
//
//	list                                  the workflows that can be started
//	start    workflow, input?             begins a run in this session
//	status   run?                         of a run; without one, of the runs of this session
//	pause, resume, cancel  run?           steer a run; without one, the only one that hasn't ended
//	answer   run?, choice | text | input  answers a checkpoint that is open to the model
//	update   run?, attempt?, update       reports what a step has come to
//	submit   run?, attempt?, output       completes a step; says why if the output isn't taken
//
// Without attempt it is the step that the turn belongs to. A run beside it must
// be the attempt's.
//
// A step that completes with the model's visible answer takes no call of this
// tool: the session core refuses it there (W32). A call is keyed by its id and
// may be repeated after a crash.
package workflowtool

import (
	"encoding/json"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/llm"
)

// Name is the tool's name.
const Name = session.ToolWorkflow

// The actions.
const (
	List   = "list"
	Start  = "start"
	Status = "status"
	Pause  = "pause"
	Resume = "resume"
	Cancel = "cancel"
	Answer = "answer"
	Update = "update"
	Submit = "submit"
)

// Args are the arguments of a call.
type Args struct {
	Action   string          `json:"action"`
	Workflow string          `json:"workflow"`
	Input    json.RawMessage `json:"input"`
	Run      string          `json:"run"`
	Attempt  string          `json:"attempt"`
	Update   *Progress       `json:"update"`
	Output   json.RawMessage `json:"output"`
	Choice   string          `json:"choice"`
	Text     string          `json:"text"`
}

// Progress is what a step reports. The newest one of a type and key counts.
type Progress struct {
	Type string          `json:"type"`
	Key  string          `json:"key"`
	Data json.RawMessage `json:"data"`
}

// Declaration declares the tool. It never names workflows, so that the prefix
// is the same wherever they are found.
func Declaration() llm.Tool {
	return llm.Tool{Name: Name, Description: description, Schema: json.RawMessage(schema)}
}

const description = "Start and steer durable workflows, and complete a workflow's step with its output. " +
	"list: the workflows. start: workflow, input. status: run; without run, all runs of this session. pause, resume, cancel: run. " +
	"answer: run with choice, text or input; decisions that are a person's can't be answered here. " +
	"update: attempt, update; shows how a step gets on. " +
	"submit: attempt, output; completes the step that you were given, exactly as its prompt says. " +
	"Never call it in a step whose completion is assistant."

const schema = `{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["list","start","status","pause","resume","cancel","answer","update","submit"]},` +
	`"workflow":{"type":"string","description":"name, of start"},` +
	`"input":{"description":"JSON, of start and answer"},` +
	`"run":{"type":"string","description":"id of a workflow run"},` +
	`"attempt":{"type":"string","description":"as in the step's prompt, of update and submit"},` +
	`"update":{"type":"object","properties":{"type":{"type":"string"},"key":{"type":"string"},"data":{}},"required":["type","data"],"additionalProperties":false},` +
	`"output":{"description":"JSON that fits the step's output schema, of submit"},` +
	`"choice":{"type":"string","description":"of answer"},` +
	`"text":{"type":"string","description":"of answer"}},` +
	`"required":["action"],"additionalProperties":false}`
