package flow

import (
	"github.com/gamma-harness/gamma/workflow"
)

// Event is something that happens to a run.
type Event interface{ decide(c *commit) }

// Claim: somebody has taken the run's claim. LeaseWas is when the lease before
// it ran out, 0 if it was given back.
type Claim struct{ LeaseWas int64 }

func (ev Claim) decide(c *commit) {
	r := c.Next
	switch {
	case r.Status.Ended():
		c.refuse("ended", "run %s has ended: %s", r.ID, r.where())
		return
	case r.Status == Parked && r.Reason == ForOperator:
		c.refuse("not_now", "run %s is parked for the operator: %s", r.ID, r.Message)
		return
	case r.Status == Parked && r.Reason == ForSession && !c.env.Session:
		c.refuse("not_now", "run %s waits for its session %s", r.ID, r.Session)
		return
	case r.Status == Parked:
		c.add(Fact{Kind: KindUnparked, Now: c.env.Now})
	}
	if r.Status == Queued && r.Pause && !mutant("PauseIgnored") {
		c.add(Fact{Kind: KindPaused, Node: r.Next}) // asked for while it was parked
		return
	}
	if r.Status == Queued && r.Next != "" {
		c.enter(r.Next, false)
		return
	}
	if r.Status == Running && r.Open != nil {
		c.takeOver(c.g.Node(r.Open.Node), ev.LeaseWas)
	}
}

// takeOver goes on with an attempt that another holder began.
func (c *commit) takeOver(n *workflow.Node, leaseWas int64) {
	switch {
	case n.NodeType == workflow.TypeAgent && mutant("AgentAttemptRenewed"):
		c.finish(CancelledByUs, "interrupted", "the host was lost while it ran", nil)
		c.enter(n.ID, true)
	case n.NodeType == workflow.TypeAgent:
		c.uncounted(leaseWas)
		away := n.Assistant() && !mutant("AssistantAnywhere") || c.Next.Open.There && !mutant("YieldAnywhere")
		if away && !c.env.Session {
			c.add(Fact{Kind: KindParked, Reason: ForSession, Now: c.env.Now})
		}
	case n.NodeType == workflow.TypeAction && !n.Delay:
		if n.Replay == "once" && !mutant("OnceRepeated") {
			c.finish(FailedAttempt, "outcome_unknown", "the host was lost while it ran; it must not be repeated, and nobody knows how far it came", nil)
			return
		}
		c.finish(CancelledByUs, "interrupted", "the host was lost while it ran", nil)
		c.enter(n.ID, true)
	default:
		c.uncounted(leaseWas)
	}
}

// uncounted moves the deadline of the open attempt by the time without a claim.
func (c *commit) uncounted(leaseWas int64) {
	open := c.Next.Open
	if gone := c.env.Now - leaseWas; leaseWas > 0 && gone > 0 && open.Deadline > 0 {
		c.add(Fact{Kind: KindDeadlineMoved, At: open.Deadline + gone})
	}
}

// Started: the input is normalised and the title known, or the input is bad.
type Started struct {
	Input workflow.JSON
	Title string
	Fault string // why it can't start; "" if it can
}

func (ev Started) decide(c *commit) {
	r := c.Next
	if _, has := r.Nodes[""]; r.Status != Queued || has {
		c.refuse("stale", "run %s has started", r.ID)
		return
	}
	if ev.Fault != "" {
		c.end(Failed, "input", ev.Fault)
		return
	}
	if why := unsound(ev.Input); why != "" {
		c.end(Failed, "input", "input: "+why)
		return
	}
	c.Output = ev.Input
	c.add(Fact{Kind: KindStarted, Title: ev.Title})
	c.enter(c.g.Start, false)
}

// Timed: the computed timeout of the open attempt is known; 0 or less is none.
type Timed struct {
	Attempt   string
	TimeoutMs int64
}

func (ev Timed) decide(c *commit) {
	if n := c.opened(ev.Attempt); n == nil {
		return
	}
	at := int64(0)
	if ev.TimeoutMs > 0 {
		at = c.env.Now + ev.TimeoutMs
	}
	c.add(Fact{Kind: KindDeadlineMoved, At: at})
}

// Prepared: the prompt of an agent step is made, and nothing was sent yet.
type Prepared struct {
	Attempt     string
	PromptHash  string
	MaxChars    int   // 0: no limit
	TimeoutMs   int64 // computed; 0: as the node says, below 0: none
	BadMaxChars bool  // it was computed and is no positive integer
}

func (ev Prepared) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	if n.NodeType != workflow.TypeAgent || c.Next.Open.Prepared {
		c.refuse("stale", "attempt %s is prepared", ev.Attempt)
		return
	}
	if ev.BadMaxChars {
		c.finish(FailedAttempt, "max_chars", "maxChars: the computed limit is no positive integer", nil)
		return
	}
	if c.Next.Turn != "" && (c.env.Session || mutant("SettledElsewhere")) {
		c.add(Fact{Kind: KindTurnSettled, Notice: c.Next.Turn, Reason: "workflow_prompt"})
	}
	timeout := ev.TimeoutMs
	if timeout == 0 {
		timeout = n.TimeoutMs
	}
	at := int64(0)
	switch {
	case timeout == 0:
		at = c.env.Now + defaultTimeout
	case timeout > 0:
		at = c.env.Now + timeout
	}
	f := Fact{Kind: KindPrepared, Attempt: ev.Attempt, At: at, MaxChars: ev.MaxChars, Digest: ev.PromptHash}
	if c.env.Session && !n.Assistant() { // an assistant step has no other place
		f.Session = c.Next.Session
	}
	c.add(f)
	if n.Assistant() && !c.env.Session && !mutant("AssistantAnywhere") {
		c.add(Fact{Kind: KindParked, Reason: ForSession, Now: c.env.Now})
	}
}
