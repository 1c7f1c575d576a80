package wire

import (
	"encoding/json"
	"time"
)

// # gamma run --json
//
// The envelope of gamma exec: one JSON object a line, the first a Run, the last
// a RunResult, between them RunEvents. Readers skip what they don't know.

// Run is the first line.
type Run struct {
	Type      string `json:"type"` // run
	Schema    string `json:"schema"`
	Run       string `json:"run"`
	Workflow  string `json:"workflow"`
	Session   string `json:"session,omitempty"`
	Workspace string `json:"workspace"`
	Resumed   bool   `json:"resumed,omitempty"`
}

// RunEvent is what happened in a workflow run. Which fields are set follows
// from Type:
//
//	started         title, output (the input as it was normalised)
//	node_started    node, attempt, until (its deadline)
//	node_finished   node, attempt, outcome, code, message, output
//	update          node, attempt, key, kind, data, estimate
//	decision        node, attempt, decision, request, choices, until
//	answer          decision, by; choice and its text, or the output of a checkpoint
//	waiting         reason (delay, retry, paused, user: the step waits for the user's words), node, until
//	parked          reason (session, host, operator), message
//	resumed         –
//	notification    id, text
type RunEvent struct {
	Type     string          `json:"type"`
	Seq      int64           `json:"seq"`
	Run      string          `json:"run"`
	Time     time.Time       `json:"time,omitzero"`
	Node     string          `json:"node,omitempty"`
	Attempt  string          `json:"attempt,omitempty"`
	Title    string          `json:"title,omitempty"`
	Outcome  string          `json:"outcome,omitempty"` // ok | failed | timed_out | cancelled
	Code     string          `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Until    time.Time       `json:"until,omitzero"`
	Output   json.RawMessage `json:"output,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	Key      string          `json:"key,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Estimate json.RawMessage `json:"estimate,omitempty"`
	Decision string          `json:"decision,omitempty"`
	Request  json.RawMessage `json:"request,omitempty"`
	Choices  []RunChoice     `json:"choices,omitempty"`
	Choice   string          `json:"choice,omitempty"`
	By       string          `json:"by,omitempty"`
	ID       string          `json:"id,omitempty"`
	Text     string          `json:"text,omitempty"`
}

// RunChoice is an answer that a person can give.
type RunChoice struct {
	Key    string `json:"key"`
	Label  string `json:"label"`
	Prompt string `json:"prompt,omitempty"` // the answer has a text, and this asks for it
}

// RunResult is the last line. Status is the run's, and the process's exit code
// follows from it:
//
//	completed   0
//	failed      1  (5 if a limit of steps was reached)
//	timed_out   5
//	cancelled   130
//	waiting     3  for a person: a decision, a checkpoint, a pause
//	parked      3  for the operator or the session; 130 if this process was interrupted
//	queued      0  with --detach
//	running     130 if this process was interrupted, else 3: another process carries it out, or nobody does
type RunResult struct {
	Type     string          `json:"type"` // result
	Run      string          `json:"run"`
	Workflow string          `json:"workflow,omitempty"`
	Status   string          `json:"status"`
	Reason   string          `json:"reason,omitempty"`
	Waits    bool            `json:"waits,omitempty"`   // a step waits for the user's words
	Message  string          `json:"message,omitempty"` // of a run that waits so: what it asks
	Output   json.RawMessage `json:"output"`            // null unless completed
	Error    *Error          `json:"error,omitempty"`
}

// RunInfo is a run in gamma runs list --json, one a line, and in the first line
// of gamma runs export. Fields mean what they mean in Run, RunEvent and
// RunResult.
type RunInfo struct {
	Run       string    `json:"run"`
	Workflow  string    `json:"workflow"`
	Title     string    `json:"title,omitempty"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason,omitempty"`
	Message   string    `json:"message,omitempty"`
	Node      string    `json:"node,omitempty"` // whose step is open
	Steps     int       `json:"steps"`          // that have begun
	Session   string    `json:"session,omitempty"`
	Workspace string    `json:"workspace"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Until     time.Time `json:"until,omitzero"`    // the run waits until then
	Behind    string    `json:"behind,omitempty"`  // of a queued run: the run that has its session
	Live      bool      `json:"live"`              // a process carries it out
	InUseBy   int       `json:"inUseBy,omitempty"` // its pid, if it is known
	Waits     bool      `json:"waits,omitempty"`   // its step waits for the user's words
}

// RunChange is a line of gamma host --json: how a run stands from now on. Status
// is the run's, or "error" with a message of what went wrong; without a run it
// is about the host itself.
type RunChange struct {
	Run      string    `json:"run,omitempty"`
	Workflow string    `json:"workflow,omitempty"`
	Node     string    `json:"node,omitempty"` // whose step is open
	Status   string    `json:"status"`
	Reason   string    `json:"reason,omitempty"`
	Waits    bool      `json:"waits,omitempty"`   // its step waits for the user's words
	Message  string    `json:"message,omitempty"` // of a run that waits for a person: what it asks
	Until    time.Time `json:"until,omitzero"`
	Time     time.Time `json:"time"`
}
