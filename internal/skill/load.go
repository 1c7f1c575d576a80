package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Active is a skill that is in force in a session.
type Active struct {
	Name   string
	Digest string // of its body
	Bytes  int    // length of its body
}

// Loaded is what a call for a skill brings.
type Loaded struct {
	Name string
	// Skills to activate, with their whole bodies: the named one first, then
	// those that it requires, each once.
	Skills []Skill
	// Unchanged names the wanted skills that are active, or loaded by an
	// earlier call of the batch, with the same body.
	Unchanged []string
}

// LoadReason says why a skill isn't loaded.
type LoadReason string

// The reasons.
const (
	Unknown     LoadReason = "unknown"     // no skill has the name
	Missing     LoadReason = "missing"     // a required skill isn't there
	Cycle       LoadReason = "cycle"       // skills require each other
	Conflicting LoadReason = "conflicting" // with an active skill, or with another one of the batch
	TooLarge    LoadReason = "too_large"   // the active bodies would take too much of the window
)

// LoadError says why a skill isn't loaded; its text is for the model.
type LoadError struct {
	Reason  LoadReason
	Skill   string
	Message string
}

// Error returns the message.
func (e *LoadError) Error() string { return e.Message }

// Told is the message for the model in a session, which may have written the
// skill that isn't there.
func (e *LoadError) Told() string {
	if e.Reason == Unknown || e.Reason == Missing {
		return e.Message + asOfStart("written")
	}
	return e.Message
}

func loadError(r LoadReason, name, format string, args ...any) *LoadError {
	return &LoadError{Reason: r, Skill: name, Message: fmt.Sprintf(format, args...)}
}

// Load returns what loading one skill brings. active are the skills in force;
// budget is how many tokens all active bodies may have together, 0: any.
// An error is a *LoadError.
func (c *Catalog) Load(name string, active []Active, budget int) (Loaded, error) {
	loaded, errs := c.LoadBatch([]string{name}, active, budget)
	return loaded[0], errs[0]
}

// LoadBatch checks the skill calls of one batch as a set, with what is active,
// and returns for each call what it brings or its *LoadError. Each call that
// takes part in a conflict fails, the others load; a skill that several calls
// bring belongs to the first of them. Calls that no longer fit the budget fail
// in the order of the calls.
func (c *Catalog) LoadBatch(names []string, active []Active, budget int) ([]Loaded, []error) {
	loaded, errs := make([]Loaded, len(names)), make([]error, len(names))
	wanted := make([][]string, len(names))
	for i, name := range names {
		loaded[i].Name = name
		closure, err := c.closure(name)
		if err != nil {
			errs[i] = err
			continue
		}
		wanted[i] = closure
	}
	for i := range names {
		if errs[i] != nil {
			continue
		}
		if err := c.conflict(names, wanted, i, active); err != nil {
			errs[i] = err
		}
	}
	inForce := map[string]Active{}
	for _, a := range active {
		inForce[a.Name] = a
	}
	for i := range names {
		if errs[i] == nil {
			if err := c.take(&loaded[i], wanted[i], inForce, budget); err != nil {
				errs[i] = err
			}
		}
	}
	return loaded, errs
}

// take sorts the wanted skills into those that are in force and those that
// are to be activated, and adds these to inForce.
func (c *Catalog) take(l *Loaded, wanted []string, inForce map[string]Active, budget int) *LoadError {
	var skills []Skill
	var unchanged []string
	total, added := 0, 0
	for _, a := range inForce {
		total += tokens(a.Bytes)
	}
	for _, name := range wanted {
		s, _ := c.Get(name)
		a, ok := inForce[name]
		if ok && a.Digest == s.Digest {
			unchanged = append(unchanged, name)
			continue
		}
		skills = append(skills, s)
		added += s.Tokens()
		total += s.Tokens() - tokens(a.Bytes)
	}
	if budget > 0 && total > budget && len(skills) > 0 {
		return loadError(TooLarge, l.Name, "skill %q is not loaded: it brings about %d tokens, the active skills would then have %d together, and %d are allowed: finish or leave an active workflow skill first, or work without this one", l.Name, added, total, budget)
	}
	for _, s := range skills {
		inForce[s.Name] = Active{Name: s.Name, Digest: s.Digest, Bytes: len(s.Body)}
	}
	l.Skills, l.Unchanged = skills, unchanged
	return nil
}

// closure lists a skill and all that it requires: depth first, in the order
// in which they are named, each once.
func (c *Catalog) closure(name string) ([]string, *LoadError) {
	if _, ok := c.Get(name); !ok {
		return nil, c.unknown(name)
	}
	var order []string
	var visit func(name string, path []string) *LoadError
	visit = func(name string, path []string) *LoadError {
		if i := slices.Index(path, name); i >= 0 {
			return loadError(Cycle, path[0], "skill %q is not loaded: skills require each other: %s", path[0], strings.Join(append(path[i:], name), " → "))
		}
		if slices.Contains(order, name) {
			return nil
		}
		s, ok := c.Get(name)
		if !ok {
			return loadError(Missing, path[0], "skill %q is not loaded: %q requires the skill %q, which isn't there", path[0], path[len(path)-1], name)
		}
		order = append(order, name)
		for _, r := range s.Requires {
			if err := visit(r, append(slices.Clip(path), name)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(name, nil); err != nil {
		return nil, err
	}
	return order, nil
}

// Required lists what a skill requires, transitively, each once; nil if the
// skill or one of those isn't there.
func (c *Catalog) Required(name string) []string {
	closure, err := c.closure(name)
	if err != nil || len(closure) < 2 {
		return nil
	}
	return closure[1:]
}

// conflict finds a conflict between what call i wants and what is active, what
// it wants itself, and what the other calls want.
func (c *Catalog) conflict(names []string, wanted [][]string, i int, active []Active) *LoadError {
	name := names[i]
	for _, mine := range wanted[i] {
		for _, a := range active {
			if c.excludes(mine, a.Name) {
				return loadError(Conflicting, name, "skill %q is not loaded: %s conflicts with %q, which is active: ask the user which of the two to follow", name, via(mine, name), a.Name)
			}
		}
		for j, others := range wanted {
			for _, other := range others {
				if !c.excludes(mine, other) {
					continue
				}
				if i == j {
					return loadError(Conflicting, name, "skill %q is not loaded: %s conflicts with %s", name, via(mine, name), via(other, name))
				}
				return loadError(Conflicting, name, "skill %q is not loaded: %s conflicts with %s of the same batch: ask the user which of the two to follow", name, via(mine, name), via(other, names[j]))
			}
		}
	}
	return nil
}

// via names a skill and, if it is another one than the call's, who brings it.
func via(name, call string) string {
	if name == call {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q (required by %q)", name, call)
}

// excludes reports whether one of two skills lists the other in its conflicts.
func (c *Catalog) excludes(a, b string) bool {
	lists := func(a, b string) bool {
		s, ok := c.Get(a)
		return ok && slices.Contains(s.ConflictsWith, b)
	}
	return lists(a, b) || lists(b, a)
}

// asOfStart says what a sentence about skills is true of: a catalog is read
// once, and the model may have changed a file since.
func asOfStart(done string) string {
	return " (as of the start of this process, which reads skill files once; one that was " + done + " since counts from the next start on)"
}

// unknown lists the names that there are, the most similar first.
func (c *Catalog) unknown(name string) *LoadError {
	const shown = 50
	if len(c.skills) == 0 {
		return loadError(Unknown, name, "there is no skill %q: there are no skills here", name)
	}
	var names []string
	for _, s := range c.skills {
		names = append(names, s.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(distance(strings.ToLower(name), strings.ToLower(a)), distance(strings.ToLower(name), strings.ToLower(b)))
	})
	more := ""
	if n := len(names) - shown; n > 0 {
		names, more = names[:shown], fmt.Sprintf(" and %d more", n)
	}
	return loadError(Unknown, name, "there is no skill %q: use one of %s%s", name, strings.Join(names, ", "), more)
}

// distance counts the single changes that make b of a (insert, delete,
// replace a character). Only the first 64 characters are compared.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	x, y = x[:min(len(x), maxName)], y[:min(len(y), maxName)]
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			cost := 1
			if r == s {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(y)]
}

// Bring returns what a call for a skill brings that was decided to load these
// skills. What it wants beside them is in force, or another call's.
func (c *Catalog) Bring(name string, load []string) (Loaded, error) {
	l := Loaded{Name: name}
	wanted, err := c.closure(name)
	if err != nil {
		return l, err
	}
	for _, w := range wanted {
		if s, _ := c.Get(w); slices.Contains(load, w) {
			l.Skills = append(l.Skills, s)
		} else {
			l.Unchanged = append(l.Unchanged, w)
		}
	}
	return l, nil
}

// Text returns the result of the call as the model reads it: a block for each
// skill with its exact body, the numbers of its steps, and a line for those in
// force already.
func (l Loaded) Text() string {
	var blocks []string
	for _, s := range l.Skills {
		blocks = append(blocks, s.Block())
		if steps := s.Numbered(); steps != "" {
			blocks = append(blocks, steps)
		}
	}
	if len(l.Unchanged) > 0 {
		blocks = append(blocks, "Active already and unchanged: "+strings.Join(l.Unchanged, ", ")+asOfStart("edited"))
	}
	return strings.Join(blocks, "\n")
}

// Numbered lists the steps of a workflow skill under the names by which task
// items refer to them; "" if it has none.
func (s Skill) Numbered() string {
	if len(s.Steps) == 0 {
		return ""
	}
	lines := []string{"Steps of " + s.Name + ", as task items name them:"}
	for i, st := range s.Steps {
		optional := ""
		if st.Optional {
			optional = " (optional)"
		}
		lines = append(lines, fmt.Sprintf("%s#%d %s%s", s.Name, i+1, st.Title(), optional))
	}
	return strings.Join(lines, "\n")
}

// Block returns the body between <skill name digest> tags. The body isn't
// escaped: the model follows it to the letter.
func (s Skill) Block() string {
	return `<skill name="` + attribute(s.Name) + `" digest="` + s.Digest + "\">\n" + s.Body + "\n</skill>"
}
