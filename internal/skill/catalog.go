package skill

import (
	"cmp"
	"slices"
	"strings"
)

// Catalog holds the skills that can be loaded, each name once.
type Catalog struct {
	skills []Skill // sorted by name
	byName map[string]int
}

// NewCatalog reads skill files. Of two skills with one name that of the first
// source counts, within a source that of the first path; the others are
// reported, as is all that Parse reports and a skill that can't be loaded
// because of the skills that it requires.
func NewCatalog(files []File) (*Catalog, []Diagnostic) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), strings.Compare(a.Path, b.Path))
	})
	first := map[string]*manifest{}
	var all, used []*manifest
	for _, f := range files {
		m := parseFile(f)
		all = append(all, m)
		if HasErrors(m.diags) {
			continue
		}
		if winner, ok := first[m.skill.Name]; ok {
			m.warn(m.nameLine, "the skill %q is hidden by %s, which comes first", m.skill.Name, winner.skill.Path)
			continue
		}
		first[m.skill.Name] = m
		used = append(used, m)
	}
	slices.SortFunc(used, func(a, b *manifest) int { return strings.Compare(a.skill.Name, b.skill.Name) })
	c := &Catalog{byName: map[string]int{}}
	for i, m := range used {
		c.skills = append(c.skills, m.skill)
		c.byName[m.skill.Name] = i
	}
	for _, m := range used {
		if _, err := c.Load(m.skill.Name, nil, 0); err != nil {
			m.warn(m.requiresLine, "%s", err)
		}
	}
	var diags []Diagnostic
	for _, m := range all {
		diags = append(diags, m.diags...)
	}
	return c, diags
}

// Skills returns the skills, sorted by name.
func (c *Catalog) Skills() []Skill { return slices.Clone(c.skills) }

// Get returns the skill of a name.
func (c *Catalog) Get(name string) (Skill, bool) {
	i, ok := c.byName[name]
	if !ok {
		return Skill{}, false
	}
	return c.skills[i], true
}

// Block returns the catalog as the model reads it: one skill element a line
// in <available_skills>. Without skills it is the empty element.
func (c *Catalog) Block() string {
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for _, s := range c.skills {
		b.WriteString(`<skill name="` + attribute(s.Name) + `" type="` + string(s.Type) + `" path="` + attribute(s.Path) + `">`)
		b.WriteString(escape(s.Description) + "</skill>\n")
	}
	b.WriteString("</available_skills>")
	return b.String()
}

// escape makes text harmless between tags and in attributes: it can neither
// open nor close a tag, nor an attribute, nor look like an escape.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(strings.ToValidUTF8(text, "\ufffd"))
}

// attribute escapes a value that must stay in its line.
func attribute(text string) string {
	return strings.NewReplacer("\n", "&#10;", "\r", "&#13;", "\t", "&#9;", "\x00", "\ufffd").Replace(escape(text))
}
