package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// BenchmarkK5_LargestBatch: an answer with as many skill calls as are run, half
// of them refused for a conflict.
func BenchmarkK5_LargestBatch(b *testing.B) {
	c := newConversation(b)
	var calls []string
	for i := range maxBatch / 2 {
		c.do(fmt.Sprintf("have s%d reference conflicts=z%d", i, i))
		calls = append(calls, fmt.Sprintf(`skill {"name":"s%d"}`, i), fmt.Sprintf(`skill {"name":"%c"}`, 'a'+i%2))
	}
	c.do("have a reference conflicts=b")
	c.do("have b reference")
	c.do("prompt p1 go")
	ev := c.event("calls", strings.Join(calls, " ;; "))
	for b.Loop() {
		if out := Decide(c.s.Clone(), ev, c.env); len(out.Entries) != 1+maxBatch {
			b.Fatalf("%d entries", len(out.Entries))
		}
	}
}

// BenchmarkK8_LargePrompt: a batch of refused calls behind a prompt of 4 MiB.
func BenchmarkK8_LargePrompt(b *testing.B) {
	c := newConversation(b)
	c.do("require red \\bdeck\\b")
	ev := Arrives{transcript.Arrive{AID: "p1", Class: transcript.ClassPrompt, Human: true, Text: strings.Repeat("all work and no play ", 200_000) + "deck"}}
	s := Decide(c.s, ev, c.env).Next
	var calls []string
	for range maxBatch {
		calls = append(calls, `read {"path":"a"}`)
	}
	c.s = s
	answer := c.event("calls", strings.Join(calls, " ;; "))
	for b.Loop() {
		if out := Decide(s.Clone(), answer, c.env); len(out.Entries) != 2+maxBatch {
			b.Fatalf("%d entries", len(out.Entries))
		}
	}
}

// TestK5_UnreadableCallsAreNoPartOfTheSet: a call whose arguments are wrong
// excludes nothing.
func TestK5_UnreadableCallsAreNoPartOfTheSet(t *testing.T) {
	c := newConversation(t)
	c.do("have red reference conflicts=blue")
	c.do("have blue reference")
	c.do("prompt p1 go")
	got := c.do(`calls skill {"name":"red","x":1} ;; skill {"name":"blue"}`)
	if !strings.Contains(got, "result c7.1 error") || !strings.Contains(got, "intent c7.2 skill  blue") {
		t.Errorf("%s", got)
	}
}

// TestK4_SharedRequirementStaysWhileOneNeedsIt: a skill that two workflow
// skills require isn't closed with the one that brought it.
func TestK4_SharedRequirementStaysWhileOneNeedsIt(t *testing.T) {
	s := &State{Branch: newBranch()}
	s.activate([]transcript.SkillFact{
		{Name: "red", Type: "workflow", Steps: []string{"One"}, Requires: []string{"base"}},
		{Name: "base", Type: "reference", For: "red"},
		{Name: "blue", Type: "workflow", Steps: []string{"Uno"}, Requires: []string{"base"}},
	})
	s.mark("red", 0, StepDone, "", "")
	s.closeFinished()
	if s.active("red") || !s.active("base") || !s.active("blue") {
		t.Errorf("in force are %+v", s.Skills)
	}
}
