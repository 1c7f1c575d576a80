package flow

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/workflow"
)

// Env is what is true where a decision is made.
type Env struct {
	Now     int64 // Unix milliseconds
	Holder  bool  // who decides holds the run's claim; else it is a visit
	Session bool  // the run's session is live here
}

// NoSession is what an assistant step without a session of origin fails with.
const NoSession = "Assistant completion requires an origin session."

// Refusal is an event that changes nothing.
type Refusal struct {
	Code   string // ended | conflict | stale | expired | invalid | forbidden | too_fast | not_now
	Reason string
}

func (r *Refusal) Error() string { return r.Reason }

// Commit is what one event leads to: its facts, in one transaction.
type Commit struct {
	Facts   []Fact
	Output  workflow.JSON // of the fact that has one
	Receipt workflow.JSON // of an attempt: how a command ended, which answer was taken
	Next    *Run          // the run after it; the run as it was if there are no facts
	Request workflow.JSON // of an asked decision
	Answer  workflow.JSON // of an answered one
	// SessionToken, if not 0, is the session's lease token that the commit
	// depends on.
	SessionToken int64
	Refused      *Refusal
}

// commit is a commit in the making.
type commit struct {
	Commit
	g     *Graph
	env   Env
	words *Presentation // for the session, if the commit has them
}

// Create is the first commit of a run.
func Create(id, session string, now int64) Commit {
	c := &commit{Commit: Commit{Next: empty(id)}, env: Env{Now: now}}
	c.Next.Seq = 0
	c.add(Fact{Kind: KindCreated, Session: session, Now: now})
	return c.Commit
}

// Decide returns what an event leads to. It doesn't change r.
func Decide(g *Graph, r *Run, ev Event, env Env) Commit {
	c := &commit{Commit: Commit{Next: r.Clone()}, g: g, env: env}
	ev.decide(c)
	if c.Refused != nil {
		return Commit{Next: r, Refused: c.Refused}
	}
	return c.Commit
}

// add records a fact and applies it.
func (c *commit) add(f Fact) {
	seq := c.Next.Seq
	if len(c.Facts) == 0 {
		seq++
	}
	c.Facts = append(c.Facts, f)
	if err := Apply(c.g, c.Next, seq, f); err != nil {
		panic(err) // our own kinds
	}
}

func (c *commit) refuse(code, format string, args ...any) {
	c.Refused = &Refusal{code, fmt.Sprintf(format, args...)}
}

// opened returns the open attempt if it is the one with the id and the run is
// running; else it refuses.
func (c *commit) opened(id string) *workflow.Node {
	r := c.Next
	switch {
	case mutant("AttemptUnchecked") && r.Open != nil:
	case r.Open == nil || r.Open.ID != id:
		c.refuse("stale", "attempt %s isn't open", id)
		return nil
	case r.Status != Running:
		c.refuse("stale", "attempt %s isn't running: the run is %s", id, r.where())
		return nil
	}
	return c.g.Node(r.Open.Node)
}

// where names the status for people.
func (r *Run) where() string {
	if r.Reason == "" {
		return string(r.Status)
	}
	return string(r.Status) + " (" + r.Reason + ")"
}

// enter begins a node, or leaves the run where the next holder begins it.
func (c *commit) enter(id string, again bool) {
	r := c.Next
	n := c.g.Node(id)
	switch {
	case r.Pause && !mutant("PauseIgnored"):
		c.add(Fact{Kind: KindPaused, Node: id})
		return
	case !c.env.Holder && !mutant("VisitorEnters"):
		c.add(Fact{Kind: KindQueued, Node: id})
		return
	}
	if over := c.overLimit(n, again); over != "" {
		c.end(Failed, "max_steps", over)
		return
	}
	c.add(Fact{Kind: KindAttempt, Node: id, Attempt: c.attemptID(id), At: c.deadline(n), Now: c.env.Now, Again: again})
	if !n.Assistant() {
		return
	}
	if r.Session == "" {
		c.finish(FailedAttempt, "no_session", NoSession, nil)
	} else if !c.env.Session && !mutant("AssistantAnywhere") {
		c.add(Fact{Kind: KindParked, Reason: ForSession, Now: c.env.Now})
	}
}

func (c *commit) attemptID(node string) string {
	if mutant("AttemptIDReused") {
		return fmt.Sprintf("%s/%s#1", c.Next.ID, node)
	}
	return fmt.Sprintf("%s/%s#%d", c.Next.ID, node, c.Next.Attempts+1)
}

// defaultTimeout bounds an attempt whose node doesn't say.
const defaultTimeout = 15 * 60 * 1000

// deadline of an attempt that begins now. Those of agents begin with their
// prompt, computed ones when they are known, and what waits for people or
// timers has none.
func (c *commit) deadline(n *workflow.Node) int64 {
	switch {
	case n.NodeType == workflow.TypeAgent, c.g.Has(n.ID + ".timeout"):
		return 0
	case n.TimeoutMs < 0:
		return 0
	case n.TimeoutMs == 0:
		return c.env.Now + defaultTimeout
	}
	return c.env.Now + n.TimeoutMs
}

// overLimit says which limit of steps a node would break, "" if none.
func (c *commit) overLimit(n *workflow.Node, again bool) string {
	if n.Synthetic() || again {
		return ""
	}
	for _, m := range around(n.ID) {
		if limit := c.g.Mounts[m].MaxSteps; c.Next.Mounts[m].Steps >= limit {
			return fmt.Sprintf("node %s: the included workflow %s (%s) has made its %d steps", n.ID, m, c.g.Mounts[m].Name, limit)
		}
	}
	if c.Next.Steps >= c.g.MaxSteps {
		return fmt.Sprintf("node %s: the run has made its %d steps (maxSteps)", n.ID, c.g.MaxSteps)
	}
	return ""
}

// finish ends the open attempt and goes on: again, along an edge, or to the end
// of the run.
func (c *commit) finish(o Outcome, code, message string, output workflow.JSON) {
	r := c.Next
	n := c.g.Node(r.Open.Node)
	attempt := r.Open.ID
	f := Fact{Kind: KindFinished, Node: n.ID, Attempt: attempt, Outcome: o, Code: code, Message: message}
	if n.NodeType == workflow.TypeNotify && o == OK {
		output = c.notice(&f, n, output)
	}
	c.Output = output
	tried := r.Tries + 1
	c.add(f)
	if n.NodeType == workflow.TypeAgent && (o == FailedAttempt || o == TimedOutAttempt) && r.Session != "" && r.Turn == "" {
		c.add(Fact{Kind: KindTurnOwed, Notice: turnID(r.ID, n.ID, attempt, string(o))})
	}
	if o == CancelledByUs {
		return // who cancelled says what follows
	}
	if n.Retry != nil && o != OK && tried < n.Retry.Attempts {
		c.add(Fact{Kind: KindRetry, Node: n.ID, Tries: tried, At: c.env.Now + backoff(n.Retry.BackoffMs, tried)})
		return
	}
	if !mutant("RouteLater") {
		c.route(n, o, code, message, output)
	}
}

// backoff doubles the wait with each try.
func backoff(first int64, tried int) int64 {
	const most = 30 * 24 * 3600 * 1000
	for range tried - 1 {
		if first *= 2; first > most {
			return most
		}
	}
	return first
}

// notice turns the text of a notification into its row and the node's output.
func (c *commit) notice(f *Fact, n *workflow.Node, text workflow.JSON) workflow.JSON {
	r := c.Next
	f.Notice = fmt.Sprintf("%s/%s/%d", r.ID, n.ID, r.Nodes[n.ID].Notified+1)
	f.Text = unquote(text)
	return toJSON(workflow.Receipt{NotificationID: f.Notice, Session: r.Session})
}

// turnID is the id of the turn that tells a session of a failure.
func turnID(run, node, attempt, cause string) string {
	return "turn:" + run + ":" + node + ":" + attempt + ":" + cause
}

// route follows the node's edge.
func (c *commit) route(n *workflow.Node, o Outcome, code, message string, output workflow.JSON) {
	e := c.g.Edge(n.ID)
	switch {
	case e == nil && o == OK && c.presents() && !mutant("EndUnpresented"):
		c.lastWords()
	case e == nil && o == OK:
		c.end(Completed, "", "")
	case e != nil && onResult(e):
		c.follow(n, e, resultCase(e, o, code))
	case o == TimedOutAttempt:
		c.end(TimedOut, code, c.because(n, message))
	case o != OK:
		c.end(Failed, code, c.because(n, message))
	case e.On == "":
		c.enter(e.To, false)
	default:
		value, err := workflow.Case(output, outputPath(e.On))
		if err != nil {
			c.end(Failed, "routing", fmt.Sprintf("node %s: switch %s: %v", n.ID, e.On, err))
			return
		}
		c.follow(n, e, value)
	}
}

func (c *commit) follow(n *workflow.Node, e *workflow.Edge, value string) {
	to, ok := e.Cases[value]
	if !ok {
		c.end(Failed, "routing", fmt.Sprintf("node %s: switch %s: there is no case for %s", n.ID, e.On, short(value)))
		return
	}
	c.enter(to, false)
}

func (c *commit) because(n *workflow.Node, message string) string {
	return fmt.Sprintf("node %s: %s", n.ID, message)
}

// end ends the run, with one successor in its session at most.
func (c *commit) end(s Status, code, message string) {
	r := c.Next
	last, turn := r.Result, r.Turn
	_, started := r.Nodes[""]
	c.add(Fact{Kind: KindEnded, Status: s, Code: code, Message: message})
	switch {
	case r.Session == "" || s == Cancelled:
		return
	case s == Completed && (turn == "" || c.words != nil):
		c.present()
		return
	case turn == "" && !started:
		turn = turnID(r.ID, "start", r.ID+"/start", "launch_failed")
	case turn == "":
		turn = turnID(r.ID, last, r.Nodes[last].Attempt, string(s))
	}
	c.add(Fact{Kind: KindTurnDue, Notice: turn, Message: c.turnText(turn, s, message)})
}

// turnText is what a session is told of a run that ended without a word there.
func (c *commit) turnText(turn string, s Status, message string) string {
	switch {
	case s == Completed: // a step failed, and the run went on
		node, _, _ := strings.Cut(strings.TrimPrefix(turn, "turn:"+c.Next.ID+":"), ":")
		why := c.Next.Nodes[node].Message
		return fmt.Sprintf("The run has completed, and its step %s has failed: %s", node, why)
	case s == TimedOut:
		return "The run has timed out: " + message
	}
	return "The run has failed: " + message
}
