package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// totals counts what a session's entries tell. Checklists are those of the
// branch that the session stands on.
type totals struct {
	off                                bool // what comes is on a branch that was left
	runs, turns, calls, failed, breaks int
	usage                              llm.Usage
	skills                             []transcript.SkillFact // workflow skills, newest activation each
	tasks                              *transcript.TaskList
	deviations                         map[string]string   // skill#step → cause
	standing                           []session.Checklist // of the skills in force
}

func newTotals() totals { return totals{deviations: map[string]string{}} }

func (t *totals) answer(b *transcript.Answer) {
	t.turns++
	t.add(b.Usage)
}

func (t *totals) fail(b *transcript.Fail) { t.add(b.Usage) }

func (t *totals) add(u llm.Usage) {
	t.usage.Input += u.Input
	t.usage.Cached += u.Cached
	t.usage.Output += u.Output
}

func (t *totals) skill(k transcript.SkillFact) {
	if len(k.Steps) == 0 || t.off {
		return
	}
	t.skills = slices.DeleteFunc(t.skills, func(o transcript.SkillFact) bool { return o.Name == k.Name })
	t.skills = append(t.skills, k)
}

func (t *totals) deviate(d transcript.Deviation) {
	if !t.off {
		t.deviations[d.Skill+"#"+d.Step] = d.Cause
	}
}

func (t *totals) list(l *transcript.TaskList) {
	if !t.off {
		t.tasks = l
	}
}

// stand takes the checklists in force from the session's state. Entries that
// are damaged leave what the entries told.
func (t *totals) stand(entries []transcript.Entry) {
	if st, err := session.Fold(entries); err == nil {
		t.standing = st.Checklists
	}
}

// step is how a step of a checklist stands: in force, as the state has it;
// closed, by the tasks that name it and the deviations that were told.
func (t *totals) step(k transcript.SkillFact, n int) (code, sign, note string) {
	for _, c := range t.standing {
		if c.Skill == k.Name && n < len(c.Steps) {
			return t.inForce(k, n, c.Steps[n])
		}
	}
	for _, name := range []string{fmt.Sprint(n + 1), k.Steps[n], fmt.Sprintf("%d. %s", n+1, skill.Step{Text: k.Steps[n]}.Title())} {
		if cause, ok := t.deviations[k.Name+"#"+name]; ok {
			return deviated(cause)
		}
	}
	if named := t.statuses(k, n); len(named) > 0 {
		return taskSign(named[0])
	}
	return taskSign("pending")
}

// inForce is how a step of a skill in force stands. One that is pending is
// shown as the first of its tasks that isn't complete.
func (t *totals) inForce(k transcript.SkillFact, n int, st session.Step) (code, sign, note string) {
	switch st.Status {
	case session.StepDone:
		return taskSign("complete")
	case session.StepDeviated:
		return deviated(st.Cause)
	}
	for _, status := range t.statuses(k, n) {
		if status != "complete" {
			return taskSign(status)
		}
	}
	return taskSign("pending")
}

func deviated(cause string) (code, sign, note string) {
	return yellow, "!", " · deviated: " + cmp.Or(cause, "no cause was given")
}

// statuses are those of the tasks that name a step.
func (t *totals) statuses(k transcript.SkillFact, n int) []string {
	if t.tasks == nil {
		return nil
	}
	var out []string
	for _, item := range t.tasks.Items {
		if item.Step == fmt.Sprintf("%s#%d", k.Name, n+1) || item.Step == k.Name+"#"+k.Steps[n] {
			out = append(out, item.Status)
		}
	}
	return out
}

// summary prints the checklists and the totals.
func (s *showing) summary(price session.Price) {
	t := &s.sums
	for _, k := range t.skills {
		s.say(cyan, "\nChecklist of %s", k.Name)
		for n, step := range k.Steps {
			code, sign, note := t.step(k, n)
			s.say(code, "  %s %d. %s%s", sign, n+1, oneLine(step, s.room(90)), note)
		}
	}
	parts := []string{count(t.runs, "run"), count(t.turns, "answer"), count(t.calls, "tool call")}
	if t.failed > 0 {
		parts[2] += fmt.Sprintf(" (%d failed)", t.failed)
	}
	if t.breaks > 0 {
		parts = append(parts, count(t.breaks, "prefix break"))
	}
	parts = append(parts, fmt.Sprintf("%d tokens in (%d cached), %d out", t.usage.Input, t.usage.Cached, t.usage.Output))
	if price != (session.Price{}) {
		parts = append(parts, fmt.Sprintf("$%.4f", price.Of(t.usage)))
	}
	s.say(dim, "\n%s", strings.Join(parts, " · "))
}

// count is a number with its noun.
func count(n int, noun string) string { return fmt.Sprintf("%d %s%s", n, noun, plural(n)) }
