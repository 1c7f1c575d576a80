package skill

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Type says whether a skill is a procedure or lookup material.
type Type string

// The types. A workflow skill binds the agent to its steps; a reference skill
// doesn't.
const (
	Workflow  Type = "workflow"
	Reference Type = "reference"
)

// Source says where a skill was found. A smaller one comes first when two
// skills have the same name.
type Source int

// The sources, first to last.
const (
	WorkspaceAgents Source = iota // <workspace>/.agents/skills
	WorkspaceGamma                // <workspace>/.gamma/skills
	HomeAgents                    // ~/.agents/skills
	HomeGamma                     // ~/.gamma/skills
	Builtin                       // in the binary
)

// String names the source for people.
func (s Source) String() string {
	names := []string{"workspace .agents", "workspace .gamma", "home .agents", "home .gamma", "built in"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("source %d", int(s))
	}
	return names[s]
}

// File is the text of a SKILL.md.
type File struct {
	Path   string // as people and the model see it, with slashes
	Dir    string // the skill's directory on disk; "" if it isn't on disk
	Source Source
	Data   []byte
}

// Skill is a skill that can be used.
type Skill struct {
	Name        string
	Type        Type
	Description string // what the skill is for: the model's trigger
	Path        string
	Dir         string // its directory on disk, whose other files the body may name
	Source      Source
	Body        string // exact bytes behind the frontmatter
	Digest      string // SHA-256 of Body, hex

	ConflictsWith []string // never active together with these
	Requires      []string // loaded with it
	Steps         []Step   // of a workflow skill, in order
}

// Step is one step of a workflow skill.
type Step struct {
	Text     string // one line, without number and "(optional)"
	Optional bool
}

// Title is the step in a few words: its first sentence, or its beginning.
func (st Step) Title() string {
	const longest = 60
	for _, end := range []string{". ", ": "} {
		if first, _, ok := strings.Cut(st.Text, end); ok && len(first) <= longest {
			return first
		}
	}
	if len(st.Text) <= longest {
		return strings.TrimSuffix(st.Text, ".")
	}
	cut := strings.ToValidUTF8(st.Text[:longest], "")
	if i := strings.LastIndexByte(cut, ' '); i > longest/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// Tokens estimates the length of the body.
func (s Skill) Tokens() int { return tokens(len(s.Body)) }

// tokens estimates how many tokens so many bytes are.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// RequiredSteps returns the texts of the steps that must be done.
func (s Skill) RequiredSteps() []string {
	var texts []string
	for _, st := range s.Steps {
		if !st.Optional {
			texts = append(texts, st.Text)
		}
	}
	return texts
}

// Severity says what a diagnostic means for the skill.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the skill can't be used
	Warning Severity = "warning" // the skill is used; something about it should be mended
)

// Diagnostic is a fault of a file.
type Diagnostic struct {
	Path     string
	Line     int // from 1; 0 if it is about the whole file
	Severity Severity
	Message  string
}

// String returns "path:line: message".
func (d Diagnostic) String() string {
	if d.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", d.Path, d.Line, d.Message)
	}
	return d.Path + ": " + d.Message
}

// HasErrors reports whether one of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// dirName returns the name of the directory that a skill file is in.
func dirName(p string) string {
	if name := path.Base(path.Dir(p)); name != "." && name != "/" {
		return name
	}
	return ""
}
