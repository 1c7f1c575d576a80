package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// changed ends the N-th call as write does.
func (c *conversation) changed(n int, states ...transcript.FileState) {
	c.decide(ToolDone{Call: c.s.Calls[n-1].ID, Epoch: c.s.Epoch, Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: "written", Undo: states}})
}

// TestE48_WhatARewindTakesBack: of each file the oldest content that is left
// is restored and the newest one is expected; what isn't kept is named.
func TestE48_WhatARewindTakesBack(t *testing.T) {
	c := newConversation(t)
	c.do("prompt p1 one")
	c.do(`calls write {"path":"a"}`)
	c.changed(1, transcript.FileState{Path: "a", After: "a1"})
	c.do("answer done")
	c.do("prompt p2 two")
	second := c.s.Queue
	if len(second) > 0 {
		t.Fatal("p2 waits")
	}
	c.do(`calls write {"path":"a"} ;; write {"path":"b"} ;; bash {"command":"make  all"} ;; edit {"path":"c"}`)
	c.changed(1, transcript.FileState{Path: "a", Before: "b-a1", After: "a2"})
	c.changed(2, transcript.FileState{Path: "b", After: "b1"})
	c.do("tool 3 ok out")
	c.do("crash")
	c.do("resume")
	c.do(`calls write {"path":"a"} ;; write {"path":"d"} ;; read {"path":"a"}`)
	c.changed(1, transcript.FileState{Path: "a", Before: "a2", After: "a3"})
	c.changed(2, transcript.FileState{Path: "d", Lost: "it was too big", After: "d1"})
	c.do("tool 3 ok out")
	c.do("answer done")
	var p2 transcript.ID
	for _, p := range Places(c.entries) {
		if p.Text == "two" {
			p2 = p.Entry
		}
	}
	r, err := PlanRewind(c.entries, p2, "rewind", c.env.Now)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Files); got != "[{a b-a1 a3 false} {b  b1 false}]" {
		t.Errorf("files %s", got)
	}
	if got := strings.Join(r.Kept, " · "); got != "bash: make all · edit c: its outcome is unknown · d: it was too big" {
		t.Errorf("not taken back: %s", got)
	}
	c.entries = append(c.entries, r.Leaf)
	c.refold()
	if len(Places(c.entries)) != 1 || c.s.Run != nil || c.s.Last.Reason != transcript.Done {
		t.Errorf("behind the rewind: %d places, run %v", len(Places(c.entries)), c.s.Run)
	}
	c.do("prompt p3 another")
	if got := c.request(); strings.Contains(got, "two") || !strings.Contains(got, "another") {
		t.Errorf("the next request: %s", got)
	}
}

// TestE48_PlacesThatAreRefused: no entry, no place, between a call and its
// result.
func TestE48_PlacesThatAreRefused(t *testing.T) {
	c := newConversation(t)
	c.do("prompt p1 one")
	c.do(`calls bash {"command":"x"} ;; bash {"command":"y"}`)
	open := c.s.Leaf
	c.do("tool 1 ok out")
	c.do("tool 2 ok out")
	c.do("answer done")
	c.do("inject n system_note waits")
	waits := c.entries[len(c.entries)-1].ID
	for id, want := range map[transcript.ID]string{
		{Epoch: 1, Seq: 99}: "no entry 1-99", {Epoch: 1, Seq: 1}: "(open) is no place", open: "the nearest place before it is 1-6", waits: "waits and has no place",
	} {
		_, err := PlanRewind(c.entries, id, "rewind", c.env.Now)
		if refused := (*RewindError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	if r, err := PlanRewind(c.entries, transcript.ID{}, "rewind", c.env.Now); err != nil || !r.To.IsZero() {
		t.Errorf("to the beginning: %v", err)
	}
}

// TestE48_AWorkflowCallHasEffects: one whose end nobody has seen is named,
// though it may run again.
func TestE48_AWorkflowCallHasEffects(t *testing.T) {
	r := &Rewind{}
	id := func(n int) transcript.ID { return transcript.ID{Epoch: 1, Seq: n} }
	call := func(id, name, args string) llm.Part {
		return llm.Part{Type: llm.CallPart, Call: &llm.Call{ID: id, Name: name, Arguments: args}}
	}
	entries := []transcript.Entry{
		{ID: id(1), Body: &transcript.Answer{Parts: []llm.Part{call("c1", "workflow", `{"action":"cancel"}`), call("c2", "read", `{"path":"a"}`)}}},
		{ID: id(2), Parent: id(1), Body: &transcript.Intent{Call: "c1", Tool: "workflow", Safe: true}},
		{ID: id(3), Parent: id(2), Body: &transcript.Intent{Call: "c2", Tool: "read", Safe: true}},
	}
	r.undo(entries, map[transcript.ID]int{id(1): 0, id(2): 1, id(3): 2})
	if got := strings.Join(r.Kept, " · "); got != `workflow: {"action":"cancel"}` {
		t.Errorf("not taken back: %s", got)
	}
}

// TestS45_RewindBehindACompaction: a place before a compaction has the words
// again that were summarised since.
func TestS45_RewindBehindACompaction(t *testing.T) {
	c := newConversation(t)
	c.do("limits usage=0")
	c.do("prompt p1 first words")
	c.do(`calls bash {"command":"x"}`)
	c.do("tool 1 ok BIG8000")
	c.do("answer done")
	before := c.s.Leaf
	c.do("compact c1")
	c.do("summary short")
	if strings.Contains(c.request(), "BIG8000") {
		t.Fatal("not compacted")
	}
	r, err := PlanRewind(c.entries, before, "rewind", c.env.Now)
	if err != nil {
		t.Fatal(err)
	}
	c.entries = append(c.entries, r.Leaf)
	c.refold()
	if got := c.request(); !strings.Contains(got, "BIG8000") || !strings.Contains(got, "first words") || c.s.Mem.Covers != nil {
		t.Errorf("the context is %s", got)
	}
	c.do("prompt p2 go on")
	if last := c.entries[len(c.entries)-1].Body.(*transcript.Request); last.Break != "branch" {
		t.Errorf("break %q", last.Break)
	}
}
