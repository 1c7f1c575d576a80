package runs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// choice is a weighted alternative.
type choice struct {
	weight int64
	name   string
}

func (w *world) choose(cs ...choice) string {
	sum := int64(0)
	for _, c := range cs {
		sum += c.weight
	}
	n := w.n(sum)
	for _, c := range cs {
		if n -= c.weight; n < 0 {
			return c.name
		}
	}
	return ""
}

// words make a text that occurs once in a history.
func (w *world) words(what string) string {
	w.said++
	return fmt.Sprintf(" %s %d\n", what, w.said)
}

// answer is what the model says to a request.
func (o *owned) answer(req transcript.ID) session.Event {
	w, what := o.w, ""
	var step *transcript.Step
	if r := o.actor.State.Run; r != nil {
		step = r.Step
	}
	switch submit := step != nil && !step.Assistant(); {
	case submit && len(w.script) > 0:
		n := o.s.said(w)
		if last := len(w.script) - 2; n > last { // the last two again and again
			n = last + (n-last)%2
		}
		what = w.script[n]
	case w.calm() && submit:
		what = w.choose(choice{8, "submit"}, choice{1, "text"})
	case w.calm():
		what = "text"
	case submit && w.lazy:
		what = w.choose(choice{20, "text"}, choice{2, "submit"}, choice{2, "blank"}, choice{1, "wrong"})
	case submit:
		what = w.choose(choice{24, "submit"}, choice{4, "wrong"}, choice{2, "other"}, choice{6, "text"}, choice{5, "yield"},
			choice{4, "bash"}, choice{1, "blank"}, choice{1, "thought"}, choice{1, "length"}, choice{1, "fatal"}, choice{2, "retry"})
	case step != nil:
		what = w.choose(choice{40, "text"}, choice{6, "bash"}, choice{3, "submit"}, choice{3, "yield"}, choice{1, "blank"}, choice{1, "thought"},
			choice{1, "length"}, choice{1, "filter"}, choice{1, "fatal"}, choice{3, "retry"})
	default:
		what = w.choose(choice{14, "text"}, choice{4, "bash"}, choice{4, "yield"}, choice{1, "submit"}, choice{1, "fatal"})
	}
	w.logf("  %s: the model says %s", o.s.id, what)
	switch what {
	case "fatal":
		return session.ModelFailed{Request: req, Err: &llm.Error{Class: llm.Fatal, Message: "no"}}
	case "retry":
		return session.ModelFailed{Request: req, Err: &llm.Error{Class: llm.Retry, Status: 503, Message: "later"}}
	}
	r := &llm.Response{Stop: llm.StopEnd, Provider: "sim", Model: "sim", Parts: w.say(what, step)}
	switch last := r.Parts[len(r.Parts)-1]; {
	case last.Type == llm.CallPart:
		r.Stop = llm.StopTools
	case what == "length":
		r.Stop = llm.StopLength
	case what == "filter":
		r.Stop = llm.StopContent
	}
	return session.ModelDone{Request: req, Response: r}
}

// said is how many answers a session's branch has.
func (s *sessionDir) said(w *world) int {
	n := 0
	for _, l := range path(s.read(w)) {
		if l.Kind == "assistant" {
			n++
		}
	}
	return n
}

// say makes the parts of an answer.
func (w *world) say(what string, step *transcript.Step) []llm.Part {
	text := llm.Part{Type: llm.TextPart, Text: w.words("reply")}
	call := func(name, args string) []llm.Part {
		c := llm.Part{Type: llm.CallPart, Call: &llm.Call{Name: name, Arguments: args}}
		if w.n(3) == 0 {
			return []llm.Part{text, c}
		}
		return []llm.Part{c}
	}
	attempt := ""
	if step != nil {
		attempt = step.Attempt
	}
	submit := func(attempt, output string) []llm.Part {
		return call("workflow", fmt.Sprintf(`{"action":"submit","attempt":%q,"output":%s}`, attempt, output))
	}
	switch what {
	case "bash":
		return call("bash", `{"command":"make"}`)
	case "yield":
		return call("message_user", `{"message":"please","blockOnUser":true,"reason":"decision"}`)
	case "submit":
		return submit(attempt+"", fmt.Sprintf(`{"ok":true,"n":%d}`, w.n(1000)))
	case "wrong":
		return submit(attempt, `{"ok":"no"}`)
	case "other":
		return submit(strings.TrimSuffix(attempt, "1")+"9", `{"ok":true}`)
	case "blank":
		return []llm.Part{{Type: llm.TextPart, Text: " \n"}}
	case "thought":
		return []llm.Part{{Type: llm.ThinkingPart, Text: "hm"}}
	}
	if w.n(4) == 0 { // the parts are joined without a sign between them
		return []llm.Part{{Type: llm.ThinkingPart, Text: "hm"}, text, {Type: llm.TextPart, Text: "and more"}}
	}
	return []llm.Part{text}
}

// tool is the effect of a tool.
func (o *owned) tool(c *session.ToolCall) session.Output {
	if c.Name != "workflow" {
		return session.Output{Outcome: transcript.OutcomeOK, Text: "done"}
	}
	var a struct {
		Attempt string
		Output  json.RawMessage
	}
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return session.Output{Outcome: transcript.OutcomeError, Text: err.Error()}
	}
	f := o.host.attempts[a.Attempt]
	if f == nil || f.done {
		return session.Output{Outcome: transcript.OutcomeError, Text: "no step waits for it"}
	}
	switch step, cause := f.now(); {
	case step.Completion != transcript.CompleteSubmit || cause != "" || !strings.Contains(string(a.Output), "true"):
		return session.Output{Outcome: transcript.OutcomeError, Text: "not accepted"}
	}
	return session.Output{Outcome: transcript.OutcomeOK, Text: "Accepted.", Submitted: &transcript.Submission{Attempt: a.Attempt, Output: a.Output}}
}
