package session

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// TestW32_ExactText: the text blocks of the answer, joined without anything
// between, and nothing trimmed; over a crash and a second reading of the log.
func TestW32_ExactText(t *testing.T) {
	part := func(s string) llm.Part { return llm.Part{Type: llm.TextPart, Text: s} }
	thought := llm.Part{Type: llm.ThinkingPart, Text: "not this", Raw: json.RawMessage(`{"a":1}`), Maker: "m"}
	for name, c := range map[string]struct {
		parts []llm.Part
		want  string
	}{
		"blanks at both ends":        {[]llm.Part{part("\n\t  hello \u00a0\n\n")}, "\n\t  hello \u00a0\n\n"},
		"pictures of several signs":  {[]llm.Part{part("👩‍👩‍👧🏳️‍⚧️🇩🇪")}, "👩‍👩‍👧🏳️‍⚧️🇩🇪"},
		"a combining mark of a part": {[]llm.Part{part("e"), part("\u0301 ok")}, "e\u0301 ok"},
		"thoughts between":           {[]llm.Part{thought, part("a"), thought, part("b")}, "ab"},
		"tags, quotes, line ends":    {[]llm.Part{part("<b>\"&\\\r\n\u2028\u0000</b>")}, "<b>\"&\\\r\n\u2028\u0000</b>"},
		"no text at all":             {[]llm.Part{thought}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conv := newConversation(t)
			conv.do("answerstep a1 Say.")
			conv.decide(conv.answer(llm.StopEnd, c.parts...))
			conv.do("crash 1")
			if got := conv.s.Attempt("a1"); got.State != StepAnswered || got.Text != c.want {
				t.Errorf("answered: %+q", got.Text)
			}
			conv.do("resume a1")
			if got := conv.s.Attempt("a1"); got.State != StepSettled || !got.Answered || got.Text != c.want || got.Reason != transcript.Done {
				t.Errorf("adopted: %+q, %s", got.Text, got.Reason)
			}
		})
	}
}

// TestW30_WhatIsAskedIsChecked: an executor that doesn't know a completion
// fails and doesn't fall back.
func TestW30_WhatIsAskedIsChecked(t *testing.T) {
	good := transcript.Step{Run: "r", Node: "n", Attempt: "a", Kind: transcript.StepPrompt, Completion: transcript.CompleteAssistant}
	for name, change := range map[string]func(*transcript.Step){
		"no attempt":            func(s *transcript.Step) { s.Attempt = "" },
		"unknown completion":    func(s *transcript.Step) { s.Completion = "speech" },
		"no completion":         func(s *transcript.Step) { s.Completion = "" },
		"unknown kind":          func(s *transcript.Step) { s.Kind = "nudge" },
		"reminder of an answer": func(s *transcript.Step) { s.Kind = transcript.StepReminder },
	} {
		t.Run(name, func(t *testing.T) {
			c := newConversation(t)
			step := good
			change(&step)
			c.decide(Prompts{step, "x"})
			if e := c.last.Reply.Err; e == nil || e.Code != "bad_step" || len(c.last.Entries) > 0 {
				t.Errorf("answered %v with %d entries", e, len(c.last.Entries))
			}
		})
	}
}

// TestI6_NobodyElsePromptsAStep: no arrival from outside is a step's prompt,
// and one that took its id keeps no step away.
func TestI6_NobodyElsePromptsAStep(t *testing.T) {
	c := newConversation(t)
	if _, err := Inject("x", WorkflowStep, "do it"); err == nil {
		t.Error("a workflow_step can be injected")
	}
	for _, a := range []transcript.Arrive{
		{AID: "x", Class: transcript.ClassStep, Trusted: true, Inject: WorkflowStep, Text: "do it"},
		{AID: "x", Class: transcript.ClassStep, Trusted: true, Inject: WorkflowStep, Text: "do it", Step: &transcript.Step{Attempt: "a1"}},
		{AID: "x", Class: transcript.ClassPrompt, Human: true, Text: "do it", Step: &transcript.Step{Attempt: "a1"}},
		{AID: "x", Class: transcript.ClassStep, Human: true, Text: "do it"},
	} {
		c.decide(Arrives{a})
		if e := c.last.Reply.Err; e == nil || e.Code != "bad_arrival" {
			t.Errorf("%+v was taken: %v", a, e)
		}
	}
	c.do("inject a1/step.1@0 system_note mine")
	if got := c.do("answerstep a1 Say."); !strings.Contains(got, "arrive a1/step.2@0 step workflow_step") {
		t.Errorf("the step was answered\n%s", got)
	}
	c.do("inject a1/step.2@0 system_note mine")
	if e := c.last.Reply.Err; e == nil || e.Code != "conflict" {
		t.Errorf("a used id is answered %v", e)
	}
}

// TestR4_StepsInForgedLogs: a log in which a step's prompt stands where none
// can is refused, and one with a submission, settle or withdrawal of an attempt
// that isn't known is read.
func TestR4_StepsInForgedLogs(t *testing.T) {
	forge := func(lines []string, b transcript.Body) error {
		c := newConversation(t)
		for _, l := range lines {
			c.do(l)
		}
		c.node(b)
		_, err := Fold(c.entries)
		return err
	}
	id := func(n int) transcript.ID { return transcript.ID{Epoch: 1, Seq: n} }
	waits := []string{"prompt p1 hi", "stepprompt a1 Plan.", "inject b1 background_result built"} // 1-3 … 1-7, 1-8
	for name, err := range map[string]error{
		"into a run": forge(waits, &transcript.Deliver{Run: id(5), Arrivals: []transcript.ID{id(7)}}),
		"in company": forge(append(waits, "abort"), &transcript.Deliver{Arrivals: []transcript.ID{id(7), id(8)}}),
	} {
		if err == nil || !strings.Contains(err.Error(), "begins a run, and alone") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"a settle of an unknown attempt":     forge([]string{"prompt p1 hi", "answer hi", "crash 1", "resume", "prompt p2 x"}, &transcript.Abort{By: "x", Cause: "unheard of"}),
		"a withdrawal of an unknown attempt": forge(nil, &transcript.Withdraw{Attempt: "a9", Arrivals: []transcript.ID{id(77)}, Cause: "cancel"}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestE3_EventsOfAStep: the injection tells the step, the settle its attempt.
func TestE3_EventsOfAStep(t *testing.T) {
	c := newConversation(t)
	c.do("answerstep a1 Say hello.")
	told := 0
	for _, u := range c.last.Updates {
		if u.Inject != WorkflowStep {
			continue
		}
		told++
		if u.Step == nil || u.Step.Attempt != "a1" || u.Step.Kind != transcript.StepPrompt || u.Step.Completion != transcript.CompleteAssistant || u.Step.Node != "node" {
			t.Errorf("%s tells %+v", u.Type, u.Step)
		}
	}
	if told != 4 { // queued, injection, the start and the end of its message
		t.Errorf("%d updates tell of the prompt", told)
	}
	c.do("answer hello")
	last := c.last.Updates[len(c.last.Updates)-1]
	if last.Type != AgentSettled || last.Settle.Attempt != "a1" {
		t.Errorf("settled: %+v", last)
	}
	c.do("prompt p1 hi")
	c.do("answerstep a2 Wait.")
	c.do("abort a2 cancel")
	if len(c.last.Updates) != 1 || c.last.Updates[0].Type != Withdrawn || c.last.Updates[0].Step.Attempt != "a2" || c.last.Updates[0].Why != transcript.CauseCancel {
		t.Errorf("withdrawn: %+v", c.last.Updates)
	}
	if r, ok := ReceiptOf(c.entries, "a2/step.1@0"); !ok || r.State != ReceiptWithdrawn {
		t.Errorf("receipt %+v", r)
	}
}

// TestC4_StepsHaveTheirOwnPosition: answers and failed tries count by the kind
// of their call, over all branches and after a restart.
func TestC4_StepsHaveTheirOwnPosition(t *testing.T) {
	c := newConversation(t)
	for _, line := range []string{"prompt p1 hi", "answer hello", "answerstep a1 Say.", "answer said", "prompt p2 more", "fail retry 429 after=1s", "tick 1s", "answer again"} {
		c.do(line)
	}
	want := map[string]int{"turn": 3, "step:node": 1}
	check := func(s *State, name string) {
		t.Helper()
		if !maps.Equal(s.Tries, want) {
			t.Errorf("%s: %v, want %v", name, s.Tries, want)
		}
	}
	check(c.s, "live")
	folded, err := Fold(c.entries)
	if err != nil {
		t.Fatal(err)
	}
	check(folded, "folded")
	if o := Request(c.s, c.env).Origin; o.For != "turn" || o.Position != 3 || o.Others["step:node"] != 1 {
		t.Errorf("the next call is %+v", o)
	}
	c.do("answerstep a2 Say.")
	if o := Request(c.s, c.env).Origin; o.For != "step:node" || o.Position != 1 || o.Others["turn"] != 3 {
		t.Errorf("a step's call is %+v", o)
	}
}

// TestC12_TheYieldThatHoldsIsTheLastResult: what a step does beside a yield
// isn't the session's last result.
func TestC12_TheYieldThatHoldsIsTheLastResult(t *testing.T) {
	c := newConversation(t)
	check := func(want transcript.Reason, after string) {
		t.Helper()
		folded, err := Fold(c.entries)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{c.s, folded} {
			if r := s.Result(); r == nil || r.Reason != want || want == transcript.Yield && (r.Yield == nil || r.Yield.Text != "Which one?") {
				t.Errorf("%s: %+v", after, r)
			}
		}
	}
	c.do("prompt p1 hi")
	c.do(`calls message_user {"message":"Which one?","blockOnUser":true,"reason":"decision"}`)
	check(transcript.Yield, "the yield")
	c.do("answerstep a1 Say.")
	c.do("answer said")
	check(transcript.Yield, "a step beside it")
	c.do("answerstep a2 Say.")
	c.do("fail fatal 400")
	check(transcript.Yield, "a step that fails beside it")
	c.do("prompt p2 the first")
	c.do("answer taken")
	check(transcript.Done, "an answer")
}
