package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// An approval is asked for by an ask entry and given by an approval entry
// (E47). The id of the ask entry is the approval's id: it is made once, its
// entry belongs to one run and names one call and the digest of its
// arguments, so an answer can't reach anything else, and it is good once. An
// open ask dies with its run: the call gets the result "not run".

// Do says what a judgement does with a call.
type Do string

// The judgements.
const (
	Allow Do = "allow"
	Ask   Do = "ask" // a person must answer first
	Deny  Do = "deny"
)

// Judgement is what the rules say about a call.
type Judgement struct {
	Do   Do
	Rule string // that decided; of Deny, what the model and people read
	// Once names the kind of call for which a person's yes is good until the
	// session ends; "" if each call is asked for.
	Once string
}

// permission returns what the rules and people's answers say about a call
// that is open and has no intent: a body to append first, or nil if the call
// may go on (or waits for an answer).
func (s *State) permission(c *Call, args json.RawMessage, env Env) transcript.Body {
	j := env.Permit(c.Name, args)
	if j.Do == Ask && j.Once != "" && s.Granted[j.Once] && !mutant("GrantForgotten") {
		j.Do = Allow
	}
	switch {
	case j.Do == Deny && !mutant("DeniedRuns"):
		return denied(c, j.Rule, "")
	case c.Approval != nil && c.Approval.Choice == transcript.ApprovalDeny && !mutant("NoIgnored"):
		return denied(c, "the user said no: "+c.Ask.Rule, c.Approval.Reason)
	case j.Do == Ask && c.Ask == nil && !mutant("AskSkipped"):
		return &transcript.Ask{Run: s.Run.ID, Call: c.ID, Tool: c.Name, Digest: argsDigest(c.Call), Rule: j.Rule, Once: j.Once}
	case j.Do == Allow && c.Asked():
		return &transcript.Approval{Ask: c.AskID, Call: c.ID, Digest: c.Ask.Digest, Choice: transcript.ApprovalAllow, By: byRules}
	}
	return nil
}

// byRules: the rules of a later owner, or a yes to another call of the same
// kind, allow what was asked for.
const byRules = "rules"

// denied closes a call that a rule or a person refuses.
func denied(c *Call, rule, reason string) *transcript.Result {
	text := "not allowed: " + rule
	if reason != "" {
		text += " (" + reason + ")"
	}
	r := refuse(c, text)
	r.Denied = rule
	return r
}

// Asked reports whether the call waits for a person's answer.
func (c Call) Asked() bool {
	return c.Open() && c.Ask != nil && c.Approval == nil && c.Intent == nil
}

// Asks lists the calls that wait for an answer. Nobody waits in an
// interrupted run.
func (s *State) Asks() []Call {
	var out []Call
	if s.Run == nil || s.Interrupted() {
		return nil
	}
	for _, c := range s.Calls {
		if c.Asked() {
			out = append(out, c)
		}
	}
	return out
}

// approves takes a person's answer.
func (c *commit) approves(ev Approves) {
	if c.deposit() {
		return
	}
	if ev.Choice != transcript.ApprovalAllow && ev.Choice != transcript.ApprovalDeny {
		c.Reply.Err = &Refusal{"bad_choice", fmt.Sprintf("choice %q: want allow or deny", ev.Choice)}
		return
	}
	call, why := c.Next.askedBy(ev)
	if why != "" {
		c.Reply.Err = &Refusal{"stale", why}
		return
	}
	c.Reply.ID = c.add(&transcript.Approval{Ask: ev.Ask, Call: call.ID, Digest: call.Ask.Digest,
		Choice: ev.Choice, By: ev.By, Reason: strings.ToValidUTF8(ev.Reason, "\uFFFD")})
}

// askedBy finds the call that an answer is for, or says why it comes too late
// or is for nothing.
func (s *State) askedBy(ev Approves) (Call, string) {
	for _, c := range s.Calls {
		if c.AskID != ev.Ask || c.Ask == nil {
			continue
		}
		switch {
		case c.Approval != nil && !mutant("AnsweredTwice"):
			return c, fmt.Sprintf("approval %s was answered before: %s by %s", ev.Ask, c.Approval.Choice, c.Approval.By)
		case s.Interrupted():
			return c, fmt.Sprintf("approval %s waits until its interrupted run goes on: resume it first", ev.Ask)
		case !c.Open() || s.Run == nil || s.Run.Abort != nil:
			return c, fmt.Sprintf("approval %s is closed: its run has ended or is stopping, and call %s was not run", ev.Ask, c.ID)
		case ev.Digest != "" && ev.Digest != c.Ask.Digest && !mutant("DigestIgnored"):
			return c, fmt.Sprintf("approval %s is for other arguments: their digest is %s", ev.Ask, c.Ask.Digest)
		}
		return c, ""
	}
	return Call{}, fmt.Sprintf("approval %q isn't open: there is none with this id, or its call has ended", ev.Ask)
}
