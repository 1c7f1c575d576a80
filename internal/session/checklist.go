package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// StepStatus says how a step of an active workflow skill stands (K7).
type StepStatus string

// The statuses. A step follows the tasks that name it: done when all of them
// are complete, pending when one isn't. A deviation stays until a task that
// names the step changes.
const (
	StepPending  StepStatus = "pending"
	StepDone     StepStatus = "done"
	StepDeviated StepStatus = "deviated"
)

// Step is a step of an active workflow skill.
type Step struct {
	Text     string
	Optional bool
	Status   StepStatus
	Kind     string // of a deviation: optional, unrecoverable, or "" if no cause was given
	Cause    string
}

// Checklist is the steps of an active workflow skill. They are parsed once,
// when the skill is activated; a Checklist is never changed in place.
type Checklist struct {
	Skill string
	Steps []Step
}

// name is the step as people read it.
func (c Checklist) name(i int) string {
	return strconv.Itoa(i+1) + ". " + skill.Step{Text: c.Steps[i].Text}.Title()
}

// newChecklist opens the checklist of an activation. Steps of an older one of
// the same skill whose text is the same keep their status: an edit of the
// skill undoes no work.
func newChecklist(f transcript.SkillFact, old *Checklist) Checklist {
	c := Checklist{Skill: f.Name, Steps: make([]Step, len(f.Steps))}
	for i, text := range f.Steps {
		c.Steps[i] = Step{Text: text, Optional: slices.Contains(f.Optional, i), Status: StepPending}
		if old == nil {
			continue
		}
		for _, was := range old.Steps {
			if was.Text == text {
				c.Steps[i].Status, c.Steps[i].Kind, c.Steps[i].Cause = was.Status, was.Kind, was.Cause
			}
		}
	}
	return c
}

// checklist returns the checklist of an active skill, or nil.
func (s *State) checklist(skill string) *Checklist {
	for i := range s.Checklists {
		if s.Checklists[i].Skill == skill {
			return &s.Checklists[i]
		}
	}
	return nil
}

// openChecklist puts a checklist in force, in place of an older one.
func (s *State) openChecklist(f transcript.SkillFact) {
	if f.Type != "workflow" || len(f.Steps) == 0 {
		return
	}
	c := newChecklist(f, s.checklist(f.Name))
	s.Checklists = append(without(s.Checklists, f.Name), c)
}

// without returns the checklists but that of the skill, in a list of its own.
func without(cs []Checklist, skill string) []Checklist {
	var out []Checklist
	for _, c := range cs {
		if c.Skill != skill {
			out = append(out, c)
		}
	}
	return out
}

// mark sets the status of a step.
func (s *State) mark(skill string, step int, status StepStatus, kind, cause string) {
	out := slices.Clone(s.Checklists)
	for i, c := range out {
		if c.Skill == skill && step < len(c.Steps) {
			steps := slices.Clone(c.Steps)
			steps[step].Status, steps[step].Kind, steps[step].Cause = status, kind, cause
			out[i].Steps = steps
		}
	}
	s.Checklists = out
}

// followTasks lets the steps follow the tasks that changed from old to new. A
// task that is removed leaves its step as it was.
func (s *State) followTasks(old, now []transcript.Task) {
	before := map[string]transcript.Task{}
	for _, t := range old {
		before[t.ID] = t
	}
	for _, t := range now {
		was, had := before[t.ID]
		if t.Step == "" || had && was.Step == t.Step && was.Status == t.Status {
			continue
		}
		skill, step, ok := splitStep(t.Step)
		if !ok {
			continue
		}
		status := StepDone
		for _, other := range now {
			if other.Step == t.Step && other.Status != "complete" && !mutant("StepDoneEarly") {
				status = StepPending
			}
		}
		s.mark(skill, step, status, "", "")
	}
}

// splitStep reads SKILL#N; step counts from 0.
func splitStep(name string) (skill string, step int, ok bool) {
	i := strings.LastIndexByte(name, '#')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[i+1:])
	return name[:i], n - 1, err == nil && n > 0
}

// stepName resolves what the model wrote as the step of a task, SKILL#STEP
// with a step's number or text, to SKILL#N.
func (s *State) stepName(wrote string) (string, error) {
	skill, step, _ := strings.Cut(wrote, "#")
	for _, c := range s.Checklists { // a lenient name may hold a #
		if rest, ok := strings.CutPrefix(wrote, c.Skill+"#"); ok {
			skill, step = c.Skill, rest
		}
	}
	c, i, err := s.findStep(skill, step)
	if err != nil {
		return "", err
	}
	return c.Skill + "#" + strconv.Itoa(i+1), nil
}

// findStep finds a step of an active workflow skill by its number or its text.
func (s *State) findStep(skill, step string) (*Checklist, int, error) {
	c := s.checklist(strings.TrimSpace(skill))
	if c == nil {
		var names []string
		for _, c := range s.Checklists {
			names = append(names, c.Skill)
		}
		if len(names) == 0 {
			return nil, 0, fmt.Errorf("%s names no step: no workflow skill with steps is active", quote(skill+"#"+step))
		}
		return nil, 0, fmt.Errorf("%s names no step: the active workflow skills with steps are %s", quote(skill+"#"+step), strings.Join(names, ", "))
	}
	want := strings.Join(strings.Fields(step), " ")
	if len(want) > 5 && strings.EqualFold(want[:5], "step ") {
		want = want[5:]
	}
	if n := leadingNumber(want); n > 0 && n <= len(c.Steps) {
		return c, n - 1, nil
	}
	for i, st := range c.Steps {
		if strings.EqualFold(want, st.Text) {
			return c, i, nil
		}
	}
	return nil, 0, fmt.Errorf("%s names no step: the skill %s has the steps\n%s", quote(skill+"#"+step), c.Skill, c.show())
}

// leadingNumber reads the number of "3", "3." and "3. Text"; 0 if there is none.
func leadingNumber(s string) int {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits < len(s) && !strings.ContainsAny(s[digits:digits+1], ".):") {
		return 0
	}
	n, _ := strconv.Atoi(s[:digits])
	return n
}

// show prints the steps for the model, one a line.
func (c Checklist) show() string {
	var b strings.Builder
	for i, st := range c.Steps {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.name(i))
		if st.Optional {
			b.WriteString(" (optional)")
		}
		b.WriteString(" [" + string(st.Status) + "]")
		if st.Status == StepDeviated && st.Cause != "" {
			b.WriteString(" " + shorten(st.Cause, 200))
		}
	}
	return b.String()
}

// ShowChecklists prints the steps of all active workflow skills, oldest
// activation first, as the model reads them; "" if there are none.
func (s *State) ShowChecklists() string {
	var out []string
	for _, c := range s.Checklists {
		out = append(out, "Checklist of "+c.Skill+":\n"+c.show())
	}
	return strings.Join(out, "\n")
}

// shorten cuts a line to n bytes.
func shorten(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
