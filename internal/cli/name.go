package cli

import (
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// worded puts the program's name into a text of ours, which says gamma: as its
// first word, and before commands. It is for help, notices and errors alone:
// nothing that a model, a user or a command has said goes through it.
func (a *app) worded(text string) string {
	if a.name == "" || a.name == "gamma" {
		return text
	}
	if rest, ok := strings.CutPrefix(text, "gamma: "); ok {
		text = a.name + ": " + rest
	}
	return regexp.MustCompile(`\bgamma( (?:--?[a-z]|COMMAND\b|`+
		`(?:exec|session|approve|inject|skill|runs?|host|demo|fake-provider|doctor|config|completion|version|help)\b))`).
		ReplaceAllStringFunc(text, func(m string) string { return a.name + strings.TrimPrefix(m, "gamma") })
}

// rename puts the program's name into the help of a command and those below it.
func (a *app) rename(n *kong.Node) {
	n.Help, n.Detail = a.worded(n.Help), a.worded(n.Detail)
	for _, v := range n.Positional {
		v.Help = a.worded(v.Help)
	}
	for _, f := range n.Flags {
		f.Help = a.worded(f.Help)
	}
	for _, c := range n.Children {
		a.rename(c)
	}
}

// versionLine names the program, and of one of somebody's own also gamma's
// release.
func (a *app) versionLine() string {
	if a.name == "" || a.name == "gamma" {
		return "gamma " + Version(a.version)
	}
	if a.version == "" {
		return a.name + " (gamma " + Version("") + ")"
	}
	return a.name + " " + a.version + " (gamma " + release + ")"
}
