package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/workflow"
)

// Answer: somebody answers what the run waits for.
type Answer struct {
	Decision string        `json:"decision"`
	Choice   string        `json:"choice,omitempty"`
	Text     string        `json:"text,omitempty"`
	Value    workflow.JSON `json:"value,omitempty"` // of a plain checkpoint
	By       string        `json:"by"`              // channel and person
	Key      string        `json:"key,omitempty"`   // the same answer with the same key is adopted
	Model    bool          `json:"model,omitempty"` // a model says it, which no human decision takes
}

// The longest text of an answer, in UTF-16 units.
const maxAnswerText = 4000

func (ev Answer) decide(c *commit) {
	r := c.Next
	if r.Open == nil || r.Open.Decision == "" || r.Status != Waiting {
		c.refuse("conflict", "run %s isn't waiting for an answer: it is %s", r.ID, r.where())
		return
	}
	n := c.g.Node(r.Open.Node)
	switch {
	case ev.Decision != r.Open.Decision:
		c.refuse("conflict", "the run no longer asks for %s", ev.Decision)
		return
	case ev.Model && n.HumanDecision != nil:
		c.refuse("forbidden", "a model can't answer a decision that is a person's")
		return
	case r.Open.Until > 0 && c.env.Now >= r.Open.Until && !mutant("LateAnswerTaken"):
		c.refuse("expired", "the time to answer is over")
		return
	}
	output, why := ev.output(n)
	if why != "" {
		c.refuse("invalid", "%s", why)
		return
	}
	c.answered(n, ev.Choice, ev.By, ev.Key, output)
}

// answered ends the attempt that asked, with its answer as the output.
func (c *commit) answered(n *workflow.Node, choice, by, key string, output workflow.JSON) {
	c.Answer = output
	c.add(Fact{Kind: KindAnswered, Attempt: c.Next.Open.ID, Decision: c.Next.Open.Decision, Choice: choice, By: by, Key: key, Input: n.Answer == "input"})
	c.finish(OK, "", "", output)
}

// output checks an answer and makes the node's output of it.
func (ev Answer) output(n *workflow.Node) (workflow.JSON, string) {
	if n.HumanDecision == nil {
		if len(ev.Value) == 0 {
			return nil, "the checkpoint wants a value (JSON)"
		}
		if why := unsound(ev.Value); why != "" {
			return nil, "the answer doesn't fit: " + why
		}
		broken, err := workflow.Violations(n.Expect().Schema, ev.Value)
		if err != nil {
			return nil, err.Error()
		}
		if len(broken) > 0 {
			return nil, "the answer doesn't fit: " + strings.Join(broken, "; ")
		}
		return ev.Value, ""
	}
	var chosen *workflow.Choice
	var keys []string
	for i := range n.HumanDecision.Choices {
		c := &n.HumanDecision.Choices[i]
		keys = append(keys, c.Key)
		if c.Key == ev.Choice {
			chosen = c
		}
	}
	switch {
	case chosen == nil:
		return nil, fmt.Sprintf("%s is no choice; want one of %s", short(ev.Choice), strings.Join(keys, ", "))
	case chosen.Prompt == "" && ev.Text != "":
		return nil, fmt.Sprintf("the choice %s takes no text", ev.Choice)
	case chosen.Prompt != "" && (ev.Text == "" || Units(ev.Text) > maxAnswerText):
		return nil, fmt.Sprintf("the choice %s needs a text of 1 to %d characters: %s", ev.Choice, maxAnswerText, chosen.Prompt)
	case !readable(ev.Text):
		return nil, "the text has bytes that are no text"
	}
	return answerJSON(ev.Choice, ev.Text), ""
}

func answerJSON(choice, text string) workflow.JSON {
	return ToJSON(struct {
		Choice string `json:"choice"`
		Text   string `json:"text,omitempty"`
	}{choice, text})
}

// Won is the answer that a decision has, if it has one.
type Won struct {
	Choice, By, Key string
	Value           workflow.JSON // of a checkpoint, or with its text
}

// Verdict says what became of an answer after the run was asked to take it: nil
// if it is the one that won, or the same by the same key. won is nil if there
// is none; refused is what the run said, nil if its holder took or refused it.
func (ev Answer) Verdict(run string, won *Won, refused *Refusal) *Refusal {
	switch {
	case won != nil && ev.Key != "" && won.Key == ev.Key && ev.same(won):
		return nil
	case won != nil && won.By == ev.By && refused == nil && ev.Key == "" && ev.same(won):
		return nil
	case won != nil:
		return &Refusal{Code: "conflict", Reason: "run " + run + ": " + won.said()}
	case refused != nil:
		return refused
	}
	return &Refusal{Code: "conflict", Reason: "run " + run + " didn't take the answer"}
}

// same reports whether an answer says what the one that won says.
func (ev Answer) same(won *Won) bool {
	if ev.Choice != won.Choice {
		return false
	}
	if ev.Choice == "" {
		return bytes.Equal(Compact(ev.Value), Compact(won.Value))
	}
	var given struct {
		Text string `json:"text"`
	}
	return json.Unmarshal(won.Value, &given) == nil && given.Text == ev.Text
}

// said tells how the decision was made.
func (w *Won) said() string {
	switch {
	case w.By == CauseCancel:
		return "it was cancelled before anybody had answered"
	case w.By == CauseTimeout:
		return "the time to answer was over, and the default was taken: " + w.Choice
	case w.Choice != "":
		return w.By + " has answered already: " + w.Choice
	}
	return w.By + " has answered already: " + string(w.Value)
}

// Pause: the run shall stop at the next boundary.
type Pause struct {
	By  string `json:"by"`
	Key string `json:"key,omitempty"` // see KeyOf
}

func (ev Pause) decide(c *commit) {
	r := c.Next
	switch {
	case r.Status.Ended():
		c.refuse("ended", "run %s has ended: %s", r.ID, r.where())
		return
	case r.Pause || r.Status == Waiting && r.Reason == ForPause:
		c.refuse("not_now", "run %s is paused already", r.ID)
		return
	}
	c.add(Fact{Kind: KindPauseAsked, By: ev.By, Key: ev.Key})
	if r.Status == Queued {
		c.add(Fact{Kind: KindPaused, Node: r.Next})
	}
}

// Escape: a person stopped the agent step that is open. The attempt stays open
// and its clock goes on.
type Escape struct {
	By string `json:"by"`
}

func (ev Escape) decide(c *commit) {
	r := c.Next
	if r.Status != Running || r.Open == nil || c.g.Node(r.Open.Node).NodeType != workflow.TypeAgent {
		c.refuse("not_now", "run %s has no agent step to stop: it is %s", r.ID, r.where())
		return
	}
	c.hold()
}

func (c *commit) hold() {
	if !c.Next.Pause {
		c.add(Fact{Kind: KindPauseAsked, By: CauseEscape})
	}
	c.add(Fact{Kind: KindHeld})
}

// Resume: a paused run, or one that is parked for the operator, goes on.
type Resume struct {
	By  string `json:"by"`
	Key string `json:"key,omitempty"`
}

func (ev Resume) decide(c *commit) {
	r := c.Next
	switch {
	case r.Status == Waiting && r.Reason == ForPause && r.Open != nil:
		c.add(Fact{Kind: KindResumed, By: ev.By, Key: ev.Key})
		c.add(Fact{Kind: KindUnheld})
	case r.Status == Waiting && r.Reason == ForPause:
		c.add(Fact{Kind: KindResumed, By: ev.By, Key: ev.Key})
		c.add(Fact{Kind: KindQueued, Node: r.Next})
	case r.Status == Parked && r.Reason == ForOperator:
		c.add(Fact{Kind: KindResumed, By: ev.By, Key: ev.Key})
		c.add(Fact{Kind: KindUnparked, Now: c.env.Now})
	case r.Pause:
		c.add(Fact{Kind: KindResumed, By: ev.By, Key: ev.Key})
	case r.Status.Ended():
		c.refuse("ended", "run %s has ended: %s", r.ID, r.where())
	default:
		c.refuse("not_now", "run %s isn't paused: it is %s", r.ID, r.where())
	}
}

// Cancel: the run shall end.
type Cancel struct {
	By  string `json:"by"`
	Key string `json:"key,omitempty"`
}

func (ev Cancel) decide(c *commit) {
	if c.Next.Status.Ended() {
		c.refuse("ended", "run %s has ended: %s", c.Next.ID, c.Next.where())
		return
	}
	c.cancel(ev.By)
	if ev.Key != "" {
		last := &c.Facts[len(c.Facts)-1]
		last.By, last.Key = ev.By, ev.Key
	}
}

// KeyOf returns by whom and under what key a run is steered; the key is "" if
// there is none. A run takes an event with a key once: whoever sends it looks
// first whether a fact has it.
func KeyOf(ev Event) (by, key string) {
	switch ev := ev.(type) {
	case Pause:
		return ev.By, ev.Key
	case Resume:
		return ev.By, ev.Key
	case Cancel:
		return ev.By, ev.Key
	}
	return "", ""
}

func (c *commit) cancel(by string) {
	if open := c.Next.Open; open != nil {
		if open.Decision != "" {
			c.add(Fact{Kind: KindAnswered, Attempt: open.ID, Decision: open.Decision, By: CauseCancel})
		}
		c.add(Fact{Kind: KindFinished, Node: open.Node, Attempt: open.ID, Outcome: CancelledByUs, Code: "cancelled", Message: "cancelled by " + by})
	}
	c.end(Cancelled, "cancelled", "cancelled by "+by)
}

// Park: the holder gives the run up without recording anything about its
// attempt, whose clock stops. For the operator also one whose time has come:
// what waited waits anew when it is resumed.
type Park struct {
	For     string // host or operator
	Message string
	// LeaseWas is since when nobody worked on the run, if it is parked as soon
	// as it is claimed.
	LeaseWas int64
	Unbegun  bool          // the open attempt had no effect yet
	Receipt  workflow.JSON // of what it did
}

func (ev Park) decide(c *commit) {
	r := c.Next
	due := r.Status == Waiting && r.Wake > 0 && c.env.Now >= r.Wake && ev.For == ForOperator
	if r.Status != Running && r.Status != Queued && !due {
		c.refuse("not_now", "run %s can't be parked: it is %s", r.ID, r.where())
		return
	}
	if r.Open != nil {
		c.uncounted(ev.LeaseWas)
	}
	c.Receipt = ev.Receipt
	c.add(Fact{Kind: KindParked, Reason: ev.For, Message: ev.Message, Now: c.env.Now, Unbegun: ev.Unbegun && r.Open != nil})
}

// Fire: a time has come, that of a wait or the deadline of the open attempt.
type Fire struct{}

func (Fire) decide(c *commit) {
	r := c.Next
	switch {
	case r.Status == Waiting && r.Wake > 0 && c.env.Now >= r.Wake:
		c.wake()
	case r.Status == Running && r.Open != nil && r.Open.Deadline > 0 && c.env.Now >= r.Open.Deadline && (c.env.Holder || mutant("VisitorTimesOut")):
		c.finish(TimedOutAttempt, CauseTimeout, "its time was up", nil)
	default:
		c.refuse("not_now", "no time has come for run %s", r.ID)
	}
}

func (c *commit) wake() {
	r := c.Next
	switch r.Reason {
	case ForRetry:
		c.enter(r.Next, false)
	case ForDelay:
		c.finish(OK, "", "", ToJSON(workflow.Waited{Millis: r.Open.Until - r.Open.At}))
	case ForDecision:
		n := c.g.Node(r.Open.Node)
		if r.Open.Default == "" {
			c.finish(TimedOutAttempt, CauseTimeout, "nobody answered in time", nil)
			return
		}
		c.answered(n, r.Open.Default, CauseTimeout, "", answerJSON(r.Open.Default, ""))
	}
}
