package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// skillBudget is how many tokens the active skills may have together.
const skillBudget = 1000

// needs: a person who speaks of a deck needs the red skill.
func needs() []audit.Need { return []audit.Need{{Word: "deck", Skill: "red"}} }

// simSkills is the catalog of every history: two workflow skills that exclude
// each other, what they require, one that no budget holds, and one that only
// fits alone.
func simSkills() *skill.Catalog {
	file := func(name, fields, body string) skill.File {
		return skill.File{Path: name + "/SKILL.md", Data: []byte("---\nname: " + name + "\ndescription: x\n" + fields + "---\n" + body)}
	}
	c, _ := skill.NewCatalog([]skill.File{
		file("red", "type: workflow\nconflictsWith: blue\nrequiresSkills: base\n", "1. One\n2. Two\n3. (optional) Three\n"),
		file("blue", "type: workflow\nrequiresSkills: base\n", "1. Uno\n2. Due\n"),
		file("base", "", "look\n"),
		file("huge", "", strings.Repeat("x", 5*skillBudget)),
		file("half", "", strings.Repeat("x", 4*skillBudget-80)),
	})
	return c
}

// known tells the audit of the skills.
func known(c *skill.Catalog) []audit.Skill {
	var out []audit.Skill
	for _, s := range c.Skills() {
		k := audit.Skill{Name: s.Name, Workflow: s.Type == skill.Workflow, Digest: s.Digest, Body: s.Body, Bytes: len(s.Body), Requires: s.Requires}
		for i, st := range s.Steps {
			k.Steps = append(k.Steps, st.Text)
			if st.Optional {
				k.Optional = append(k.Optional, i)
			}
		}
		for _, other := range c.Skills() {
			if slices.Contains(s.ConflictsWith, other.Name) || slices.Contains(other.ConflictsWith, s.Name) {
				k.Conflicts = append(k.Conflicts, other.Name)
			}
		}
		out = append(out, k)
	}
	return out
}

// skillName is what the model asks for.
func (w *world) skillName() string {
	return w.choose([]choice{{6, "red"}, {3, "blue"}, {2, "base"}, {2, "huge"}, {2, "half"}, {1, "green"}})
}

// stepOf ties some tasks to a step, which may not be there.
func (w *world) stepOf() string {
	if !w.odds.contract && !w.roll(0.15) {
		return ""
	}
	return fmt.Sprintf(`,"step":"%s#%d"`, []string{"red", "red", "blue", "red", "base"}[w.rng.IntN(5)], 1+w.rng.IntN(3))
}

// deviations are named by some messages, rightly or wrongly.
func (w *world) deviations() string {
	if !w.roll(0.4) {
		return ""
	}
	var ds []string
	for range 1 + w.rng.IntN(3) {
		ds = append(ds, fmt.Sprintf(`{"skill":%q,"step":"%d","kind":"unrecoverable","cause":%q}`,
			[]string{"red", "red", "blue"}[w.rng.IntN(3)], 1+w.rng.IntN(3), []string{"broken", "broken", "broken", ""}[w.rng.IntN(4)]))
	}
	return `,"deviations":[` + strings.Join(ds, ",") + "]"
}

func (w *world) factOf(s skill.Skill, by string) transcript.SkillFact {
	f := session.SkillFactOf(s, s.Digest, by)
	f.Requires = w.env.Skills.Required(s.Name)
	return f
}

// revision names a file and one of its few revisions.
func (w *world) revision() (path, rev string) {
	return fmt.Sprintf("f%d", w.rng.IntN(2)), fmt.Sprintf("r%d", w.rng.IntN(3))
}

// tells adds to a tool's report what it tells the model beside its text: the
// bodies of skills, the revision of a file.
func (w *world) tells(e *effect, out *transcript.Output) {
	if out.Outcome != transcript.OutcomeOK {
		return
	}
	switch e.Tool.Name {
	case "workflow":
		w.accepts(e, out)
	case "skill":
		for _, name := range e.Tool.Load {
			s, _ := w.env.Skills.Get(name)
			by := e.Tool.Load[0]
			if name == by {
				by = ""
			}
			out.Skills = append(out.Skills, w.factOf(s, by))
		}
	case "read", "write", "edit":
		path, _ := session.DecodeArgs(string(e.Tool.Args))["path"].(string)
		_, rev := w.revision()
		out.Seen = map[string]string{path: rev}
	}
}
