package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// stepVerb carries out the verbs of workflow steps.
func (c *conversation) stepVerb(verb, rest string) string {
	attempt, text, _ := strings.Cut(rest, " ")
	step := transcript.Step{Run: "r1", Workflow: "flow", Node: "node", Attempt: attempt, Kind: transcript.StepPrompt, Completion: transcript.CompleteSubmit}
	if known, ok := c.s.steps.find(attempt); ok {
		step.Completion = known.Completion
	}
	switch verb {
	case "answerstep":
		step.Completion = transcript.CompleteAssistant
	case "remind":
		step.Kind = transcript.StepReminder
	case "goon":
		step.Kind = transcript.StepResume
	case "submits":
		n, attempt, output := threeWords(rest)
		return c.decide(ToolDone{Call: c.s.Calls[n-1].ID, Epoch: c.s.Epoch, Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: "accepted",
			Submitted: &transcript.Submission{Attempt: attempt, Output: json.RawMessage(output)}}})
	case "flowtool":
		box, err := NewToolbox(append(testDecls(), llm.Tool{Name: "workflow", Schema: json.RawMessage(flowSchema)}))
		if err != nil {
			c.t.Fatal(err)
		}
		c.env.Tools = box
		return ""
	case "attempt":
		return c.attempt(attempt)
	case "fork":
		return c.fork(transcript.OpenStart)
	case "forkat":
		c.fork(transcript.OpenDeposit)
		out, _ := c.protocolVerb("rewind", rest)
		return out
	case "gap":
		return c.bridge(rest)
	}
	return c.decide(Prompts{step, text})
}

func (c *conversation) attempt(id string) string {
	a := c.s.Attempt(id)
	out := "  " + string(a.State)
	say := func(ok bool, format string, args ...any) {
		if ok {
			out += " · " + fmt.Sprintf(format, args...)
		}
	}
	say(!a.Run.IsZero(), "run %s, %s to %s", a.Run, a.First, a.Last)
	say(!a.Answer.IsZero(), "answer %s %q", a.Answer, a.Text)
	say(a.Answered, "answered")
	say(a.Called, "called tools")
	say(a.Submitted != nil, "submitted %s", a.Submitted)
	say(a.Reason != "", "%s", a.Reason)
	say(a.Detail != "", "(%s)", a.Detail)
	say(a.Cause != "", "cause %s", a.Cause)
	say(a.Reminders > 0, "%d reminded", a.Reminders)
	say(a.Resumes > 0, "%d resumed", a.Resumes)
	say(a.Waits, "waits for a person")
	return out + "\n"
}

const flowSchema = `{"type":"object","properties":{"action":{"type":"string"},"attempt":{"type":"string"},"output":{}},"required":["action"],"additionalProperties":false}`

// fork makes the conversation that of a copy, as package disk does.
func (c *conversation) fork(why transcript.OpenWhy) string {
	header := c.s.Header
	header.Session, header.Forked = "s2", &transcript.Fork{Session: "s1", Entry: c.entries[len(c.entries)-1].ID}
	for i := range c.entries {
		if _, ok := c.entries[i].Body.(*transcript.Session); ok {
			c.entries[i].Body = &header
		}
	}
	c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: why})
	c.refold()
	return c.decide(Wake{})
}

// bridge takes the nodes between two entries out of the log, as a repair does
// that finds them damaged.
func (c *conversation) bridge(rest string) string {
	w := strings.Fields(rest)
	ids := make([]transcript.ID, len(w))
	for i := range w {
		id, err := transcript.ParseID(w[i])
		if err != nil {
			c.t.Fatal(err)
		}
		ids[i] = id
	}
	gap := transcript.Gap{Node: ids[0], After: ids[1], Run: ids[2], Arrivals: ids[3:]}
	var kept []transcript.Entry
	for _, e := range c.entries {
		if e.IsNode() && e.ID.Seq > gap.After.Seq && e.ID.Seq < gap.Node.Seq {
			continue
		}
		kept = append(kept, e)
	}
	c.entries = kept
	open := &transcript.Open{Segment: c.s.Epoch + 1, Why: transcript.OpenStart, Repair: &transcript.Repair{Gaps: []transcript.Gap{gap}}}
	last := c.entries[len(c.entries)-1].ID.Seq
	c.entries = append(c.entries, transcript.Entry{ID: transcript.ID{Epoch: c.s.Epoch + 1, Seq: last + 1}, Time: c.env.Now, V: 1, Body: open})
	c.refold()
	return c.decide(Wake{})
}
