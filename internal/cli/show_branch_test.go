package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// leftWork is a session that went back behind all of its work but the first
// answer: there, w was loaded, its first step done and its second deviated from.
func leftWork(more ...transcript.Body) []transcript.Entry {
	id := func(n int) transcript.ID { return transcript.ID{Epoch: 1, Seq: n} }
	result := func(out transcript.Output) *transcript.Result {
		return &transcript.Result{Call: "c", Output: out}
	}
	bodies := []transcript.Body{
		&transcript.Answer{Parts: []llm.Part{{Type: llm.TextPart, Text: "hi"}}},
		result(transcript.Output{Skills: []transcript.SkillFact{wFact()}}),
		&transcript.Result{Call: "c", Tasks: &transcript.TaskList{Items: []transcript.Task{{ID: "t1", Content: "x", Status: "complete", Step: "w#1"}}}},
		&transcript.Result{Call: "c", Message: &transcript.UserMessage{Deviations: []transcript.Deviation{{Skill: "w", Step: "2. Two", Cause: "no time"}}}},
		&transcript.Leaf{To: id(1), Why: "rewind"},
	}
	var out []transcript.Entry
	parent := transcript.ID{}
	for i, b := range append(bodies, more...) {
		e := transcript.Entry{ID: id(i + 1), Body: b}
		if l, ok := b.(*transcript.Leaf); ok {
			parent = l.To
		} else {
			e.Parent, parent = parent, e.ID
		}
		out = append(out, e)
	}
	return out
}

func wFact() transcript.SkillFact {
	return transcript.SkillFact{Name: "w", Type: "workflow", Steps: []string{"One", "Two"}}
}

// The checklists at the end are those of the branch that the session stands on.
func TestK7_TheChecklistsShownAreTheBranchs(t *testing.T) {
	again := &transcript.Result{Call: "d", Output: transcript.Output{Skills: []transcript.SkillFact{wFact()}}}
	for _, c := range []struct {
		name string
		more []transcript.Body
		want string
	}{
		{"none is loaded", nil, ""},
		{"loaded again", []transcript.Body{again}, "☐ 1. One|☐ 2. Two"},
	} {
		entries := leftWork(c.more...)
		var out bytes.Buffer
		s := newShowing(&app{ctx: t.Context(), stdout: &out}, false, "")
		s.entries(entries)
		shown := out.Len()
		s.summary(session.Price{})
		_, list, _ := strings.Cut(out.String()[shown:], "Checklist of w\n  ")
		list, _, _ = strings.Cut(list, "\n\n")
		if got := strings.ReplaceAll(list, "\n  ", "|"); got != c.want {
			t.Errorf("%s: show has %q, want %q", c.name, got, c.want)
		}
		var lines []string
		for _, l := range pageOf(&disk.Log{Entries: entries}, session.Price{}).Lists {
			for i, st := range l.Steps {
				lines = append(lines, fmt.Sprintf("%s %d. %s%s", st.Sign, i+1, st.Text, st.Note))
			}
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%s: export has %q, want %q", c.name, got, c.want)
		}
	}
}

// A skill in force is shown with the statuses that its steps have: those that
// the model was told, whatever tasks and older activations may say.
func TestK7_TheChecklistInForceIsTheStates(t *testing.T) {
	sums := newTotals()
	sums.skill(wFact())
	sums.deviate(transcript.Deviation{Skill: "w", Step: "2. Two", Cause: "of an older activation"})
	sums.standing = []session.Checklist{{Skill: "w", Steps: []session.Step{{Text: "One", Status: session.StepDone}, {Text: "Two", Status: session.StepPending}}}}
	for n, want := range []string{"☑", "☐"} {
		if _, sign, note := sums.step(wFact(), n); sign+note != want {
			t.Errorf("step %d: %s, want %s", n+1, sign+note, want)
		}
	}
}
