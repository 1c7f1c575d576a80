package wire

import "encoding/json"

// This file holds the bodies of the session routes: what another program
// sends to a live session and gets from it. Package internal/owner has the
// routes, their order of checks and the event stream.
//
// Compatibility: fields may be added to what is sent to clients, and a client
// skips what it doesn't know. A request with a field that the receiver
// doesn't know is refused, for it may ask for something that would not
// happen.

// MaxBody is how many bytes the body of a request may have.
const MaxBody = 1 << 20

// Injection is the body of POST /sessions/ID/injections: words of a program.
type Injection struct {
	ID      string `json:"id"`   // the sender's idempotency id
	Kind    string `json:"kind"` // one of the injection kinds (I1)
	Content string `json:"content"`
	From    string `json:"from,omitempty"` // where foreign words come from
	// Of an artifact_update: the artifact (a file's path in the workspace or
	// another reference) and the revisions between which the change lies. An
	// update to a revision that a tool has told the agent already isn't told
	// again.
	Ref          string `json:"ref,omitempty"`
	FromRevision string `json:"fromRevision,omitempty"`
	ToRevision   string `json:"toRevision,omitempty"`
}

// Prompt is the body of POST /sessions/ID/prompt and /steer: a person's words.
type Prompt struct {
	ID      string `json:"id,omitempty"` // idempotency id; the receiver makes one if it is missing
	Message string `json:"message"`
	From    string `json:"from,omitempty"` // who speaks, for people; the model isn't told
}

// Compact is the body of POST /sessions/ID/compact: a person wants the context
// smaller.
type Compact struct {
	ID           string `json:"id,omitempty"`           // idempotency id; the receiver makes one if it is missing
	Instructions string `json:"instructions,omitempty"` // what the summary should mind
}

// Decision is the body of POST /sessions/ID/approvals/APPROVAL: a person's
// answer.
type Decision struct {
	Choice string `json:"choice"`           // allow | deny
	Reason string `json:"reason,omitempty"` // for the model, of a deny
	// Digest, if set, is that of the arguments that the person saw; an answer
	// for others is refused.
	Digest string `json:"digest,omitempty"`
}

// Approval is asked for by a call that waits, and given once.
type Approval struct {
	ID     string          `json:"id"`
	Run    string          `json:"run"`
	Call   string          `json:"call"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Digest string          `json:"digest"`           // SHA-256 of the arguments as the model sent them, hex
	Rule   string          `json:"rule"`             // that asks
	Once   bool            `json:"once,omitempty"`   // a yes is good for all calls of the kind in this session
	Choice string          `json:"choice,omitempty"` // of the event approval_answered: allow | deny
	Reason string          `json:"reason,omitempty"`
}

// Nothing is the body {} of requests that need no more than their path, and
// of answers that have no more to say than their status.
type Nothing struct{}

// Accepted answers an injection, a prompt or a steer: its arrival is on disk.
type Accepted struct {
	Entry string `json:"entry"`           // of the arrival
	Again bool   `json:"again,omitempty"` // the same id and words had been accepted before
	Live  bool   `json:"live,omitempty"`  // of a prompt: an owner runs the session
}

// SessionState answers GET /sessions/ID/state.
type SessionState struct {
	// Status: idle, waiting on the user, stopped, interrupted, answering,
	// tools running, awaiting approval, retrying, aborting, compacting.
	Status string `json:"status"`
	// At is the id of the newest event that the state includes. Events after
	// it, and no others, are missing in the state.
	At    string    `json:"at"`
	Run   string    `json:"run,omitempty"` // the run, if there is one
	Queue []Waiting `json:"queue"`         // arrived, not delivered, in arrival order
	Tasks Tasks     `json:"tasks"`
	// Approvals that wait for an answer, in the order of the calls.
	Approvals []Approval `json:"approvals"`
}

// Waiting is an arrival in the queue.
type Waiting struct {
	ID    string `json:"id"`
	Kind  string `json:"kind,omitempty"` // injection kind; missing for people's words
	Class string `json:"class"`          // prompt | steer | answer | follow | next | step | command
	Entry string `json:"entry"`
}

// The states of a receipt.
const (
	ReceiptQueued     = "queued"     // it waits
	ReceiptDelivered  = "delivered"  // Entry gave it its place; the model has not answered since
	ReceiptConsumed   = "consumed"   // the model answered behind it with Entry
	ReceiptSuperseded = "superseded" // Entry, a newer client_view, took its place in the queue
	ReceiptTold       = "told"       // Entry, a tool's result, has told the agent the same revision
	ReceiptWithdrawn  = "withdrawn"  // Entry took it back: its workflow ended the step
)

// Receipt answers GET /sessions/ID/receipts/ARRIVAL.
type Receipt struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Arrival string `json:"arrival"`         // its entry
	Entry   string `json:"entry,omitempty"` // what brought the state about; missing while queued
}

// Why a client must look at the state again.
const (
	ResyncTooOld     = "too_old"     // the events after its id are no longer kept
	ResyncOtherEpoch = "other_epoch" // its id is of another ownership of the session
	ResyncUnknownID  = "unknown_id"  // its id is none that was given out
)

// Resync is the data of the event "resync": events before At may be missing.
type Resync struct {
	Reason string `json:"reason"`
	At     string `json:"at"`
}

// Why a stream of events ends.
const (
	DroppedSlow   = "slow_reader" // the client didn't keep up; connect again
	DroppedClosed = "closed"      // the owner leaves the session
	DroppedLost   = "lost"        // said by the client: the connection broke
)

// Dropped is the data of the event "dropped", the last of its stream.
type Dropped struct {
	Reason string `json:"reason"`
}

// Failure is the body of every answer with a status of 400 or more.
type Failure struct {
	Error Refusal `json:"error"`
}

// Refusal says why a request was not carried out. Nothing of it was.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"` // of the body
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// The codes of refusals, with their status.
const (
	CodeBadJSON         = "bad_json"           // 400: the body isn't one JSON object
	CodeBadField        = "bad_field"          // 400: Field is missing or has a wrong value
	CodeUnknownField    = "unknown_field"      // 400: Field isn't known; the message lists the known ones
	CodeBadKind         = "bad_kind"           // 400: no such injection kind; the message lists the known ones
	CodeUnauthorized    = "unauthorized"       // 401: no token or a wrong one
	CodeForbidden       = "forbidden"          // 403: the process of another user
	CodeNotFound        = "not_found"          // 404: no such path, session or receipt
	CodeMethod          = "method_not_allowed" // 405: the header Allow names the method
	CodeConflict        = "conflict"           // 409: the id was used before with other words
	CodeStale           = "stale"              // 409: the approval was answered before, or its call has ended
	CodeNothingToAbort  = "nothing_to_abort"   // 409: no run, or it is being aborted
	CodeNotInterrupted  = "not_interrupted"    // 409: there is no run to resume
	CodeTooLarge        = "too_large"          // 413: the message has both sizes
	CodeUnsupportedType = "unsupported_type"   // 415: the body isn't sent as application/json
	CodeInternal        = "internal"           // 500: a fault of the receiver
	CodeNotLive         = "not_live"           // 503: the session has ended or stopped
)
