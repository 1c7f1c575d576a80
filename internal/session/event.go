package session

import (
	"encoding/json"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Event is something that happened: one of the types below.
type Event interface{ event() }

// Wake: an owner opened the session; its open entry is already in the state.
type Wake struct{}

// Arrives: something for the model arrived. The same AID twice is answered
// with the first outcome; with other words it is a conflict.
type Arrives struct{ transcript.Arrive }

// Resumes: someone asks that the interrupted run goes on.
type Resumes struct{ By string }

// Aborts: someone asks that the run stops.
type Aborts struct{ By, Why string }

// Approves: a person answers an open ask. An answer to what isn't open (any
// more) is refused as stale. Digest, if set, must be that of the arguments.
type Approves struct {
	Ask    transcript.ID
	Choice transcript.Choice
	By     string
	Reason string // for the model; of a no
	Digest string
}

// ModelDone: the model answered the request.
type ModelDone struct {
	Request  transcript.ID
	Response *llm.Response
}

// ModelFailed: the try at the request failed. Jitter, in [0,1), spreads the
// waiting time.
type ModelFailed struct {
	Request transcript.ID
	Err     *llm.Error
	Jitter  float64
}

// ToolDone: a tool ended.
type ToolDone struct {
	Call   string
	Epoch  int // of the owner that ran it
	Output transcript.Output
}

// Tick: time passed.
type Tick struct{}

func (Wake) event()        {}
func (Arrives) event()     {}
func (Resumes) event()     {}
func (Aborts) event()      {}
func (Approves) event()    {}
func (ModelDone) event()   {}
func (ModelFailed) event() {}
func (ToolDone) event()    {}
func (Tick) event()        {}

// Env is what a decision may know beyond the state: it comes with the event
// and what was used of it is stored.
type Env struct {
	Now    time.Time
	Facts  FactsNow
	Limits Limits
	Window int // the model's context window, tokens; 0: not known
	Tools  *Toolbox
	Answer *AnswerForm // nil: any words may end a run
	Prefix Prefix
	// Permit judges a call by the rules in force. Where nobody can answer an
	// ask, it says Deny.
	Permit func(tool string, args json.RawMessage) Judgement
}

// FactsNow are the present session facts.
type FactsNow struct {
	Date    string // 2026-11-30
	Locale  string
	Agents  string // AGENTS.md text, "" for none
	Catalog string // <available_skills> block, "" for none
}

// Limits of one run. Zero: none.
type Limits struct {
	Turns  int           // answers
	Wall   time.Duration // since the run began or was resumed
	Tokens int           // input and output
	Cost   float64       // dollars, by Price
	Price  Price
}

// Price in dollars per million tokens.
type Price struct{ Input, Cached, Output float64 }

// Of returns the price of a usage in dollars.
func (p Price) Of(u llm.Usage) float64 {
	return (float64(u.Input-u.Cached)*p.Input + float64(u.Cached)*p.Cached + float64(u.Output)*p.Output) / 1e6
}

// Reply answers the event's sender.
type Reply struct {
	ID    transcript.ID // of the arrival, also when it is repeated
	Again bool          // the arrival had been accepted before
	Err   *Refusal
}

// Refusal is an event that the state doesn't take.
type Refusal struct{ Code, Message string }

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }
