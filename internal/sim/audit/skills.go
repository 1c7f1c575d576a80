package audit

import (
	"slices"
	"strconv"
	"strings"
)

// Skill is what a history knows of a skill of its catalog.
type Skill struct {
	Name      string
	Workflow  bool
	Digest    string
	Body      string
	Bytes     int
	Steps     []string
	Optional  []int    // places of optional steps
	Requires  []string // all that comes with it, transitively, in order
	Conflicts []string // both ways
}

// Need says that a person's words which hold Word need the skill.
type Need struct{ Word, Skill string }

// contracts is what the log has said of skills so far.
type contracts struct {
	active []activation // in force
	expect map[string]loading
	asked  []string          // the words that began the present turn
	known  map[string]string // revisions that results have told, by path
	mayBe  bool              // the run has had its refusal for open steps
}

type activation struct {
	name, digest, by string
	bytes            int
	steps            []string // pending, done, deviated
}

// loading is what a skill call must lead to.
type loading struct {
	refused bool
	load    []string
}

func (a *auditor) skill(name string) *Skill {
	for i := range a.rec.Skills {
		if a.rec.Skills[i].Name == name {
			return &a.rec.Skills[i]
		}
	}
	return nil
}

func (a *auditor) inForce(name string) *activation {
	for i := range a.active {
		if a.active[i].name == name {
			return &a.active[i]
		}
	}
	return nil
}

// expectSkills says what each skill call of the batch must lead to: conflicts
// with what is active and within the batch first, then the budget, in order.
func (a *auditor) expectSkills() {
	a.expect = map[string]loading{}
	wanted := map[string][]string{}
	for _, c := range a.calls {
		name, _ := c.object()["name"].(string)
		if c.name == "skill" && a.skill(name) != nil && !a.tellsMark(c) {
			wanted[c.id] = append([]string{name}, a.skill(name).Requires...)
		} else if c.name == "skill" {
			a.expect[c.id] = loading{refused: true}
		}
	}
	total, batch := 0, map[string]bool{}
	for _, f := range a.active {
		total += (f.bytes + 3) / 4
	}
	for _, c := range a.calls {
		mine, ok := wanted[c.id]
		if !ok {
			continue
		}
		if a.clashes(mine, wanted) {
			a.expect[c.id] = loading{refused: true}
			continue
		}
		var load []string
		size := 0
		for _, n := range mine {
			if a.inForce(n) == nil && !batch[n] {
				load, size = append(load, n), size+(a.skill(n).Bytes+3)/4
			}
		}
		if total+size > a.rec.Budget && len(load) > 0 {
			a.expect[c.id] = loading{refused: true}
			a.stats.Cases["skill too large"]++
			continue
		}
		for _, n := range load {
			batch[n] = true
		}
		total += size
		a.expect[c.id] = loading{load: load}
	}
}

// clashes reports whether what a call wants conflicts with an active skill or
// with what another call of the batch wants.
func (a *auditor) clashes(mine []string, wanted map[string][]string) bool {
	for _, m := range mine {
		for _, other := range a.skill(m).Conflicts {
			if a.inForce(other) != nil {
				return true
			}
			for _, theirs := range wanted {
				if slices.Contains(theirs, other) {
					a.stats.Cases["skills conflict in a batch"]++
					return true
				}
			}
		}
	}
	return false
}

// skillIntent: a skill call runs only to load what it must.
func (a *auditor) skillIntent(e *entry, c *call) {
	want := a.expect[c.id]
	if want.refused || len(want.load) == 0 || !slices.Equal(want.load, e.Raw.loadOf()) {
		a.fail("skill", e.ID, "%s is to load %v, want %v (refused %v)", c.id, e.Raw.loadOf(), want.load, want.refused)
	}
}

// skillCore: a skill call that ran nothing and was not refused.
func (a *auditor) skillCore(e *entry, c *call) {
	if want := a.expect[c.id]; want.refused || len(want.load) > 0 {
		a.fail("skill", e.ID, "%s loads nothing, and %v should be loaded (refused %v)", c.id, want.load, want.refused)
	}
	a.stats.Cases["skill unchanged"]++
}

// activate takes the activations of a result.
func (a *auditor) activate(e *entry, c *call) {
	facts := e.Raw.activations()
	if len(facts) == 0 {
		return
	}
	if c.intent == nil || len(facts) != len(c.intent.Raw.loadOf()) {
		a.fail("skill", e.ID, "%s activates %d skills that it was not to load", c.id, len(facts))
	}
	for i, f := range facts {
		s := a.skill(f.Name)
		if f.Name != c.intent.Raw.loadOf()[i] || f.Digest != s.Digest {
			a.fail("skill", e.ID, "%s activates %s", c.id, f.Name)
		}
		a.active = slices.DeleteFunc(a.active, func(o activation) bool { return o.name == f.Name })
		a.loaded[f.Name] = c.id
		act := activation{name: f.Name, digest: f.Digest, by: f.For, bytes: s.Bytes}
		if s.Workflow {
			act.steps = make([]string, len(s.Steps))
		}
		a.active = append(a.active, act)
		a.stats.Cases["skill activated"]++
	}
}

// follow lets steps follow the tasks that changed.
func (a *auditor) follow(old, now taskList) {
	for _, t := range now.Items {
		changed := !slices.ContainsFunc(old.Items, func(o task) bool { return o.ID == t.ID && o.Step == t.Step && o.Status == t.Status })
		name, number, ok := strings.Cut(t.Step, "#")
		act := a.inForce(name)
		n, _ := strconv.Atoi(number)
		if !changed || !ok || act == nil || n < 1 || n > len(act.steps) {
			continue
		}
		act.steps[n-1] = "done"
		for _, o := range now.Items {
			if o.Step == t.Step && o.Status != "complete" {
				act.steps[n-1] = ""
			}
		}
	}
}

// openSteps lists the required steps that are neither done nor deviated.
func (a *auditor) openSteps() []string {
	var out []string
	for _, act := range a.active {
		for i, st := range act.steps {
			if st == "" && !slices.Contains(a.skill(act.name).Optional, i) {
				out = append(out, act.name+"#"+strconv.Itoa(i+1))
			}
		}
	}
	return out
}

// said judges a message to the user against the checklists, and closes what
// a completing one finishes.
func (a *auditor) said(e *entry, c *call) {
	m := e.Raw.Message
	bare := 0
	for _, d := range m.Deviations {
		number, _, _ := strings.Cut(d.Step, ".")
		n, _ := strconv.Atoi(number)
		act := a.inForce(d.Skill)
		if act == nil || n < 1 || n > len(act.steps) {
			if !a.mayBe && a.run.step == nil {
				a.fail("steps", e.ID, "the user was told a deviation from %s#%s, which is no step", d.Skill, d.Step)
			}
			continue
		}
		if d.Cause == "" && act.steps[n-1] == "" && !slices.Contains(a.skill(d.Skill).Optional, n-1) {
			bare++
		}
		if act.steps[n-1] != "done" {
			act.steps[n-1] = "deviated"
		}
	}
	if bare > 0 && !a.mayBe && a.run.step == nil && m.Block && m.Reason == "complete" {
		a.fail("steps", e.ID, "%d open steps were let through without the one refusal", bare)
	}
	if m.Block {
		a.yielded = m.Reason
	}
	if !m.Block || m.Reason != "complete" {
		return
	}
	if open := a.openSteps(); len(open) > 0 && a.run.step != nil {
		a.closeDone()
		return
	} else if len(open) > 0 {
		a.fail("steps", e.ID, "a completing message was delivered with %v open and unmarked", open)
	}
	if a.missing() != "" {
		a.fail("gate", e.ID, "a completing message was delivered without the skill %s", a.missing())
	}
	if bare > 0 {
		a.stats.Cases["open steps delivered"]++
	}
	if len(a.active) > 0 {
		a.stats.Cases["skills closed"]++
	}
	a.active = nil // all steps are done or deviated, so all activations end
}

// closeDone ends the activations that a completing message in a workflow's
// step closes: those with nothing open, and what serves none that goes on.
func (a *auditor) closeDone() {
	on := map[string]bool{}
	for _, act := range a.active {
		for i, st := range act.steps {
			if st == "" && !slices.Contains(a.skill(act.name).Optional, i) {
				on[act.name] = true
			}
		}
	}
	a.active = slices.DeleteFunc(slices.Clone(a.active), func(act activation) bool {
		serves := on[act.name] || on[act.by]
		for name := range on {
			serves = serves || slices.Contains(a.skill(name).Requires, act.name)
		}
		return !serves
	})
}

// missing names a skill that the words of this turn need and that isn't
// active, or "".
func (a *auditor) missing() string {
	for _, n := range a.rec.Needs {
		if a.inForce(n.Skill) == nil && slices.ContainsFunc(a.asked, func(s string) bool { return strings.Contains(strings.ToLower(s), n.Word) }) {
			return n.Skill
		}
	}
	return ""
}

// beginTurn notes a person's words that begin a turn.
func (a *auditor) beginTurn(fresh bool, ids []string) {
	if !fresh {
		return
	}
	var words []string
	for _, id := range ids {
		if q := a.byID[id]; isHuman(q) {
			words = append(words, q.Raw.Text)
		}
	}
	if len(words) > 0 {
		a.asked = words
	}
}

func (a *auditor) tellsMark(c *call) bool { return strings.Contains(c.args, "MARK") }

// reasoned refuses a refusal that has no cause. Core tools and skills have
// causes of their own, which their other checks hold.
func (a *auditor) reasoned(e *entry, c *call) {
	_, stopping := a.stopAt(e)
	switch {
	case e.Raw.Unfinished && a.mayBe:
		a.fail("steps", e.ID, "a second refusal for open steps in one run")
	case e.Raw.Unfinished:
		a.mayBe = true
		a.stats.Cases["open steps refused"]++
	}
	caused := a.run.step.answers() && ends(c) || isCore(c.name) || c.name == "skill" || a.cut || a.bad(c) || e.Raw.Denied != "" || stopping || a.run.epoch != e.epoch || a.tellsMark(c) || a.submits(c)
	switch {
	case caused:
	case a.missing() == "":
		a.fail("gate", e.ID, "%s was refused for nothing", c.name)
	default:
		a.stats.Cases["gated call"]++
	}
}

// passed refuses an intent that the protocol forbids.
func (a *auditor) passed(e *entry, c *call) {
	switch {
	case a.tellsMark(c):
		a.fail("mark", e.ID, "%s runs with the session mark in its arguments", c.id)
	case c.name == "skill":
		a.skillIntent(e, c)
	case a.missing() != "":
		a.fail("gate", e.ID, "%s runs without the skill %s", c.name, a.missing())
	}
}

// told reports whether an artifact_update tells a revision that is known.
func (a *auditor) told(q *entry) bool {
	return q.Raw.Inject == "artifact_update" && q.Raw.Ref != "" && a.known[q.Raw.Ref] == q.Raw.ToRevision
}

// learn takes the revisions that a result told.
func (a *auditor) learn(e *entry) {
	for path, rev := range e.Raw.Seen {
		a.known[path] = rev
	}
	before := len(a.queue)
	a.queue = slices.DeleteFunc(slices.Clone(a.queue), a.told)
	if len(a.queue) < before {
		a.stats.Cases["update told by a result"]++
	}
}
