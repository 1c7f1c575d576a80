// Package wire holds the JSON that Gamma speaks with other programs.
//
// # gamma exec --json
//
// One JSON object a line on standard output. The first line is a Session, the
// last one a Result; between them come Events. Each object has a "type".
// Compatibility: fields and event types may be added; a reader skips what it
// doesn't know. A change that breaks readers changes Schema.
//
// Events carry, as far as they apply: "seq" (rising over the lines of one
// process; a gap is where provisional events were left out), "entry" (the
// stored entry that it comes from), "run" and "call".
// An event is printed only after its entry is on disk, except
// "message_update" and "tool_execution_update", which are provisional: they
// are void when a message_discarded or the end of the call follows, and left
// out while the reader is far behind. A reader that is slow never slows the
// run down. When standard output can't be written any more (its reader has
// gone, its disk is full), the run is interrupted, to be resumed, and the
// process ends with code 1. The session's mark is replaced by "[mark]"
// everywhere.
package wire

import (
	"encoding/json"
	"time"
)

// Schema names the version of the exec output.
const Schema = "gamma.exec.v1"

// Session is the first line.
type Session struct {
	Type      string `json:"type"` // session
	Schema    string `json:"schema"`
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	Model     string `json:"model"`
	Resumed   bool   `json:"resumed,omitempty"`
	Forked    string `json:"forked,omitempty"` // the session of which this one is a copy that was made just now
}

// Event is what happened in the session. Which fields are set follows from
// Type:
//
//	queued, message_start, message_end  role, text; of answers also stop, usage, calls;
//	                                    from, if the sender of an arrival told who it is;
//	                                    the start of a tool result has no text
//	message_update                      delta
//	message_discarded                   the answer in progress was given up
//	tool_execution_start                call, tool, args
//	tool_execution_update               call, tool, text (the output so far)
//	tool_execution_end                  call, tool, outcome, text, details, denied;
//	                                    args if the outcome is unknown, since
//	                                    another process may have started it
//	agent_start, turn_start, turn_end   –
//	agent_resume                        by
//	agent_end, agent_settled            reason, detail, more; attempt, if the run was a workflow step's
//	injection                           kind, text, from; of a workflow_step also step
//	withdrawn                           kind, step, by, reason: a step's prompt waits no longer
//	yield, progress                     message
//	todo                                tasks
//	skill                               skill
//	error                               error
//	model_change                        model, detail: another model answers from here on
//	compaction                          compaction; of one that is done also usage
type Event struct {
	Type    string          `json:"type"`
	Seq     int             `json:"seq"`
	Entry   string          `json:"entry,omitempty"`
	Run     string          `json:"run,omitempty"`
	Call    string          `json:"call,omitempty"`
	Time    time.Time       `json:"time,omitzero"`
	Role    string          `json:"role,omitempty"`
	Text    string          `json:"text,omitempty"`
	Calls   []Call          `json:"calls,omitempty"`
	Stop    string          `json:"stop,omitempty"`
	Usage   *Usage          `json:"usage,omitempty"`
	Delta   *Delta          `json:"delta,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"` // the object; a JSON string with the raw text if it isn't one
	Outcome string          `json:"outcome,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
	Denied  string          `json:"denied,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	More    bool            `json:"more,omitempty"`
	Adopted bool            `json:"adopted,omitempty"`
	By      string          `json:"by,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Step    *Step           `json:"step,omitempty"`
	Attempt string          `json:"attempt,omitempty"`
	From    string          `json:"from,omitempty"`
	Message *Message        `json:"message,omitempty"`
	Tasks   *Tasks          `json:"tasks,omitempty"`
	Skill   *Skill          `json:"skill,omitempty"`
	Asked   *Approval       `json:"approval,omitempty"`
	Error   *Error          `json:"error,omitempty"`

	Model string `json:"model,omitempty"` // PROVIDER/NAME

	Compaction *Compaction `json:"compaction,omitempty"`
}

// Step names what a workflow's prompt is for. queued, injection and the message
// events of the prompt have it.
type Step struct {
	Run        string `json:"run"`      // of the workflow
	Workflow   string `json:"workflow"` // its name
	Node       string `json:"node"`
	Attempt    string `json:"attempt"`
	Kind       string `json:"kind"`       // step | reminder | resume
	Completion string `json:"completion"` // submit | assistant
}

// Compaction says how a compaction stands. The run, if there is one, goes on
// by itself when it is done, and also when it failed, as long as the context
// fits.
type Compaction struct {
	Phase   string `json:"phase"`             // start | done | failed
	Why     string `json:"why"`               // threshold | overflow | manual
	Command string `json:"command,omitempty"` // the arrival that asked for it
	Before  int    `json:"before,omitempty"`  // estimated tokens; of done
	After   int    `json:"after,omitempty"`   //
	Reason  string `json:"reason,omitempty"`  // of failed: nothing_to_compact, empty, cut, tool_call, no_progress, …
	Detail  string `json:"detail,omitempty"`
}

// Call is a tool call of an answer.
type Call struct {
	Call string          `json:"call"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// Delta is a provisional fragment of an answer.
type Delta struct {
	Type  string `json:"type"` // text | thinking | call_start | call_args
	Index int    `json:"index,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Usage counts tokens; input includes cached.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	Cached     int `json:"cached"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Message is one that the model sent to the user by message_user.
type Message struct {
	Text       string      `json:"text"`
	Reason     string      `json:"reason,omitempty"` // complete | decision | unsafe | input
	Deviations []Deviation `json:"deviations,omitempty"`
}

// Deviation from a required step of a workflow skill.
type Deviation struct {
	Skill string `json:"skill"`
	Step  string `json:"step"`
	Kind  string `json:"kind"` // optional | unrecoverable; "" without a cause
	Cause string `json:"cause"`
}

// Tasks is the whole task list.
type Tasks struct {
	Revision int    `json:"revision"`
	Items    []Task `json:"items"`
}

// Task is one item.
type Task struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Label   string `json:"label,omitempty"`
	Status  string `json:"status"` // pending | in_progress | complete | blocked
	Reason  string `json:"reason,omitempty"`
	Step    string `json:"step,omitempty"`
}

// Skill is an activation.
type Skill struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // workflow | reference
	Digest string `json:"digest"`
}

// Error says what went wrong and, where known, when it is tried again.
type Error struct {
	Code    string    `json:"code,omitempty"`
	Class   string    `json:"class,omitempty"`
	Status  int       `json:"status,omitempty"`
	Message string    `json:"message"`
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// Denial is a call that a rule refused.
type Denial struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Rule string `json:"rule"`
}

// Result is the last line. Status and the process's exit code:
//
//	done         0  finished, also by a yield with reason complete
//	error        1  (130 if the user interrupted: reason aborted or interrupted)
//	needs_human  3  a yield with another reason
//	denied       4  would be done, but a call was refused
//	limit        5  a budget or the model's window was reached
//	incomplete   6  the model's answer was cut
//	locked       7  another process owns the session
//
// Usage errors end with code 2 and no line at all on standard output.
type Result struct {
	Type    string   `json:"type"` // result
	Status  string   `json:"status"`
	Reason  string   `json:"reason"` // why the run settled: done, yield, no_yield, limit, …
	Detail  string   `json:"detail,omitempty"`
	Session string   `json:"session"`
	Run     string   `json:"run,omitempty"`
	Text    string   `json:"text"`
	Yield   *Message `json:"yield"`
	Usage   Usage    `json:"usage"`
	Denials []Denial `json:"denials"`
	Error   *Error   `json:"error,omitempty"`

	Runs []SessionRun `json:"runs,omitempty"` // workflow runs of the session that were carried on
}

// SessionRun is how a workflow run of a session stands.
type SessionRun struct {
	Run      string          `json:"run"`
	Workflow string          `json:"workflow,omitempty"`
	Status   string          `json:"status"` // as in RunResult
	Reason   string          `json:"reason,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"` // of one that has completed
}
