package session

import (
	"encoding/json"
	"time"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Event is something that happened: one of the types below.
type Event interface{ event() }

// Wake: an owner opened the session; its open entry is already in the state.
// With are arrivals that the owner brings: all of them stand before anything
// that they or what waited lead to, so a person's message is delivered with
// what waited and not behind it (I9). The reply is that of the last one, or of
// the first one that was refused. Model, unless "", is the model that answers
// from now on, and Maker whose own items it takes. Over are attempts of
// workflow steps that are over, which is found out before an owner opens the
// session: what is left of them here is ended before anything begins. One that
// has its answer settles with it.
type Wake struct {
	With         []transcript.Arrive
	Model, Maker string
	Over         []Aborts
}

// Arrives: something for the model arrived. The same AID twice is answered
// with the first outcome; with other words it is a conflict.
type Arrives struct{ transcript.Arrive }

// Resumes: someone asks that the interrupted run goes on. Attempt, unless "",
// is the workflow step that it must belong to.
type Resumes struct{ By, Attempt string }

// Aborts: someone asks that the run stops. Attempt, unless "", is the workflow
// step that it must belong to, and Cause, one of transcript's, why the workflow
// ends it: then no hold is left. A prompt of the attempt that waits is
// withdrawn.
type Aborts struct{ By, Why, Attempt, Cause string }

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

// Compacted: the compaction's request was answered. Bodies are the texts that
// its effect loaded, by content address. Failed, one of the reasons of
// compact_failed, says that it came to nothing before the model was asked.
type Compacted struct {
	Request        transcript.ID
	Response       *llm.Response // nil if no model was asked
	Bodies         map[string]string
	Failed, Detail string
}

// Closes: the owner leaves the session in order. It is noted if a run goes on,
// so that the resume behind it isn't taken for one after a crash. It is the last
// event of an owner: nothing is due any more.
type Closes struct{}

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
func (Closes) event()      {}
func (Tick) event()        {}
func (Compacted) event()   {}

// Env is what a decision may know beyond the state: it comes with the event
// and what was used of it is stored.
type Env struct {
	Now    time.Time
	Facts  FactsNow
	Limits Limits
	Window int // the model's context window, tokens; 0: not known
	// Assumed stands for the window where a number is needed and none is known.
	Assumed int
	Tools   *Toolbox
	Skills  *skill.Catalog // that can be loaded; nil: none
	// Require: requests that match need a skill before anything else (K8).
	Require []Requirement
	// Answerable: somebody may answer what asks. Else it is denied.
	Answerable bool
	Answer     *AnswerForm // nil: any words may end a run
	Prefix     Prefix
	// Permit judges a call by the rules in force.
	Permit func(tool string, args json.RawMessage) Judgement

	memo *memo // nil: nothing is remembered
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

// The codes of refusals on which callers act.
const (
	RefusedAnswered   = "answered"   // the step has its answer
	RefusedDenied     = "denied"     // the output of the step could never be submitted
	RefusedSuperseded = "superseded" // a person has spoken since
)

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }
