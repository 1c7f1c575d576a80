package disk

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// threeRuns makes a session of three runs, each with a batch of two calls, in
// two segments, and returns its entries.
func threeRuns(t testing.TB, h *Home) []transcript.Entry {
	t.Helper()
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	for i, text := range []string{"prompt ONE", "prompt TWO", "prompt THREE"} {
		k.say(text)
		k.work(i%2 + 1)
		k.settle()
		if i == 1 {
			shut(t, k.s)
			k.own(open(t, h, sessionID))
		}
	}
	shut(t, k.s)
	log, err := h.Read(sessionID)
	if err != nil {
		t.Fatal(err)
	}
	return log.Entries
}

// without removes the lines of entries from their segments.
func without(t testing.TB, d directory, lost ...transcript.Entry) {
	t.Helper()
	for _, e := range lost {
		line, err := transcript.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		data := read(t, d.segment(e.ID.Epoch))
		if !bytes.Contains(data, line) {
			t.Fatalf("entry %s isn't there", e.ID)
		}
		put(t, d.segment(e.ID.Epoch), bytes.Replace(data, line, nil, 1))
	}
}

// One lost line costs what it said, and nothing that stands elsewhere.
func TestE22_BC28_LostLineCostsOnlyItself(t *testing.T) {
	h := quick(newHome(t))
	all := threeRuns(t, h)
	ends := 0
	for i, e := range all {
		if _, ok := e.Body.(*transcript.Settled); ok {
			ends = i
		}
	}
	for i, lost := range all[2:ends] { // behind the header, before the last settle
		t.Run(fmt.Sprintf("%s %s", lost.ID, lost.Kind()), func(t *testing.T) {
			h := quick(newHome(t))
			all := threeRuns(t, h)
			without(t, dirOf(h, sessionID), all[2+i])
			m, entries := mend(t, h)
			if m.Moved || m.Left > 0 || len(m.Skipped) > 0 {
				t.Errorf("moved %v to %s, %d left, skipped %v", m.Moved, m.Leaf, m.Left, m.Skipped)
			}
			if lost.IsNode() != (m.Gaps == 1) {
				t.Errorf("%d gaps", m.Gaps)
			}
			holds(t, entries, append(all[:2+i:2+i], all[3+i:]...), "")
			k := newTalk(t, h)
			k.own(open(t, h, sessionID))
			k.settle() // what waits behind the repair
			k.say("prompt FOUR")
			said := spoken(k)
			for _, want := range []string{"ONE", "TWO", "THREE", "FOUR"} {
				a, isArrival := lost.Body.(*transcript.Arrive)
				if n := strings.Count(said, "prompt "+want); n != 1 && !(isArrival && strings.Contains(a.Text, want)) {
					t.Errorf("prompt %s is said %d times:\n%s", want, n, said)
				}
			}
			k.settle()
			shut(t, k.s)
			if log, err := h.Read(sessionID); err != nil || lost.IsNode() && !announced(log.Entries) {
				t.Errorf("the break isn't announced, %v", err)
			}
		})
	}
}

func spoken(k *talk) string {
	var b strings.Builder
	for _, m := range session.Request(k.state, k.env).Messages {
		for _, p := range m.Parts {
			b.WriteString(p.Text + "\n")
			if p.Result != nil {
				b.WriteString(p.Result.Text + "\n")
			}
		}
	}
	return b.String()
}

// Several lines lost, next to each other or not: the requests stay paired (the
// talk checks each), and every message of a person that can be read is in the
// context once.
func TestE22_E34_AnyLostLinesOfARunAreCrossed(t *testing.T) {
	h := quick(newHome(t))
	n := len(threeRuns(t, h))
	for i := 2; i < n-2; i += 2 {
		for _, far := range []int{1, 2, 5} {
			h := quick(newHome(t))
			all := threeRuns(t, h)
			if i+far >= n-1 {
				continue
			}
			lost := []transcript.Entry{all[i], all[i+far]}
			for _, e := range lost {
				if e.Kind() == "open" {
					lost = lost[:1]
				}
			}
			if lost[0].Kind() == "open" {
				continue
			}
			without(t, dirOf(h, sessionID), lost...)
			m, _ := mend(t, h)
			if m.Moved {
				t.Errorf("without %s (%s) and %s (%s): moved to %s", all[i].ID, all[i].Kind(), all[i+far].ID, all[i+far].Kind(), m.Leaf)
			}
			goesOn(t, h)
		}
	}
}

// A call whose intent may be lost isn't run again: where it can't be known what
// ran, the branch goes back to the last settle.
func TestE9_E22_LeafInAGapIsLeft(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	k.say("one")
	k.settle()
	settled := k.state.Last.Settled
	k.say("two")
	k.work(1) // an answer with two calls, and their intents
	k.work(0) // one of them ends
	shut(t, k.s)
	log, err := h.Read(sessionID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log.Entries {
		if e.Kind() == "intent" {
			without(t, dirOf(h, sessionID), e)
			break
		}
	}
	m, _ := mend(t, h)
	if !m.Moved || m.Leaf != settled {
		t.Errorf("it goes on behind %s, want %s", m.Leaf, settled)
	}
	goesOn(t, h)
}

// What a lost result said is asked for, not made up; the note is there once.
func TestE22_E34_LostResultIsClosedAsUnknown(t *testing.T) {
	h := quick(newHome(t))
	for _, e := range threeRuns(t, h) {
		if e.Kind() == "result" {
			without(t, dirOf(h, sessionID), e)
			break
		}
	}
	mend(t, h)
	k := newTalk(t, h)
	k.own(open(t, h, sessionID))
	k.say("four")
	if said := spoken(k); strings.Count(said, transcript.LostResult) != 1 {
		t.Errorf("%s", said)
	}
	shut(t, k.s)
}

// A task list is whole in each result, so it counts also where its call is lost.
func TestS20_E22_TasksOutliveTheirCall(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	k.say("one")
	k.work(2) // a call of todo
	k.settle()
	tasks := k.state.Tasks
	shut(t, k.s)
	log, err := h.Read(sessionID)
	if err != nil || tasks.Revision == 0 {
		t.Fatalf("%+v, %v", tasks, err)
	}
	for _, e := range log.Entries {
		if e.Kind() == "assistant" {
			without(t, dirOf(h, sessionID), e)
			break
		}
	}
	m, entries := mend(t, h)
	s, err := session.Fold(entries)
	if err != nil || m.Moved || s.Tasks.Revision != tasks.Revision || len(s.Tasks.Items) != len(tasks.Items) {
		t.Errorf("%+v, %v; want %+v", s.Tasks, err, tasks)
	}
	goesOn(t, h)
}
