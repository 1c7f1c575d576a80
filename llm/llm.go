// Package llm holds the vocabulary between the runtime and a language model:
// requests, messages and their parts, tool declarations, responses, typed
// failures, and the Model interface with its one method. It also holds the
// scripted model (LoadScript), which plays a YAML file and needs no network.
//
// The types are provider-neutral. A dialect (OpenAI Responses, Chat
// Completions, …) turns a Request into bytes and a stream into a Response; the
// provider's own names never leave that package, except as Part.Raw and
// Call.ProviderID, which are kept so that they can be handed back unchanged.
//
// Invariants a Request must keep, checked by the strict fake provider:
//   - every call of an assistant message has exactly one result, in the
//     messages directly behind it, in the order of the calls, and no result
//     stands without its call;
//   - call ids are unique in the request;
//   - all text is valid UTF-8.
//
// Failures: Stream returns either a Response or an error. An error that the
// provider or the wire caused is an *Error with a Class that says what may be
// done; a context error means that the caller gave up.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Role says whose words a message holds.
type Role string

// The roles. Developer marks words of the harness; a dialect without such a
// role sends the leading ones as system messages and later ones as user
// messages (their text carries the session's mark).
const (
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of the conversation. A tool message holds exactly
// one part, a result.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// PartType tells which fields of a Part are set.
type PartType string

// The part types.
const (
	TextPart     PartType = "text"     // Text
	ThinkingPart PartType = "thinking" // Text (readable summary, may be empty), Raw (the provider's item), Maker
	CallPart     PartType = "call"     // Call
	ResultPart   PartType = "result"   // Result
)

// Part is one piece of a message.
type Part struct {
	Type   PartType `json:"type"`
	Text   string   `json:"text,omitempty"`
	Call   *Call    `json:"call,omitempty"`
	Result *Result  `json:"result,omitempty"`
	// Raw is the provider's own item as compact JSON, for parts that only their
	// maker understands (reasoning with encrypted content). It is replayed
	// only to the same Maker ("openai/responses/gpt-5"); others drop it.
	Raw   json.RawMessage `json:"raw,omitempty"`
	Maker string          `json:"maker,omitempty"`
}

// Call is a tool call as the model wrote it. In a Response ID is empty: the
// session gives each call its own id ("c12.1"), which every later request
// uses, so equal, missing or reused provider ids can't merge calls.
type Call struct {
	ID         string `json:"id,omitempty"`
	ProviderID string `json:"providerId,omitempty"`
	Name       string `json:"name"`
	// Arguments is the exact argument text, which may be invalid JSON.
	Arguments string `json:"arguments"`
}

// Result is the answer to the call with the same id.
type Result struct {
	CallID  string `json:"callId"`
	Name    string `json:"name"`
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
}

// Tool declares a tool. Schema is a JSON Schema object whose bytes are sent
// unchanged: key order is part of the cached prefix.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Request is everything that a model call may depend on.
type Request struct {
	System   string    `json:"system"`
	Tools    []Tool    `json:"tools"`
	Messages []Message `json:"messages"`

	Settings Settings `json:"-"`
	Origin   Origin   `json:"-"`
}

// Settings are the knobs of a call. The zero value of each means the
// provider's default.
type Settings struct {
	Model     string // the provider's name for the model
	MaxOutput int    // tokens
	Effort    string // reasoning effort
	CacheKey  string // prompt cache routing key, at most 64 bytes
}

// Origin tells a scripted model where in its script a session stands. It is
// never sent to a provider.
type Origin struct {
	Session string // session id
	Label   string // session label, for script steps with "for: session:LABEL"
	For     string // "turn", "compaction", "subagent", "step:NODE"
	// Position counts the answers and failed tries of this kind that the
	// session's transcript holds, so a restart goes on where it stood.
	Position int
	// Others counts those of the other kinds: a script without steps for a
	// workflow's step plays it among the turns.
	Others map[string]int
}

// Stop says why the model stopped.
type Stop string

// The stop reasons.
const (
	StopEnd     Stop = "stop"           // finished its answer
	StopTools   Stop = "tools"          // wants its calls answered
	StopLength  Stop = "length"         // cut by the output limit
	StopContent Stop = "content_filter" // withheld by the provider, or refused
)

// Usage counts tokens. Input includes Cached.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	Cached     int `json:"cached,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	u.Input += v.Input
	u.Output += v.Output
	u.Cached += v.Cached
	u.CacheWrite += v.CacheWrite
	u.Reasoning += v.Reasoning
	return u
}

// Response is a whole answer: the stream ended with its terminal event.
type Response struct {
	Parts    []Part
	Stop     Stop
	Usage    Usage
	Provider string   // "openai", "openai-chat", "script", …
	Model    string   // as the provider named it
	ID       string   // the provider's response id, for support requests
	Notes    []string // what of the answer was passed over, for people
}

// DeltaType tells what a Delta adds.
type DeltaType string

// The delta types. CallArgs is a fragment of the argument text of the call
// that the CallStart with the same Index began.
const (
	TextDelta     DeltaType = "text"
	ThinkingDelta DeltaType = "thinking"
	CallStart     DeltaType = "call_start"
	CallArgs      DeltaType = "call_args"
)

// Delta is a provisional fragment of an answer. Deltas are for people to
// watch; only the Response counts.
type Delta struct {
	Type  DeltaType `json:"type"`
	Index int       `json:"index,omitempty"` // which call, from 0
	Name  string    `json:"name,omitempty"`  // tool name, with CallStart
	Text  string    `json:"text,omitempty"`
}

// Model answers requests.
//
// Stream makes one attempt (no retries) and blocks until the answer is whole
// or the attempt failed. It calls emit, from the calling goroutine only, for
// each fragment as it arrives. Outcomes:
//   - response, nil: the stream carried its terminal event;
//   - nil, *Error: the provider refused, failed, or the stream was incomplete;
//   - nil, ctx.Err() (wrapped): the caller cancelled.
//
// It must be safe for concurrent use by several sessions.
type Model interface {
	Stream(ctx context.Context, req *Request, emit func(Delta)) (*Response, error)
}

// Class says what a failed attempt means for the caller.
type Class string

// The classes.
const (
	Retry      Class = "retry"      // 429, 408, 409, 5xx, connection errors: try again later
	Incomplete Class = "incomplete" // the stream ended without its terminal event: try again
	Overflow   Class = "overflow"   // the request is larger than the model's window
	Fatal      Class = "fatal"      // trying again can't help (bad key, bad request, broken script)
)

// Phase says how far an attempt came.
type Phase string

// The phases.
const (
	PhaseConnect Phase = "connect" // no connection, or the request could not be written
	PhaseHeader  Phase = "header"  // waiting for, or judging, the response header
	PhaseStream  Phase = "stream"  // reading the stream
)

// Error is a failed attempt.
type Error struct {
	Class      Class
	Status     int           // HTTP status, 0 if none was received
	Code       string        // the provider's error code, or ours ("idle_timeout", "stream_incomplete", …)
	Phase      Phase         //
	RetryAfter time.Duration // what the provider asked for, 0 if nothing
	Message    string        // for people: what happened and, if known, what to do
	Partial    string        // answer text that had been streamed before the failure
	Usage      Usage         // as far as reported
}

// Error says what happened in one line.
func (e *Error) Error() string {
	s := "model: " + e.Message
	switch {
	case e.Status != 0 && e.Code != "":
		return fmt.Sprintf("%s (HTTP %d, %s)", s, e.Status, e.Code)
	case e.Status != 0:
		return fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	case e.Code != "":
		return fmt.Sprintf("%s (%s)", s, e.Code)
	}
	return s
}
