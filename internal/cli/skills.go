package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/tool/skilldir"
)

// skillCmd is gamma skill.
type skillCmd struct {
	List  skillList  `cmd:"" help:"List the skills that a session in this folder would have."`
	Check skillCheck `cmd:"" help:"Say what is wrong with skills, and how they are understood."`
}

// Help is the long help.
func (skillCmd) Help() string {
	return `Example:
  gamma skill list`
}

// skillSchema names the version of the JSON output of list and check.
const skillSchema = "gamma.skills.v1"

// skillInfo is a skill as list and check print it.
type skillInfo struct {
	Name        string      `json:"name"`
	Type        skill.Type  `json:"type"`
	Description string      `json:"description"`
	Source      string      `json:"source"`
	Path        string      `json:"path"`
	Dir         string      `json:"dir,omitempty"` // on disk
	Bytes       int         `json:"bytes"`         // of the body
	Tokens      int         `json:"tokens"`        // estimated
	Digest      string      `json:"digest"`
	Requires    []relation  `json:"requires,omitempty"`
	Conflicts   []relation  `json:"conflictsWith,omitempty"`
	Steps       []skillStep `json:"steps,omitempty"`
	HiddenBy    string      `json:"hiddenBy,omitempty"` // path of the skill of this name that counts
	Error       string      `json:"error,omitempty"`    // why it can't be loaded
}

// relation is a skill that another one names.
type relation struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // "": there is none of this name
}

type skillStep struct {
	Text     string `json:"text"`
	Line     int    `json:"line"`
	Optional bool   `json:"optional,omitempty"`
}

type skillDiagnostic struct {
	Path     string         `json:"path"`
	Line     int            `json:"line,omitempty"`
	Severity skill.Severity `json:"severity"`
	Message  string         `json:"message"`
}

// skillReport is what list and check print as JSON.
type skillReport struct {
	Schema      string            `json:"schema"`
	OK          bool              `json:"ok"` // no diagnostic is an error
	Skills      []skillInfo       `json:"skills"`
	Diagnostics []skillDiagnostic `json:"diagnostics"`
}

// shelf is the skills of a folder.
type shelf struct {
	files   []skill.File
	catalog *skill.Catalog
	diags   []skill.Diagnostic
}

// shelfOf reads the skills of the places. own come before all others.
func shelfOf(roots []skilldir.Root, own []skill.File) *shelf {
	files, faults := skilldir.Walk(roots)
	files = slices.DeleteFunc(files, func(f skill.File) bool {
		return slices.ContainsFunc(own, func(o skill.File) bool { return o.Dir != "" && o.Dir == f.Dir })
	})
	s := &shelf{files: slices.Concat(own, files, skill.Embedded())}
	catalog, more := skill.NewCatalog(s.files)
	s.catalog, s.diags = catalog, append(faults, more...)
	return s
}

// info describes the skill in a file. False: it can't be used.
func (s *shelf) info(f skill.File) (skillInfo, bool) {
	k, faults := skill.Parse(f.Path, f.Data)
	if skill.HasErrors(faults) {
		return skillInfo{}, false
	}
	out := skillInfo{Name: k.Name, Type: k.Type, Description: k.Description, Source: f.Source.String(), Path: f.Path, Dir: f.Dir,
		Bytes: len(k.Body), Tokens: k.Tokens(), Digest: k.Digest, Requires: s.relations(k.Requires), Conflicts: s.relations(k.ConflictsWith)}
	if f.Source == ownSource {
		out.Source = "named"
	}
	for _, st := range k.Steps {
		out.Steps = append(out.Steps, skillStep{st.Text, st.Line, st.Optional})
	}
	if first, ok := s.catalog.Get(k.Name); ok && first.Path != f.Path {
		out.HiddenBy = first.Path
	} else if _, err := s.catalog.Load(k.Name, nil, 0); err != nil {
		out.Error = err.Error()
	}
	return out, true
}

func (s *shelf) relations(names []string) []relation {
	var out []relation
	for _, name := range names {
		k, _ := s.catalog.Get(name)
		out = append(out, relation{name, k.Path})
	}
	return out
}

// report puts infos and diagnostics together. What keeps a skill from being
// loaded is an error.
func (s *shelf) report(infos []skillInfo, about func(path string) bool) skillReport {
	out := skillReport{Schema: skillSchema, OK: true, Skills: infos, Diagnostics: []skillDiagnostic{}}
	if out.Skills == nil {
		out.Skills = []skillInfo{}
	}
	for _, d := range s.diags {
		if !about(d.Path) {
			continue
		}
		if slices.ContainsFunc(infos, func(i skillInfo) bool { return i.Path == d.Path && i.Error == d.Message }) {
			d.Severity = skill.Error
		}
		out.OK = out.OK && d.Severity != skill.Error
		out.Diagnostics = append(out.Diagnostics, skillDiagnostic{d.Path, d.Line, d.Severity, d.Message})
	}
	return out
}

// skillList is gamma skill list.
type skillList struct {
	JSON  bool `name:"json" help:"Print one JSON object."`
	Trust bool `help:"Also the skills of this folder, as with gamma exec --trust."`
}

// Help is the long help.
func (skillList) Help() string {
	return `Lists name, type, size in tokens and place of each skill, with those that are hidden by another one of the same name. What is wrong with a file goes to standard error with its line.

Examples:
  gamma skill list --trust
  gamma skill list --json | jq -r '.skills[] | select(.hiddenBy) | .path'`
}

// Run is gamma skill list.
func (c skillList) Run(a *app) error {
	home, err := a.homeDir()
	if err != nil {
		return err
	}
	cwd, err := a.folder()
	if err != nil {
		return err
	}
	conf, err := loadConfig(home, a.env("HOME"))
	if err != nil {
		return usageError{err}
	}
	trusted := c.Trust || conf.trusts(cwd)
	s := shelfOf(skilldir.Roots(cwd, a.env("HOME"), home, trusted), nil)
	var infos []skillInfo
	for _, f := range s.files {
		if i, ok := s.info(f); ok {
			infos = append(infos, i)
		}
	}
	slices.SortStableFunc(infos, func(x, y skillInfo) int { return strings.Compare(x.Name, y.Name) })
	r := s.report(infos, func(string) bool { return true })
	if c.JSON {
		return a.printJSON(r)
	}
	if what := ignored(cwd); !trusted && what != "" {
		a.notice("%s is not used, since this folder isn't trusted: --trust, or \"trust\" in config.yaml, changes that", what)
	}
	for _, d := range r.Diagnostics {
		a.notice("%s", d.text())
	}
	return c.table(a, infos)
}

func (c skillList) table(a *app, infos []skillInfo) error {
	rows := [][]string{{"NAME", "TYPE", "TOKENS", "WHERE"}}
	wide := []int{4, 4, 6}
	for _, i := range infos {
		where := i.Path
		if i.HiddenBy != "" {
			where += " (hidden by " + i.HiddenBy + ")"
		}
		if i.Error != "" {
			where += " (can't be loaded)"
		}
		r := []string{i.Name, string(i.Type), fmt.Sprint(i.Tokens), where}
		for n := range wide {
			wide[n] = max(wide[n], len(r[n]))
		}
		rows = append(rows, r)
	}
	for _, r := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %*s  %s", wide[0], r[0], wide[1], r[1], wide[2], r[2], r[3])
		if _, err := fmt.Fprintln(a.stdout, single(line)); err != nil {
			return err
		}
	}
	return nil
}

// skillCheck is gamma skill check.
type skillCheck struct {
	What []string `arg:"" optional:"" placeholder:"PATH|NAME" help:"A SKILL.md, a folder that holds skills, or a skill's name. Default: all skills of this folder."`
	JSON bool     `name:"json" help:"Print one JSON object."`
}

// Help is the long help.
func (skillCheck) Help() string {
	return `Reads skills as a session does and prints what is wrong with line and reason, the skills that they require and exclude, and the steps of the checklist with their lines. Skills of this folder are read whether it is trusted or not: nothing is run.

Examples:
  gamma skill check
  gamma skill check .gamma/skills/release-notes
  gamma skill check release-notes --json

Exit codes: 0 all can be used (there may be warnings), 1 one can't.`
}

// ownSource ranks the files that are named on the command line before all
// others.
const ownSource = skill.WorkspaceAgents - 1

// Run is gamma skill check.
func (c skillCheck) Run(a *app) error {
	home, err := a.homeDir()
	if err != nil {
		return err
	}
	roots := []skilldir.Root{}
	if cwd, err := a.folder(); err == nil {
		roots = skilldir.Roots(cwd, a.env("HOME"), home, true)
	}
	n, err := c.named(a)
	if err != nil {
		return err
	}
	s := shelfOf(roots, slices.Concat(n.files, n.around))
	s.diags = append(n.faults, s.diags...)
	about := map[string]bool{}
	for _, f := range n.files {
		about[f.Path] = true
	}
	for _, d := range n.faults {
		about[d.Path] = true
	}
	for _, name := range n.names {
		k, ok := s.catalog.Get(name)
		if !ok {
			_, err := s.catalog.Load(name, nil, 0)
			return err // lists the names
		}
		about[k.Path] = true
	}
	var infos []skillInfo
	for _, f := range s.files {
		if i, ok := s.info(f); ok && (len(c.What) == 0 || about[f.Path]) {
			infos = append(infos, i)
		}
	}
	r := s.report(infos, func(path string) bool { return len(c.What) == 0 || about[path] })
	if !r.OK {
		a.code = exitError
	}
	if c.JSON {
		return a.printJSON(r)
	}
	return r.print(a)
}

// named is what the command line names.
type named struct {
	names  []string
	files  []skill.File
	around []skill.File // beside them: they may be required
	faults []skill.Diagnostic
}

// named reads what the command line names.
func (c skillCheck) named(a *app) (*named, error) {
	n := &named{}
	for _, what := range c.What {
		path, err := a.absolute(what)
		if err != nil {
			return nil, err
		}
		fi, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(what, filepath.Separator) {
			n.names = append(n.names, what)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, bare(err))
		}
		if !fi.IsDir() {
			path, what = filepath.Dir(path), filepath.Dir(what)
		}
		before := len(n.files) + len(n.faults)
		n.below(path, what)
		if len(n.files)+len(n.faults) == before {
			return nil, fmt.Errorf("%s: there is no SKILL.md in it", what)
		}
	}
	return n, nil
}

// below reads the skills in a folder, which may be a skill itself.
func (n *named) below(path, show string) {
	root := skilldir.Root{Dir: path, Show: filepath.ToSlash(show), Source: ownSource}
	if _, err := os.Lstat(filepath.Join(path, "SKILL.md")); err != nil {
		files, faults := skilldir.Walk([]skilldir.Root{root})
		n.files, n.faults = append(n.files, files...), append(n.faults, faults...)
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path // the walk will tell
	}
	root.Dir, root.Show = filepath.Dir(real), filepath.ToSlash(filepath.Dir(show))
	if filepath.Base(show) != filepath.Base(real) { // ".", or a link
		root.Show = filepath.ToSlash(root.Dir)
	}
	mine := slashpath.Join(root.Show, filepath.Base(real)) + "/"
	files, faults := skilldir.Walk([]skilldir.Root{root})
	for _, f := range files {
		if strings.HasPrefix(f.Path, mine) {
			n.files = append(n.files, f)
		} else {
			n.around = append(n.around, f)
		}
	}
	for _, d := range faults {
		if strings.HasPrefix(d.Path, mine) {
			n.faults = append(n.faults, d)
		}
	}
}

// print prints the report of a check for people.
func (r skillReport) print(a *app) error {
	p := &printer{w: a.stdout}
	said := map[int]bool{}
	for _, i := range r.Skills {
		sign := "✓"
		if i.Error != "" {
			sign = "✗"
		}
		p.say("%s %s  %s, about %d tokens  %s", sign, i.Name, i.Type, i.Tokens, i.Path)
		if i.HiddenBy != "" {
			p.say("    hidden by %s", i.HiddenBy)
		}
		for _, rel := range i.Requires {
			p.say("    requires %s (%s)", rel.Name, cmp.Or(rel.Path, "there is none"))
		}
		for _, rel := range i.Conflicts {
			p.say("    excludes %s (%s)", rel.Name, cmp.Or(rel.Path, "there is none"))
		}
		for n, st := range i.Steps {
			optional := ""
			if st.Optional {
				optional = " (optional)"
			}
			p.say("    step %d, line %d: %s%s", n+1, st.Line, oneLine(st.Text, 90), optional)
		}
		for n, d := range r.Diagnostics {
			if d.Path == i.Path {
				said[n] = true
				p.say("    %s", d.text())
			}
		}
	}
	failed := 0
	for n, d := range r.Diagnostics {
		if !said[n] {
			p.say("%s %s", map[skill.Severity]string{skill.Error: "✗", skill.Warning: "·"}[d.Severity], d.text())
		}
		if d.Severity == skill.Error {
			failed++
		}
	}
	p.say("%d skill%s, %d error%s, %d warning%s", len(r.Skills), plural(len(r.Skills)), failed, plural(failed),
		len(r.Diagnostics)-failed, plural(len(r.Diagnostics)-failed))
	return p.err
}

func (d skillDiagnostic) text() string {
	at := d.Path
	if d.Line > 0 {
		at = fmt.Sprintf("%s:%d", d.Path, d.Line)
	}
	return fmt.Sprintf("%s: %s: %s", at, d.Severity, d.Message)
}
