package flow_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/played"
	"github.com/gamma-harness/gamma/workflow"
)

var update = flag.Bool("update", false, "rewrite the conversation files")

// The lines of a conversation file (package played) are events; under each stand
// the facts of the commit or the refusal, and what is owed then. Verbs:
//
//	use NAME [SESSION]      a run of the definition (definitions_test.go), with a session of origin
//	here · away             the session is live where decisions are made, or isn't
//	claim [D [back]]        the claim is taken; the one before was lost D ago, or given back then
//	visit VERB …            the event comes from somebody without the claim
//	start JSON · bad TEXT   the input is normalised, or is bad
//	ok JSON · failed CODE · timedout     a node's result
//	prepare [N] · badmax    an agent step is prepared, with maxChars N, or with none that can be
//	step TEXT · stop WHY [CAUSE] · submit JSON   an agent step has settled
//	ask JSON · wait MS · timeout MS      what a checkpoint asks, how long a delay waits, a computed timeout
//	answer CHOICE [TEXT] · value JSON · model CHOICE · stale CHOICE
//	pause · resume · escape · cancel · park WHO [TEXT] · unbegun TEXT · missing D TEXT · unseen · fire
//	present WORD JSON       the presentation's words and its result are known
//	yield · speak           a submit step waits for the user; the user has spoken
//	publish TYPE KEY JSON
//	tick D                  D passes
//	crash                   everything but the facts is forgotten
//	repeat                  the event before comes again
//	state                   the run's fields
//
// After each commit the run is compared with the fold of the facts as they are
// stored, and Rows with what has changed.
func TestConversations(t *testing.T) {
	played.Conversations(t, *update, func(t *testing.T) func(string) string {
		c := &conversation{t: t, env: flow.Env{Now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).UnixMilli(), Holder: true}}
		return c.do
	})
}

type conversation struct {
	t       *testing.T
	g       *flow.Graph
	run     *flow.Run
	log     []flow.Stored
	env     flow.Env
	last    flow.Event
	started int64
}

// do carries out one line and returns what it led to.
func (c *conversation) do(line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "use":
		name, session, _ := strings.Cut(rest, " ")
		d, ok := definitions(c.t)[name]
		if !ok {
			c.t.Fatalf("no definition %q", name)
		}
		c.g, c.started, c.log = flow.Index(d.Graph), c.env.Now, nil
		return c.took(nil, flow.Create("r", session, c.env.Now))
	case "here", "away":
		c.env.Session = verb == "here"
		return ""
	case "tick":
		c.env.Now += duration(c.t, rest)
		return ""
	case "crash":
		c.run = c.fold()
		return c.owed()
	case "state":
		return c.state()
	case "visit":
		c.env.Holder = false
		defer func() { c.env.Holder = true }()
		return c.do(rest)
	case "repeat":
		return c.decide(c.last)
	}
	return c.decide(c.event(verb, rest))
}

func duration(t *testing.T, s string) int64 {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d.Milliseconds()
}

func (c *conversation) decide(ev flow.Event) string {
	c.last = ev
	before := c.run.Clone()
	d := flow.Decide(c.g, c.run, ev, c.env)
	if diff := cmp.Diff(before, c.run); diff != "" {
		c.t.Errorf("Decide has changed the run (-before +after):\n%s", diff)
	}
	if d.Refused != nil {
		return "refused " + d.Refused.Code + ": " + d.Refused.Reason + "\n"
	}
	return c.took(c.run, d)
}

// took stores a commit and shows it.
func (c *conversation) took(before *flow.Run, d flow.Commit) string {
	c.run = d.Next
	if len(d.Facts) > 0 {
		stored := flow.Stored{Seq: d.Next.Seq}
		b, err := json.Marshal(d.Facts)
		if err == nil {
			err = json.Unmarshal(b, &stored.Facts)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		c.log = append(c.log, stored)
	}
	if diff := cmp.Diff(c.fold(), c.run, cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("the live run isn't the fold of its facts (-fold +live):\n%s", diff)
	}
	if before != nil && len(d.Facts) > 0 {
		c.checkRows(before, &d)
	}
	var out strings.Builder
	for _, f := range d.Facts {
		fmt.Fprintf(&out, "%s\n", c.fact(f))
	}
	for what, j := range map[string]workflow.JSON{"output": d.Output} {
		if j != nil {
			fmt.Fprintf(&out, "%s %s\n", what, j)
		}
	}
	if d.SessionToken != 0 {
		fmt.Fprintf(&out, "fenced by session token %d\n", d.SessionToken)
	}
	return out.String() + c.owed()
}

// fact shows a fact, with times as distances from the beginning.
func (c *conversation) fact(f flow.Fact) string {
	at := f.At
	f.Now = 0
	if f.At != 0 {
		f.At = 1
	}
	b, err := json.Marshal(f)
	if err != nil {
		c.t.Fatal(err)
	}
	s := strings.Replace(string(b), `"at":1`, `"at":`+strconv.Quote("+"+time.Duration((at-c.started)*1e6).String()), 1)
	s = strings.Replace(s, `{"kind":"`+f.Kind+`"`, "", 1)
	return strings.TrimSpace(f.Kind + " " + strings.TrimSuffix(strings.TrimPrefix(s, ","), "}"))
}

func (c *conversation) fold() *flow.Run {
	r, err := flow.Fold(c.g, "r", c.log)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *conversation) owed() string {
	e := flow.Owed(c.g, c.run)
	if e == nil {
		return "  " + c.stands() + "\n"
	}
	if e.Node == nil {
		return "  " + c.stands() + ", owed " + string(e.Kind) + "\n"
	}
	return "  " + c.stands() + ", owed " + string(e.Kind) + " " + e.Attempt + "\n"
}

// stands shows how a run stands and who may claim it.
func (c *conversation) stands() string {
	s := string(c.run.Status)
	if c.run.Reason != "" {
		s += " (" + c.run.Reason + ")"
	}
	if by := c.run.ClaimBy(); by != "" {
		s += ", claimed by " + by
	}
	if c.run.Slot(c.g) {
		s += ", slot"
	}
	return s
}

// checkRows holds Rows against what has changed.
func (c *conversation) checkRows(before *flow.Run, d *flow.Commit) {
	rows := flow.Rows(before, d)
	in := func(list []string, s string) bool {
		for _, l := range list {
			if l == s {
				return true
			}
		}
		return false
	}
	for id, v := range d.Next.Nodes {
		if before.Nodes[id] != v && !in(rows.Nodes, id) {
			c.t.Errorf("the row of node %q has changed and isn't written", id)
		}
	}
	for id, v := range d.Next.Mounts {
		if before.Mounts[id] != v && !in(rows.Mounts, id) {
			c.t.Errorf("the row of mount %q has changed and isn't written", id)
		}
	}
	for key, v := range d.Next.News {
		if before.News[key].Seq != v.Seq && !in(rows.News, key) {
			c.t.Errorf("the row of update %q has changed and isn't written", key)
		}
	}
	if !rows.Wide && (before.ClaimBy() != d.Next.ClaimBy() || before.Slot(c.g) != d.Next.Slot(c.g)) {
		c.t.Errorf("claim or slot has changed and isn't written: %v", d.Facts)
	}
	a, b := *before, *d.Next
	for _, r := range []*flow.Run{&a, &b} { // what a narrow row has
		r.Seq, r.Attempts, r.Steps, r.Tries, r.Turn, r.Open, r.Tokens, r.TokensAt, r.Result = 0, 0, 0, 0, "", nil, 0, 0, ""
		r.Nodes, r.Mounts, r.News = nil, nil, nil
	}
	if diff := cmp.Diff(a, b); diff != "" && !rows.Wide {
		c.t.Errorf("columns have changed that aren't written:\n%s", diff)
	}
}

func (c *conversation) state() string {
	r := c.run.Clone()
	b, err := json.Marshal(struct {
		Steps, Attempts, Tries int
		Next, Turn, Result     string
		Pause                  bool
		Mounts                 map[string]flow.Inside
	}{r.Steps, r.Attempts, r.Tries, r.Next, r.Turn, r.Result, r.Pause, r.Mounts})
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b) + "\n"
}

func (c *conversation) event(verb, rest string) flow.Event {
	attempt, decision := "r/none#0", ""
	if c.run.Open != nil {
		attempt, decision = c.run.Open.ID, c.run.Open.Decision
	}
	a, b, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseInt(a, 10, 64)
	switch verb {
	case "claim":
		ev := flow.Claim{}
		if a != "" {
			ev.LeaseWas, ev.Lost = c.env.Now-duration(c.t, a), b != "back"
		}
		return ev
	case "start":
		return flow.Started{Input: workflow.JSON(rest), Title: "title"}
	case "bad":
		return flow.Started{Fault: rest}
	case "ok":
		return flow.Result{Attempt: attempt, Outcome: flow.OK, Output: workflow.JSON(rest)}
	case "failed":
		return flow.Result{Attempt: attempt, Outcome: flow.FailedAttempt, Code: a, Message: "it went wrong"}
	case "timedout":
		return flow.Result{Attempt: attempt, Outcome: flow.TimedOutAttempt, Code: "timeout", Message: "too slow"}
	case "prepare":
		return flow.Prepared{Attempt: attempt, PromptHash: "p", MaxChars: int(n)}
	case "badmax":
		return flow.Prepared{Attempt: attempt, PromptHash: "p", BadMaxChars: true}
	case "step":
		return flow.StepDone{Attempt: attempt, Outcome: flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: rest, Entry: "1-9", First: "1-5", Last: "1-9", SessionToken: 7}}
	case "stop":
		return flow.StepDone{Attempt: attempt, Outcome: flow.StepOutcome{State: flow.StepSettled, Stop: a, Cause: b}}
	case "submit":
		return flow.StepDone{Attempt: attempt, Outcome: flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Output: workflow.JSON(rest), SessionToken: 7}}
	case "ask":
		ev := flow.Ask{Attempt: attempt, Request: workflow.JSON(rest)}
		if flow.Presents(c.g, c.run) {
			ev.Words = "Say that it waits."
		}
		return ev
	case "present":
		return flow.Presentation{Text: a, Result: workflow.JSON(b)}
	case "wait":
		return flow.Wait{Attempt: attempt, Millis: n}
	case "timeout":
		return flow.Timed{Attempt: attempt, TimeoutMs: n}
	case "answer":
		return flow.Answer{Decision: decision, Choice: a, Text: b, By: "terminal:me", Key: "k"}
	case "value":
		return flow.Answer{Decision: decision, Value: workflow.JSON(rest), By: "terminal:me"}
	case "model":
		return flow.Answer{Decision: decision, Choice: a, By: "model", Model: true}
	case "stale":
		return flow.Answer{Decision: "decision-of-before", Choice: a, By: "terminal:me"}
	case "pause":
		return flow.Pause{By: "me"}
	case "resume":
		return flow.Resume{By: "me"}
	case "escape":
		return flow.Escape{By: "me"}
	case "cancel":
		return flow.Cancel{By: "me"}
	case "park":
		return flow.Park{For: a, Message: b}
	case "missing":
		return flow.Park{For: flow.ForOperator, Message: b, LeaseWas: c.env.Now - duration(c.t, a)}
	case "unbegun":
		return flow.Park{For: flow.ForOperator, Message: rest, Unbegun: true}
	case "unseen":
		return flow.Unseen{Attempt: attempt}
	case "yield":
		return flow.Yielded{Attempt: attempt}
	case "speak":
		return flow.Spoke{Attempt: attempt}
	case "fire":
		return flow.Fire{}
	case "publish":
		key, data, _ := strings.Cut(b, " ")
		return flow.Publish{Attempt: attempt, Update: workflow.Update{Type: a, Key: key, Data: workflow.JSON(data)}}
	}
	c.t.Fatalf("unknown verb %q", verb)
	return nil
}
