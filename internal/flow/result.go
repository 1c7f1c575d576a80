package flow

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/workflow"
)

// Result: the open attempt has ended, of any node but an agent.
type Result struct {
	Attempt string
	Outcome Outcome // ok or failed; timed_out of a command that had its own limit
	Code    string
	Message string
	Output  workflow.JSON // of a notification: its text, a JSON string
	Receipt workflow.JSON
}

func (ev Result) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	c.Receipt = ev.Receipt
	if ev.Outcome == OK {
		if why := unsound(ev.Output); why != "" {
			c.finish(FailedAttempt, "output", "output: "+why, nil)
			return
		}
	}
	if n.NodeType == workflow.TypeNotify && ev.Outcome == OK {
		if why := badNotice(c.Next, unquote(ev.Output)); why != "" {
			c.finish(FailedAttempt, "notification", why, nil)
			return
		}
	}
	if ev.Outcome == OK {
		c.finish(OK, "", "", ev.Output)
		return
	}
	c.finish(ev.Outcome, ev.Code, ev.Message, nil)
}

// maxNotice is how many UTF-16 units a notification may have.
const maxNotice = 65_536

func badNotice(r *Run, text string) string {
	switch {
	case r.Session == "":
		return "a notification requires an origin session"
	case Blank(text):
		return "the text of the notification is empty"
	case Units(text) > maxNotice:
		return fmt.Sprintf("the notification has %d characters; at most %d are allowed", Units(text), maxNotice)
	case !readable(text):
		return "the notification has bytes that are no text"
	}
	return ""
}

// The states of an agent step in its session.
const (
	StepAbsent   = "absent"   // nothing of the attempt is there
	StepQueued   = "queued"   // the prompt waits for its place
	StepPrompted = "prompted" // the prompt is there, no answer
	StepAnswered = "answered" // an answer, and its run hasn't settled
	StepSettled  = "settled"
)

// How a settled step stopped. Another reason of the session keeps its name.
const (
	StopOK       = "ok"        // an answer with visible text
	StopAborted  = "aborted"   // by one of the causes below, or by none of them
	StopError    = "error"     // and Detail says what
	StopEmpty    = "empty"     // no visible text
	StopToolOnly = "tool_only" // neither, but calls
)

// Why a step was aborted. The words are those of package transcript.
const (
	CauseTimeout = "timeout"
	CauseCancel  = "cancel"
	CausePark    = "park"
	CauseEscape  = "escape"
)

// StepOutcome is what a session says about an agent step. The session reports;
// this package judges.
type StepOutcome struct {
	State       string
	Text        string        // exact visible text of the answer
	Output      workflow.JSON // of submit steps: what was accepted
	Entry       string        // the answer's entry
	First, Last string        // range of the conversation
	// SessionToken is the lease token of the session that says so. A commit
	// depends on it if that is the run's session of origin: always of an
	// assistant step, of a submit step if the session is live where it is
	// decided. What a child session has accepted needs no fence of its own:
	// nobody sees it, and the run's token and seq let one outcome through.
	SessionToken int64
	Stop         string // one of the stops, or a reason
	Cause        string // of StopAborted; "" if it is none of the causes
	Detail       string
}

// StepDone: an agent step has settled in its session.
type StepDone struct {
	Attempt string
	Outcome StepOutcome
	Fault   string // the validation of a submit step failed for good
}

// receipt proves which answer became the output.
type receipt struct {
	Run     string `json:"run"`
	Node    string `json:"node"`
	Attempt string `json:"attempt"`
	Entry   string `json:"entry"`
	SHA256  string `json:"sha256"`
	Text    string `json:"text"`
	First   string `json:"first"`
	Last    string `json:"last"`
}

// receiptText is how much of an answer its receipt repeats, in bytes.
const receiptText = 4096

func (ev StepDone) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	o := ev.Outcome
	if (n.Assistant() || c.env.Session) && !mutant("SessionUnfenced") {
		c.SessionToken = o.SessionToken
	}
	if !n.Assistant() {
		c.submitted(ev)
		return
	}
	if o.Stop != StopOK {
		c.unanswered(o)
		return
	}
	limit := c.Next.Open.MaxChars
	text := o.Text
	if len(text) > receiptText {
		text = strings.ToValidUTF8(text[:receiptText], "")
	}
	c.Receipt = ToJSON(receipt{c.Next.ID, n.ID, ev.Attempt, o.Entry, TextHash(o.Text), text, o.First, o.Last})
	switch units := Units(o.Text); {
	case Blank(o.Text):
		c.finish(FailedAttempt, StopEmpty, "the answer has no visible text", nil)
	case limit > 0 && units > limit:
		c.finish(FailedAttempt, "max_chars", fmt.Sprintf("the answer has %d characters; maxChars is %d", units, limit), nil)
	default:
		c.finish(OK, "", "", ToJSON(o.Text))
	}
}

// submitted ends a submit step: an accepted submission beats deadline and
// Escape.
func (c *commit) submitted(ev StepDone) {
	switch {
	case ev.Outcome.Output != nil && unsound(ev.Outcome.Output) != "":
		c.finish(FailedAttempt, "output", "submission: "+unsound(ev.Outcome.Output), nil)
	case ev.Outcome.Output != nil:
		c.finish(OK, "", "", ev.Outcome.Output)
	case ev.Fault != "":
		c.finish(FailedAttempt, "not_submitted", ev.Fault, nil)
	case ev.Outcome.Stop == StopOK || ev.Outcome.Stop == StopEmpty || ev.Outcome.Stop == StopToolOnly:
		c.finish(FailedAttempt, "not_submitted", "the step settled without a submission", nil)
	default:
		c.unanswered(ev.Outcome)
	}
}

// unanswered ends an attempt that has no answer, by its cause.
func (c *commit) unanswered(o StepOutcome) {
	why := o.Detail
	if why == "" {
		why = "the step ended without an answer (" + o.Stop + ")"
	}
	switch {
	case o.Stop != StopAborted:
		c.finish(FailedAttempt, o.Stop, why, nil)
	case o.Cause == CauseTimeout:
		c.finish(TimedOutAttempt, CauseTimeout, "its time was up", nil)
	case o.Cause == CauseCancel:
		c.cancel("session")
	case o.Cause == CausePark: // of a log only: hosts leave a step as it is when they park the run
		c.add(Fact{Kind: KindParked, Reason: ForHost, Now: c.env.Now})
	case o.Cause == CauseEscape:
		c.hold()
	default:
		c.finish(FailedAttempt, StopAborted, why, nil)
	}
}

// Ask: what an open checkpoint asks for is known.
type Ask struct {
	Attempt string
	Request workflow.JSON
	Words   string // of the presentation, if one is due
}

func (ev Ask) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	if n.NodeType != workflow.TypeCheckpoint {
		c.refuse("stale", "attempt %s asks nobody", ev.Attempt)
		return
	}
	f := Fact{Kind: KindAsked, Node: n.ID, Attempt: ev.Attempt, Reason: ForCheckpoint, Digest: Digest(string(ev.Request), string(ToJSON(n.HumanDecision)))}
	f.Decision = DecisionID(ev.Attempt, f.Digest)
	if h := n.HumanDecision; h != nil {
		f.Reason, f.Default = ForDecision, h.Default
		if h.TimeoutMs > 0 {
			f.At = c.env.Now + h.TimeoutMs
		}
	}
	c.Request = ev.Request
	c.add(f)
	if ev.Words != "" {
		c.words = &Presentation{ev.Words, ev.Request}
	}
	c.present()
}

// Wait: an open delay knows how long it waits.
type Wait struct {
	Attempt string
	Millis  int64
}

func (ev Wait) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	if !n.Delay {
		c.refuse("stale", "attempt %s is no delay", ev.Attempt)
		return
	}
	c.add(Fact{Kind: KindDelayed, Node: n.ID, Attempt: ev.Attempt, At: c.env.Now + max(ev.Millis, 1)})
}

// Yielded: a submit step waits until the user speaks.
type Yielded struct{ Attempt string }

func (ev Yielded) decide(c *commit) {
	n := c.opened(ev.Attempt)
	switch {
	case n == nil:
	case n.NodeType != workflow.TypeAgent || n.Assistant() || !c.Next.Open.Prepared:
		c.refuse("stale", "attempt %s can't wait for the user", ev.Attempt)
	case !c.Next.Open.Waits:
		c.add(Fact{Kind: KindYielded, Attempt: ev.Attempt, Now: c.env.Now})
	}
}

// Spoke: the user has spoken to a step that waited, or it goes on otherwise.
type Spoke struct{ Attempt string }

func (ev Spoke) decide(c *commit) {
	if n := c.opened(ev.Attempt); n != nil && c.Next.Open.Waits {
		c.add(Fact{Kind: KindSpoke, Attempt: ev.Attempt, Now: c.env.Now})
	}
}

// Unseen: the session of an assistant step, or of one that was begun there,
// isn't here any more, and nobody has seen anything since.
type Unseen struct{ Attempt string }

func (ev Unseen) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	if !n.Assistant() && !c.Next.Open.There {
		c.refuse("stale", "attempt %s isn't bound to its session", ev.Attempt)
		return
	}
	c.add(Fact{Kind: KindParked, Reason: ForSession, Now: c.env.Now})
}
