package permission

import (
	"slices"
	"strings"
)

// setter takes the commands that set variables or change what a name means.
// Patterns must spell them out; a name that isn't known can hold a subscript
// that runs commands.
func setter(c *command, name string) bool {
	switch name {
	case "export", "declare", "typeset", "local", "readonly", "nameref", "unset", "read", "mapfile", "readarray",
		"getopts", "hash", "shopt", "set", "wait":
	case "let", "alias", "enable", "complete", "compgen", "compopt", "bind", "fc", "history":
		c.opaque("%s can run commands by its words", name)
		return true
	case "jobs":
		if slices.ContainsFunc(c.argv[1:], func(w word) bool { return w.mayBeOption() || w.option() && strings.Contains(w.text, "x") }) {
			c.opaque("jobs -x runs a command")
		}
		return true
	case "printf":
		if len(c.argv) > 1 && (c.argv[1].mayBeOption() || strings.HasPrefix(c.argv[1].text, "-v")) {
			c.opaque("printf -v can run commands by a subscript")
		}
		return true
	case "test", "[":
		if !plainTest(c.argv) {
			c.opaque("%s can run commands by a subscript", name)
		}
		return true
	default:
		return false
	}
	c.spell(len(c.argv))
	if !plainSettings(c.argv, name) {
		c.opaque("%s can run commands by its words", name)
	}
	return true
}

// plainSettings reports whether a command that sets variables runs nothing by
// it: no subscripts, no attribute that makes a shell evaluate values, no
// variable that holds a text that is run.
func plainSettings(argv []word, name string) bool {
	assigns := false
	for _, w := range argv[1:] {
		before, _, has := strings.Cut(w.text, "=")
		if !w.whole && !has || strings.ContainsAny(before, "[$`(") || w.steered() {
			return false
		}
		assigns = assigns || has
	}
	switch name {
	case "shopt":
		return !slices.ContainsFunc(argv[1:], func(w word) bool {
			return !listed("-s -u -q -p nullglob globstar dotglob failglob nocaseglob nocasematch inherit_errexit", w.text)
		})
	case "set":
		return plainSet(argv)
	}
	for _, w := range argv[1:] {
		if !w.option() && !strings.HasPrefix(w.text, "+") {
			continue
		}
		switch letters := w.text[1:]; name {
		case "export", "declare", "typeset", "local", "readonly", "nameref":
			if strings.Trim(letters, "xrgpfFlutaA-") != "" || assigns && strings.ContainsAny(letters, "aA") {
				return false // -i evaluates values, -n makes them names, -a takes subscripts
			}
		case "mapfile", "readarray":
			if strings.Contains(letters, "C") {
				return false
			}
		case "hash":
			if strings.ContainsAny(letters, "p") {
				return false
			}
		}
	}
	return true
}

// plainSet reports whether the options of set only make a shell stricter, or
// say more.
func plainSet(argv []word) bool {
	for i := 1; i < len(argv); i++ {
		w := argv[i].text
		switch {
		case w == "--" || w == "-" || w == "" || w[0] != '-' && w[0] != '+':
			return true
		case strings.Trim(w[1:], "abefhmnuvxBCETo") != "":
			return false
		case strings.HasSuffix(w, "o") && i+1 < len(argv):
			i++
			if !listed("errexit nounset xtrace pipefail noclobber noglob verbose errtrace functrace monitor allexport noexec", argv[i].text) {
				return false
			}
		}
	}
	return true
}

// plainTest reports whether a test has no -v or -R, and can't get one from an
// expansion.
func plainTest(argv []word) bool {
	args := argv[1:]
	if n := len(args); n > 0 && args[n-1].text == "]" {
		args = args[:n-1]
	}
	known := true
	for _, w := range args {
		known = known && w.whole
		if !w.single || w.whole && (w.text == "-v" || w.text == "-R") {
			return false
		}
	}
	if len(args) > 1 && args[0].text == "!" {
		args = args[1:]
	}
	switch len(args) {
	case 0, 1:
		return true
	case 2:
		return args[0].whole
	case 3:
		return args[1].whole && args[1].text != "-a" && args[1].text != "-o" || known
	}
	return known
}
