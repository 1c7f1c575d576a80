package session

import (
	"crypto/sha256"
	_ "embed" // the prompt is a text file, so that a change is a readable diff
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

//go:embed prompt/root.md
var rootText string

// rootPrompt is the root prompt: the text with a line for each injection kind.
func rootPrompt() string {
	var lines []string
	for _, k := range Injections() {
		lines = append(lines, "- `"+k.Kind+"`: "+k.Meaning)
	}
	return strings.Replace(rootText, "{{injections}}", strings.Join(lines, "\n"), 1)
}

// Prefix is the constant head of every request of a session: the root prompt
// with what the variant adds, and the tools. It is built once per process.
type Prefix struct {
	System  string
	Digests transcript.Digests
	Sum     string // SHA-256 over the digests, hex
	// Preloaded are the variant's skills, active from the first turn. Their
	// bodies stand in System.
	Preloaded []transcript.SkillFact
}

// Variants lists the prompt variants and, for each, the built-in skills that it
// preloads. A session has one for life.
func Variants() []Variant {
	return []Variant{
		{"base", nil},
		{"deck-generation", []string{"deck-generation"}},
		{"import", []string{"import"}},
	}
}

// Variant is the root prompt with skills behind it.
type Variant struct {
	Name   string
	Skills []string
}

// NewPrefix builds the prefix of a variant: the root prompt, which is the same
// bytes in all of them, then the bodies of the preloaded skills.
func NewPrefix(variant string, tools *Toolbox) (Prefix, error) {
	var names []string
	for _, v := range Variants() {
		names = append(names, v.Name)
		if v.Name == variant {
			return newPrefix(v, tools)
		}
	}
	return Prefix{}, fmt.Errorf("unknown variant %q; known: %s", variant, strings.Join(names, ", "))
}

func newPrefix(v Variant, tools *Toolbox) (Prefix, error) {
	decls, err := json.Marshal(tools.Decls)
	if err != nil {
		return Prefix{}, fmt.Errorf("tool declarations: %w", err)
	}
	root := rootPrompt()
	p := Prefix{System: root}
	builtin, _ := skill.NewCatalog(skill.Embedded())
	for _, name := range v.Skills {
		loaded, err := builtin.Load(name, nil, 0)
		if err != nil {
			return Prefix{}, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		for _, s := range loaded.Skills {
			by := name
			if s.Name == name {
				by = ""
			}
			p.System += "\n" + preloaded(s)
			p.Preloaded = append(p.Preloaded, SkillFactOf(s, "", by))
		}
	}
	p.Digests = transcript.Digests{Root: digestOf([]byte(root)), Variant: digestOf([]byte(p.System)), Tools: digestOf(decls)}
	p.Sum = digestOf([]byte(p.Digests.Root + p.Digests.Variant + p.Digests.Tools))
	return p, nil
}

// preloaded is a skill's part of the prefix. How a skill is loaded changes
// nothing about its contract (K6).
func preloaded(s skill.Skill) string {
	head := "# Reference skill " + s.Name + "\n\nThis reference skill is preloaded as lookup material. Use the part that applies when something directs you to it.\n\n"
	if s.Type == skill.Workflow {
		head = "# Active workflow skill " + s.Name + "\n\nThis workflow skill is active, because the task of this session matches it. Its contract binds you as if you had loaded it with `skill`: follow every required step in order and complete its verification.\n\n"
	}
	text := head + s.Block() + "\n"
	if steps := s.Numbered(); steps != "" {
		text += "\n" + steps + "\n"
	}
	return text
}

// digestOf is SHA-256 in hex.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
