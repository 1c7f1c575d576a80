package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Do is what a rule or a verdict says about a call.
type Do string

// The three answers, from the weakest to the strictest.
const (
	Allow Do = "allow"
	Ask   Do = "ask"
	Deny  Do = "deny"
)

// rank orders the answers by strictness; 0 is no answer.
func (d Do) rank() int { return 1 + slices.Index([]Do{Allow, Ask, Deny}, d) }

// Rule says what to do about the calls of one tool.
type Rule struct {
	Tool string
	// Match is a pattern; the package comment has its grammar. Empty: every
	// call of the tool.
	Match string
	Do    Do
	// Source tells a person where the rule stands: "config.yaml
	// permissions[2]", "--allow bash(go test *)".
	Source string
	// Hits and Misses are examples: commands, paths, or names that the rule
	// must match or must not match. New refuses a rule whose examples are
	// wrong.
	Hits, Misses []string
}

// form is the rule as --allow and --deny write it.
func (r Rule) form() string {
	if r.Match == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Match + ")"
}

// label names the rule in a verdict.
func (r Rule) label() string {
	switch {
	case r.Source == "":
		return string(r.Do) + " " + r.form()
	case strings.HasSuffix(r.Source, r.form()):
		return r.Source
	}
	return r.Source + " (" + string(r.Do) + " " + r.form() + ")"
}

// ParseFlag reads the text of --allow or --deny: TOOL or TOOL(PATTERN).
func ParseFlag(flag, text string) (Rule, error) {
	r := Rule{Source: flag + " " + text}
	switch flag {
	case "--allow":
		r.Do = Allow
	case "--deny":
		r.Do = Deny
	default:
		return Rule{}, fmt.Errorf("%s takes no rule; rules are given with --allow and --deny", flag)
	}
	name, pattern, has := strings.Cut(text, "(")
	r.Tool = strings.TrimSpace(name)
	if has {
		var closed bool
		if r.Match, closed = strings.CutSuffix(strings.TrimRight(pattern, " "), ")"); !closed {
			return Rule{}, fmt.Errorf("%s %s: the closing parenthesis is missing; write %s '%s(PATTERN)'", flag, text, flag, r.Tool)
		}
		if strings.TrimSpace(r.Match) == "" {
			return Rule{}, fmt.Errorf("%s %s: the pattern is empty; write %s %s for every call", flag, text, flag, r.Tool)
		}
	}
	if _, err := compile(r, place{}); err != nil {
		return Rule{}, err
	}
	return r, nil
}

// matching is what the pattern of a tool's rule is held against.
type matching int

const (
	byNothing matching = iota // rules of the tool take no pattern
	byWords                   // the simple commands of a shell text
	byPath                    // the path that is opened
	byTool                    // SERVER/TOOL of a connector
	byName                    // a skill's name
)

// tools lists the tools that a rule may name, in their fixed order.
func tools() []string {
	return []string{"read", "bash", "write", "edit", "todo", "subagent", "show_gamma", "show_file", "skill",
		"message_user", "ask_user", "workflow", "connector"}
}

func matchingOf(tool string) matching {
	switch tool {
	case "bash":
		return byWords
	case "read", "write", "edit", "show_file":
		return byPath
	case "connector":
		return byTool
	case "skill":
		return byName
	}
	return byNothing
}

// rule is a rule that is ready to match. Its pattern is in words, in path, or
// in name.
type rule struct {
	Rule
	words *wordPattern
	path  *pathPattern
	name  []*glob // the parts of a name between slashes
}

// whole reports whether the rule is about every call of its tool.
func (r *rule) whole() bool { return r.words == nil && r.path == nil && r.name == nil }

func compile(r Rule, at place) (*rule, error) {
	if !slices.Contains(tools(), r.Tool) {
		return nil, fmt.Errorf("%s: there is no tool %q; the tools are %s", r.label(), r.Tool, strings.Join(tools(), ", "))
	}
	if r.Do.rank() == 0 {
		return nil, fmt.Errorf("%s: do is %q; it must be allow, ask or deny", r.label(), r.Do)
	}
	out := &rule{Rule: r}
	if err := out.setPattern(at); err != nil {
		return nil, fmt.Errorf("%s: %w", r.label(), err)
	}
	return out, nil
}

func (r *rule) setPattern(at place) (err error) {
	text := strings.TrimSpace(r.Match)
	switch kind := matchingOf(r.Tool); {
	case r.Match != "" && text == "":
		return errors.New("the pattern is blank; leave it out to mean every call")
	case text == "" || kind != byNothing && (text == "*" || text == "**"):
		return nil
	case kind == byNothing:
		return fmt.Errorf("rules for %s take no pattern; write %s alone", r.Tool, r.Tool)
	case kind == byWords:
		r.words, err = parseWords(text, r.Do == Allow)
	case kind == byPath:
		r.path, err = parsePath(text, at)
	case kind == byTool:
		if strings.Count(text, "/") != 1 {
			return fmt.Errorf("a connector is named SERVER/TOOL, like %s/*; %q isn't that", strings.Trim(text, "/"), text)
		}
		fallthrough
	default:
		for part := range strings.SplitSeq(text, "/") {
			r.name = append(r.name, newGlob(part, false))
		}
	}
	return err
}

// named reports whether the rule is about a name: a skill, or SERVER and TOOL.
func (r *rule) named(parts ...string) bool {
	if r.name == nil {
		return r.words == nil
	}
	for i, g := range r.name {
		if i >= len(parts) || !g.match(parts[i]) {
			return false
		}
	}
	return true
}
