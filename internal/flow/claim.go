package flow

import (
	"fmt"

	"github.com/gamma-harness/gamma/workflow"
)

// Event is something that happens to a run.
type Event interface{ decide(c *commit) }

// Claim: somebody has taken the run's claim. Without one nobody worked on the
// run since LeaseWas (0: that doesn't matter, since no clock ran). Lost: the
// claim before wasn't given back, its holder was lost.
type Claim struct {
	LeaseWas int64
	Lost     bool
}

// maxTakes is how often what a run is owed is taken up from a lost host, one
// after the other, before a person is asked.
const maxTakes = 4

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
	switch {
	case r.Status == Running && r.Open != nil:
		c.takeOver(c.g.Node(r.Open.Node), ev)
	case r.Status == Queued && !r.started() && ev.Lost && !c.crashLoop("its start", r.Tries):
		c.add(Fact{Kind: KindTaken, Tries: r.Tries + 1})
	}
}

// crashLoop parks a run that was taken up too often. Whatever is owed may be
// what ends the hosts.
func (c *commit) crashLoop(what string, takes int) bool {
	if takes < maxTakes || mutant("CrashLoopNever") {
		return false
	}
	c.add(Fact{Kind: KindParked, Reason: ForOperator, Code: "crash_loop", Now: c.env.Now,
		Message: fmt.Sprintf("%s: each of the %d hosts that carried it out was lost, so it isn't tried again by itself; find out why (does it end the process, or need more memory than there is?), then resume or cancel the run", what, takes+1)})
	return true
}

// takeOver goes on with an attempt that another holder began.
func (c *commit) takeOver(n *workflow.Node, ev Claim) {
	open := c.Next.Open
	away := !c.env.Session && (n.Assistant() && !mutant("AssistantAnywhere") || open.There && !mutant("YieldAnywhere"))
	takes := open.Takes
	if ev.Lost && !away {
		if takes >= maxTakes {
			c.uncounted(ev.LeaseWas)
		}
		if c.crashLoop("node "+n.ID, takes) {
			return
		}
		takes++
	}
	switch {
	case n.NodeType == workflow.TypeAgent && mutant("AgentAttemptRenewed"):
		c.finish(CancelledByUs, "interrupted", "the host was lost while it ran", nil)
		c.enter(n.ID, true)
	case n.NodeType == workflow.TypeAgent:
		c.uncounted(ev.LeaseWas)
		if away {
			c.add(Fact{Kind: KindParked, Reason: ForSession, Now: c.env.Now})
			return
		}
		c.taken(takes)
	case n.NodeType == workflow.TypeAction && !n.Delay && open.Unbegun:
		c.finish(CancelledByUs, "interrupted", "the run was parked before it began", nil)
		c.enter(n.ID, true)
	case n.NodeType == workflow.TypeAction && !n.Delay:
		if n.Replay == "once" && !mutant("OnceRepeated") {
			c.finish(FailedAttempt, "outcome_unknown", "the host was lost while it ran; it must not be repeated, and nobody knows how far it came", nil)
			return
		}
		c.finish(CancelledByUs, "interrupted", "the host was lost while it ran", nil)
		c.enter(n.ID, true)
		if c.Next.Open != nil {
			c.taken(takes)
		}
	default:
		c.uncounted(ev.LeaseWas)
		c.taken(takes)
	}
}

// taken counts a take-up of the open attempt.
func (c *commit) taken(takes int) {
	if takes != c.Next.Open.Takes {
		c.add(Fact{Kind: KindTaken, Attempt: c.Next.Open.ID, Tries: takes})
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
