package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// skillBudget is how many tokens all active bodies may have together: a
// quarter of the window; 0: any (K4).
func skillBudget(env Env) int {
	if mutant("SkillBudgetOff") {
		return 0
	}
	return cmp.Or(env.Window, env.Assumed) / 4
}

// SkillFactOf records the activation of a skill. blob is the address of its
// body; by is the skill that required it, "" if it was called for.
func SkillFactOf(s skill.Skill, blob, by string) transcript.SkillFact {
	f := transcript.SkillFact{Name: s.Name, Type: string(s.Type), Digest: s.Digest, Blob: blob, Bytes: len(s.Body), For: by}
	for i, st := range s.Steps {
		f.Steps = append(f.Steps, st.Text)
		if st.Optional {
			f.Optional = append(f.Optional, i)
		}
	}
	return f
}

// inForce is the active skills as the catalog judges them.
func (s *State) inForce() []skill.Active {
	var out []skill.Active
	for _, f := range s.Skills {
		out = append(out, skill.Active{Name: f.Name, Digest: f.Digest, Bytes: f.Bytes})
	}
	return out
}

// skillCalls decides all skill calls of the newest batch as one set with the
// active skills (K5): what each brings, or why it is refused. It looks at the
// whole batch, also at calls that are closed, so that a commit that was cut
// between two of them is continued in the same way.
func (s *State) skillCalls(env Env) map[string]decided {
	if env.memo == nil {
		return s.decideSkills(env)
	}
	if env.memo.batch == nil {
		env.memo.batch = s.decideSkills(env)
	}
	return env.memo.batch
}

// memo remembers, within one Decide, answers that cost time and can't change
// meanwhile.
type memo struct {
	batch map[string]decided // of decideSkills; good for one pass over a batch
	words *string            // whose matches are in hits: the first of Run.Asked
	hits  []bool             // by requirement
}

// nextPass forgets what a further entry may change.
func (m *memo) nextPass() *memo {
	if m == nil {
		return &memo{}
	}
	m.batch = nil
	return m
}

func (s *State) decideSkills(env Env) map[string]decided {
	var ids, names []string
	for _, c := range s.Calls {
		if c.Name != toolSkill {
			continue
		}
		args, err := env.Tools.check(c.Call)
		if err != nil {
			continue
		}
		if env.Permit(c.Name, args).Do == Deny || c.Approval != nil && c.Approval.Choice == transcript.ApprovalDeny {
			continue // it isn't carried out
		}
		var a struct{ Name string }
		if json.Unmarshal(args, &a) == nil {
			ids, names = append(ids, c.ID), append(names, a.Name)
		}
	}
	out := make(map[string]decided, len(ids))
	if mutant("SkillsOneByOne") {
		for i, id := range ids {
			l, err := env.Skills.Load(names[i], s.inForce(), skillBudget(env))
			out[id] = decided{l, err}
		}
		return out
	}
	loaded, errs := env.Skills.LoadBatch(names, s.inForce(), skillBudget(env))
	for i, id := range ids {
		out[id] = decided{loaded[i], errs[i]}
	}
	return out
}

// decided is what a skill call brings, or why it is refused.
type decided struct {
	skill.Loaded
	err error
}

// skillResult closes a skill call that loads nothing: it is refused, or all
// that it wants is active with the same bodies. nil: its bodies must be read.
func (s *State) skillResult(c *Call, env Env) *transcript.Result {
	if env.Skills == nil {
		return refuse(c, "there are no skills here")
	}
	d := s.skillCalls(env)[c.ID]
	switch {
	case d.err != nil:
		text := d.err.Error()
		if e := (*skill.LoadError)(nil); errors.As(d.err, &e) {
			text = e.Told()
		}
		return refuse(c, text)
	case len(d.Skills) == 0:
		return result(c, transcript.OutcomeOK, d.Text())
	}
	return nil
}

// loads names the skills that a call is to load.
func (s *State) loads(c *Call, env Env) []string {
	var names []string
	if c.Name == toolSkill && env.Skills != nil {
		for _, sk := range s.skillCalls(env)[c.ID].Skills {
			names = append(names, sk.Name)
		}
	}
	return names
}

// activate puts skills in force; loading one again renews its place. A
// workflow skill's checklist is opened with it.
func (s *State) activate(facts []transcript.SkillFact) {
	if len(facts) == 0 {
		return
	}
	var keep []transcript.SkillFact
	for _, old := range s.Skills {
		if !slices.ContainsFunc(facts, func(f transcript.SkillFact) bool { return f.Name == old.Name }) {
			keep = append(keep, old)
		}
	}
	s.Skills = append(keep, facts...)
	for _, f := range facts {
		s.openChecklist(f)
	}
}

// active reports whether a skill is in force.
func (s *State) active(name string) bool {
	return slices.ContainsFunc(s.Skills, func(f transcript.SkillFact) bool { return f.Name == name })
}
