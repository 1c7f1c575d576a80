package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// completion is what a message_user call says about the checklists (K7).
type completion struct {
	deviations []transcript.Deviation // as they will be stored, steps by their full name
	unknown    []string               // those that name no step, and why; they are told to nobody
	faults     []string               // what is wrong with those that the model named
	open       []transcript.Deviation // required steps that are neither done nor named
}

// settles judges the deviations of a message. One that names no step of an
// active workflow skill is never part of it: the user reads deviations as facts.
// Open steps count only when the
// message completes the run; a step that is named without a cause is open.
func (s *State) settles(a messageUserArgs) completion {
	var out completion
	complete := a.completes()
	named := map[string]bool{}
	for _, d := range a.Deviations {
		c, i, err := s.findStep(d.Skill, d.Step)
		if err != nil {
			if mutant("UnknownStepsTold") {
				out.deviations = append(out.deviations, d)
			}
			out.unknown = append(out.unknown, err.Error())
			continue
		}
		d.Skill, d.Step = c.Skill, c.name(i)
		if why := badDeviation(d, c.Steps[i]); why != "" {
			out.faults = append(out.faults, why)
		}
		if complete && strings.TrimSpace(d.Cause) == "" && !c.Steps[i].Optional && c.Steps[i].Status == StepPending {
			continue // it is listed as open
		}
		out.deviations = append(out.deviations, d)
		named[d.Skill+"#"+d.Step] = true
	}
	for _, c := range s.Checklists {
		for i, st := range c.Steps {
			if complete && st.Status == StepPending && !st.Optional && !named[c.Skill+"#"+c.name(i)] {
				out.open = append(out.open, transcript.Deviation{Skill: c.Skill, Step: c.name(i)})
			}
		}
	}
	return out
}

// badDeviation says what is wrong with a deviation from a step, or "".
func badDeviation(d transcript.Deviation, st Step) string {
	switch {
	case strings.TrimSpace(d.Cause) == "":
		return fmt.Sprintf("the deviation from %s, step %s, has no cause", d.Skill, quote(d.Step))
	case d.Kind == "optional" && !st.Optional:
		return fmt.Sprintf("step %s of %s is required, so a deviation from it can only be unrecoverable", quote(d.Step), d.Skill)
	}
	return ""
}

// maxListed is how many open steps a refusal lists.
const maxListed = 40

// refuses returns the refusal of a message that leaves steps open or names
// them wrongly, or nil. Either happens once a run, and neither in a run that a
// workflow step started.
func (s *State) refuses(c *Call, done completion) *transcript.Result {
	open := len(done.open) > 0 && (!s.Run.Unfinished || mutant("OpenStepsRefusedAgain"))
	wrong := len(done.faults)+len(done.unknown) > 0 && !s.Run.Misnamed
	if s.Run.Step != nil || !open && !wrong || mutant("OpenStepsDelivered") {
		return nil
	}
	lines := slices.Concat(done.unknown, done.faults)
	for i, d := range done.open {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("and %d more open steps", len(done.open)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("open: %s, step %s", d.Skill, d.Step))
	}
	text := "nothing was delivered: the checklists of active workflow skills say otherwise.\n- " + strings.Join(lines, "\n- ")
	if open {
		text += "\nCarry the steps out and mark the tasks that name them complete (todo, step SKILL#N), or give each in deviations with its cause. Open steps are refused once a run: those that are open in a later completing message are shown to the user as deviations without a cause."
	}
	if wrong {
		text += "\nCorrect the deviations, or leave out those that name no step. Wrong ones are refused once a run; later, those that name no step are left out of the message."
	}
	r := refuse(c, text)
	r.Unfinished, r.Misnamed = open, wrong
	return r
}

// deviate marks the steps that a delivered message deviates from.
func (s *State) deviate(ds []transcript.Deviation) {
	for _, d := range ds {
		if c, i, err := s.findStep(d.Skill, d.Step); err == nil && c.Steps[i].Status != StepDone {
			s.mark(c.Skill, i, StepDeviated, d.Kind, d.Cause)
		}
	}
}

// finished names the active skills that the next completing message closes:
// the workflow skills with no step open, and what isn't a workflow and serves
// none that goes on.
func (s *State) finished() map[string]bool {
	goesOn := map[string]bool{}
	for _, c := range s.Checklists {
		for _, st := range c.Steps {
			if st.Status == StepPending && !st.Optional {
				goesOn[c.Skill] = true
			}
		}
	}
	serves := map[string]bool{}
	for _, f := range s.Skills {
		if goesOn[f.Name] {
			for _, name := range f.Requires {
				serves[name] = true
			}
		}
	}
	out := map[string]bool{}
	for _, f := range s.Skills {
		if !goesOn[f.Name] && !goesOn[f.For] && !serves[f.Name] {
			out[f.Name] = true
		}
	}
	return out
}

// leftOut tells the model which deviations weren't delivered.
func (done completion) leftOut() string {
	if len(done.unknown) == 0 {
		return ""
	}
	return "\nLeft out, since the user would take them for facts:\n- " + strings.Join(done.unknown, "\n- ")
}

// closing tells the model what its completing message does to the checklists
// and to what is active.
func (s *State) closing(done completion) string {
	text := ""
	if len(done.open) > 0 {
		text += fmt.Sprintf("\nShown to the user as deviations without a cause: %d open steps.", len(done.open))
	}
	after := s.fork()
	after.deviate(done.deviations)
	finished := after.finished()
	var names []string
	for _, f := range s.Skills {
		if finished[f.Name] {
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		text += "\nFinished, and no longer active: " + strings.Join(names, ", ") + ". Load one again when new work matches it."
	}
	return text
}

// closeFinished ends the activations that are finished: they are no longer in
// force, restored, or counted. Loading one again opens a new one.
func (s *State) closeFinished() {
	if mutant("ActivationKept") {
		return
	}
	done := s.finished()
	var keep []transcript.SkillFact
	for _, f := range s.Skills {
		if !done[f.Name] {
			keep = append(keep, f)
		} else {
			s.Checklists = without(s.Checklists, f.Name)
		}
	}
	s.Skills = keep
}
