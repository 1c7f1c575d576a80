package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The values of Config.Ask, which are those of --ask.
const (
	AskAuto   = "auto"   // ask where a rule or a default says so
	AskNever  = "never"  // nobody can be asked: what would ask is denied
	AskAlways = "always" // ask before each call with effects, too
)

// Config says what a policy is made of.
type Config struct {
	Rules []Rule
	// Sandboxed: commands run in the sandbox, so bash is allowed by default.
	Sandboxed bool
	// Plan: the read-only plan mode.
	Plan bool
	// Ask is AskAuto (also if empty), AskNever or AskAlways.
	Ask string
	// Workspace is the absolute path of the folder that the tools work in, and
	// Home the user's home. Without Workspace, absolute paths are never taken
	// for paths in it.
	Workspace, Home string
	// Closed are absolute paths of folders that no tool may reach,
	// $GAMMA_HOME first; Readable are folders within them that may be read
	// (skills, spilled output).
	Closed, Readable []string
	// Real follows the symlinks of an absolute path, which may hold "..", as
	// the kernel does, and returns a clean absolute path; what doesn't exist
	// stays as it is. "" means that it can't be told. It may be nil: then only
	// the names in the calls count.
	Real func(abs string) string
	// FoldCase: the file system doesn't tell upper from lower case.
	FoldCase bool
	// POSIX: commands may be run by another shell than bash.
	POSIX bool
}

// Policy decides about calls. It doesn't change, so any number of goroutines
// may use it.
type Policy struct {
	cfg    Config
	at     place
	rules  []*rule
	grants []string
}

// Verdict is what a policy says about one call.
type Verdict struct {
	Do Do
	// Rule names the rule that decided, or the default or mode, and for bash
	// the part of the command that it decided on.
	Rule string
	// Text tells the model and the person what it means and what can be done.
	Text string
	// Remedy is what a person can do so that a call that asks isn't asked for,
	// as a sentence.
	Remedy string
	// Once is set if a person's yes is good for all further calls of the same
	// kind in this session; Grant takes it.
	Once string
}

// New checks the rules and makes a policy. An error names the rule.
func New(cfg Config) (*Policy, error) {
	if cfg.Ask == "" {
		cfg.Ask = AskAuto
	}
	if !slices.Contains([]string{AskAuto, AskNever, AskAlways}, cfg.Ask) {
		return nil, fmt.Errorf("ask is %q; it must be auto, never or always", cfg.Ask)
	}
	p := &Policy{cfg: cfg, at: place{home: cfg.Home, closed: cfg.Closed, open: cfg.Readable, real: cfg.Real, fold: cfg.FoldCase}}
	for _, dir := range append([]string{cfg.Workspace, cfg.Home}, append(cfg.Closed, cfg.Readable...)...) {
		if dir != "" && (!path.IsAbs(dir) || path.Clean(dir) != dir) {
			return nil, fmt.Errorf("folder %q isn't a clean absolute path", dir)
		}
	}
	p.at.workspace = cfg.Workspace
	p.followRoots()
	for _, r := range cfg.Rules {
		c, err := compile(r, p.at)
		if err != nil {
			return nil, err
		}
		if err := p.checkExamples(c); err != nil {
			return nil, fmt.Errorf("%s: %w", r.label(), err)
		}
		p.rules = append(p.rules, c)
	}
	return p, nil
}

// followRoots keeps the folders of the configuration with their symlinks
// followed, too, since files are held against them by such names.
func (p *Policy) followRoots() {
	if p.at.real == nil {
		return
	}
	if p.at.workspace != "" {
		p.at.realWorkspace = p.at.real(p.at.workspace)
	}
	more := func(dirs []string) []string {
		out := slices.Clone(dirs)
		for _, dir := range dirs {
			if real := p.at.real(dir); real != "" && real != dir {
				out = append(out, real)
			}
		}
		return out
	}
	p.at.closed, p.at.open = more(p.at.closed), more(p.at.open)
}

// checkExamples holds a rule against its own examples.
func (p *Policy) checkExamples(r *rule) error {
	for _, list := range []struct {
		examples []string
		want     bool
	}{{r.Hits, true}, {r.Misses, false}} {
		for _, e := range list.examples {
			if got := p.hits(r, e); got != list.want {
				return fmt.Errorf("the example %q should match: %t, but does: %t", e, list.want, got)
			}
		}
	}
	return nil
}

// hits reports whether a rule matches an example.
func (p *Policy) hits(r *rule, example string) bool {
	switch {
	case r.whole():
		return true
	case r.path != nil:
		return r.path.match(p.at.rel(example))
	case r.name != nil:
		return r.named(strings.SplitN(example, "/", 2)...)
	}
	one := &Policy{at: p.at, rules: []*rule{r}}
	s := read(p.at, example, p.cfg.POSIX)
	if r.Do == Allow {
		return len(s.doubts) == 0 && len(s.commands) > 0 &&
			!slices.ContainsFunc(s.commands, func(c command) bool { return one.allowing(&c) == nil })
	}
	return slices.ContainsFunc(s.commands, func(c command) bool { _, sureness := one.strict(&c, r.Do); return sureness == sure })
}

// Grant returns a policy in which a person's yes to a call with the given
// Once counts for all further calls of its kind.
func (p *Policy) Grant(once string) *Policy {
	q := *p
	q.grants = append(slices.Clone(p.grants), once)
	return &q
}

// arguments are the fields of the tools' arguments that rules look at.
type arguments struct {
	Path    string `json:"path"`
	Name    string `json:"name"`
	Command string `json:"command"`
	Job     string `json:"job"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Action  string `json:"action"`
}

// Judge decides about one call. args are the arguments as the tool gets them.
func (p *Policy) Judge(tool string, args json.RawMessage) Verdict {
	var a arguments
	if err := jsonv2.Unmarshal(args, &a, jsontext.AllowInvalidUTF8(true)); err != nil {
		return unreadable(tool, err)
	}
	if v := jsontext.Value(args); v.Kind() != '{' {
		return unreadable(tool, errors.New("they are no JSON object"))
	}
	findings := p.find(tool, a)
	if tool == "bash" && a.Job == "" && p.cfg.Plan {
		findings = append(findings, p.planned(a.Command)...)
	} else if p.cfg.Plan && p.effects(tool, a) {
		findings = append(findings, finding{do: Deny, by: byPlan, why: "plan mode is read-only, and " + tool + " isn't a reading tool"})
	}
	worst := Allow
	for _, f := range findings {
		if f.do.rank() > worst.rank() {
			worst = f.do
		}
	}
	if worst == Allow && p.cfg.Ask == AskAlways && p.effects(tool, a) {
		worst = Ask
		findings = append(findings, finding{do: Ask, by: byAlways, why: "every call with effects is asked for"})
	}
	return p.verdict(tool, worst, findings)
}

func unreadable(tool string, err error) Verdict {
	return Verdict{Do: Deny, Rule: "default: arguments that can't be read",
		Text: fmt.Sprintf("The arguments of %s can't be read: %v. Send the call again with one JSON object.", tool, err)}
}

// effects reports whether a call can change something outside the session.
func (p *Policy) effects(tool string, a arguments) bool {
	switch tool {
	case "write", "edit":
		return true
	case "bash":
		return a.Job == ""
	case "connector":
		return a.Tool != ""
	case "workflow":
		// What an open step hands in or tells stays in its run.
		return !slices.Contains([]string{"list", "status", "submit", "update"}, a.Action)
	}
	return !slices.Contains(tools(), tool)
}

// find applies the rules and the defaults.
func (p *Policy) find(tool string, a arguments) []finding {
	switch matchingOf(tool) {
	case byWords:
		if a.Job != "" {
			return p.simple(tool, false, Allow)
		}
		return p.bash(a.Command)
	case byPath:
		return p.file(tool, a.Path)
	case byTool:
		if a.Tool == "" {
			return p.simple(tool, true, Allow, a.Server, "")
		}
		return p.connector(a)
	case byName:
		return p.simple(tool, true, Allow, a.Name)
	}
	if !slices.Contains(tools(), tool) {
		return p.simple(tool, true, Ask)
	}
	return p.simple(tool, true, Allow)
}

// simple applies the rules of a tool to a name. Without asking, only denying
// rules count: what a job does was asked for when it was started.
func (p *Policy) simple(tool string, asking bool, otherwise Do, name ...string) []finding {
	var best *rule
	for _, r := range p.rules {
		if r.Tool != tool || !r.named(name...) || !asking && r.Do == Ask {
			continue
		}
		if best == nil || r.Do.rank() > best.Do.rank() {
			best = r
		}
	}
	if best == nil {
		return []finding{{do: otherwise, by: "default", part: strings.Join(name, "/"), why: "no rule is about " + tool}}
	}
	return []finding{{do: best.Do, rule: best, part: strings.Join(name, "/")}}
}

func (p *Policy) connector(a arguments) []finding {
	name := a.Server + "/" + a.Tool
	f := p.simple("connector", true, Ask, a.Server, a.Tool)
	if f[0].rule != nil {
		return f
	}
	once := "connector " + name
	if slices.Contains(p.grants, once) {
		return []finding{{do: Allow, by: "granted before", part: name}}
	}
	f[0].why, f[0].once = "the first call of a connector's tool is asked for", once
	if !strings.ContainsAny(name, "*()") && strings.Count(name, "/") == 1 {
		f[0].offer = "connector(" + name + ")"
	}
	return f
}

// file applies the rules of a file tool to a path.
func (p *Policy) file(tool, name string) []finding {
	names, known := p.at.names(name)
	reading := tool == "read" || tool == "show_file"
	for _, n := range names {
		if dir, in := p.at.shut(n, reading); in {
			return []finding{p.closedFinding(dir, name)}
		}
	}
	best := finding{do: Allow, by: "default", part: name}
	for _, r := range p.rules {
		if r.Tool != tool {
			continue
		}
		f := finding{do: r.Do, rule: r, part: name}
		switch r.matchesPath(names, known, p.at) {
		case no:
			continue
		case maybe:
			f.do, f.why = Ask, "where the path leads can't be told, and it may be what the rule is about"
		}
		if best.rule == nil || f.do.rank() > best.do.rank() {
			best = f
		}
	}
	return []finding{best}
}

// matchesPath holds a rule against the names of one file. A denying or asking
// rule matches by any of them, an allowing one by all.
func (r *rule) matchesPath(names []string, known bool, at place) certainty {
	if r.whole() {
		return sure
	}
	some, all := false, known
	var link *pathPattern
	if r.Do != Allow {
		link = r.path.followed(at)
	}
	for _, n := range names {
		m := r.path.match(n) || link != nil && link.match(n)
		some, all = some || m, all && m
	}
	switch {
	case some && (all || r.Do != Allow):
		return sure
	case r.Do != Allow && !known:
		return maybe
	case r.Do != Allow && !r.path.outside && at.real == nil && outside(names[0]):
		return maybe // the workspace may have another name
	}
	return no
}

func (p *Policy) closedFinding(dir, part string) finding {
	return finding{do: Deny, by: "default: " + dir + " is closed", part: part, why: dir + " holds gamma's own data, which no tool may reach"}
}
