package permission

import (
	"path"
	"slices"
	"strings"
)

// interpreter takes the programs that run code from their words. A rule that
// allows one must spell out the script. It reports whether c is one.
func (r *reader) interpreter(c *command, name string) bool {
	quiet, ok := quietOptions(name)
	if !ok {
		return false
	}
	if name == "awk" || name == "sed" {
		textTool(c, name)
		return true
	}
	if len(c.argv) == 2 && (c.argv[1].text == "--version" || c.argv[1].text == "--help") {
		return true
	}
	for i, w := range c.argv[1:] {
		at := i + 1
		switch {
		case w.text == "-":
			c.opaque("%s runs code that is only known when it runs", name)
			return true
		case !w.option():
			r.runsFile(c, at)
			return true
		case name == "python" && w.text == "-m":
			c.spell(at + 2)
			if at+1 >= len(c.argv) || !c.argv[at+1].whole || listed("timeit code pdb asyncio idlelib IPython ptpython bpython runpy cProfile profile trace", c.argv[at+1].text) {
				c.opaque("this module of python runs other code")
			}
			return true
		case strings.Trim(w.text[1:], quiet) != "":
			c.opaque("%s %s can run code that the rules don't see", name, w.text)
			return true
		}
	}
	c.opaque("%s runs code from its input", name)
	return true
}

// runsFile says that c runs the file at i of its words. A rule that allows c
// must name the file, and one that refuses the file is about c too.
func (r *reader) runsFile(c *command, i int) {
	if r.stream(c.argv[i].text) {
		c.opaque("%s runs what comes from its input", c.argv[0].text)
		return
	}
	c.spell(i + 1)
	c.inner = []command{{src: c.src, env: c.env, argv: c.argv[i:], need: 1, own: 1}}
}

// stream reports whether a file isn't one that lies somewhere, but an open
// one, a device or the like: what it holds is only known when it runs.
func (at place) stream(name string) bool {
	names, known := at.names(name)
	for _, n := range names {
		if strings.HasPrefix(n, "/dev/") || strings.HasPrefix(n, "/proc/") {
			return true
		}
		switch dir, base := path.Split(n); { // the folder may be another one
		case base == "stdin", dir == "fd/", strings.HasSuffix(dir, "/fd/"), strings.Contains(n, "proc/self/"):
			return true
		}
	}
	return !known
}

// quietOptions are the letters of an interpreter that take no value and run
// nothing. It isn't ok if the program isn't known as an interpreter.
func quietOptions(name string) (string, bool) {
	switch name {
	case "python", "pypy":
		return "uBEsSIOvq", true
	case "perl":
		return "wWtT", true
	case "ldd": // it may execute the file
		return "vdru", true
	case "ruby":
		return "wW", true
	case "node", "nodejs", "js", "php", "lua", "luajit", "Rscript", "tclsh", "guile", "groovy", "elixir", "awk", "gawk", "mawk", "nawk", "sed", "gsed":
		return "", true
	}
	return "", false
}

// textTool takes awk and sed, whose script is a word. Scripts that only choose
// and print lines are harmless; others can run commands and write files, so
// that a rule must spell them out.
func textTool(c *command, name string) {
	o, safe := options{values: "Fv"}, safeAwk
	if name == "sed" {
		o, safe = options{flags: "nErsuz"}, safeSed
	}
	i, ok := o.operand(c.argv)
	if !ok || i >= len(c.argv) || !c.argv[i].whole {
		c.opaque("%s can run commands and write files by its script", name)
		return
	}
	if !safe(c.argv[i].text) {
		c.hide(i+1, "%s can run commands and write files by its script", name)
	}
	for _, w := range c.argv[i+1:] {
		if name == "sed" && (w.option() || w.mayBeOption()) { // it may be another script
			c.opaque("sed can run commands and write files by an option")
		}
	}
}

// safeAwk reports whether a program can't run, read or write anything but its
// input and output.
func safeAwk(program string) bool {
	return !strings.Contains(program, "system") && !strings.Contains(program, "getline") && !strings.ContainsAny(program, "|>@")
}

// safeSed reports whether a script is one command that prints, deletes, or
// replaces.
func safeSed(script string) bool {
	if strings.ContainsAny(script, "\\\n;{}") {
		return false
	}
	s := strings.TrimLeft(script, "0123456789,$")
	if parts := strings.Split(s, "/"); len(parts) == 3 && parts[0] == "" {
		s = parts[2]
	}
	if s == "p" || s == "d" || s == "q" || s == "=" {
		return true
	}
	if len(s) < 4 || s[0] != 's' || !strings.Contains("/|,#:@%", s[1:2]) {
		return false
	}
	parts := strings.Split(s[2:], s[1:2])
	return len(parts) == 3 && strings.Trim(parts[2], "gpiI0123456789") == ""
}

// caution lists the words of a program by which it runs other commands, and
// those by which it does something else than its name says.
type caution struct {
	runs   string // options between blanks: --long, -x as letter, -word with single
	alters string
	single bool   // long options have one dash, like those of go
	loose  bool   // long options have any number of dashes, and may be shortened
	words  string // beginnings of words; = and what stands behind a star are in any place
	ends   bool   // the program takes no word behind -- for an option
}

// careful looks for words that a rule must spell out.
func careful(c *command, name string) {
	sub, at := "", 1
	switch name {
	case "git":
		sub, at = git(c)
	case "docker", "podman", "nerdctl", "buildah", "kubectl", "oc", "go", "npm", "yarn", "pnpm", "cargo", "uv", "hg", "ip",
		"gh", "glab", "aws", "dotnet", "bazel", "openssl", "composer", "rails", "swift", "crystal", "flask":
		sub = subcommand(c)
	case "tar", "bsdtar", "gtar":
		if len(c.argv) > 1 && !c.argv[1].option() && strings.ContainsAny(c.argv[1].text, "IFT") {
			c.opaque("tar %s can run another program", c.argv[1].text)
		}
	}
	spellOperands(c, at, operandsOf(name, sub))
	if container(name) && !slices.Contains(strings.Fields("ps images version info inspect logs stats top port diff history get describe explain api-resources cluster-info pull push tag rm rmi stop kill delete"), sub) {
		c.opaque("%s runs commands elsewhere", name)
	}
	if runsOperands(c, name, sub) {
		c.hide(c.need, "%s %s runs other commands", name, sub)
	}
	for _, about := range []caution{cautionOf(name), cautionOf(name + " " + sub)} {
		about.ends = endsByDashes(name)
		about.check(c, at)
	}
}

// runsOperands reports whether a subcommand runs the command in its words.
func runsOperands(c *command, name, sub string) bool {
	names := func(text string) bool {
		return slices.ContainsFunc(c.argv, func(w word) bool { return w.text == text || !w.whole })
	}
	switch name + " " + sub {
	case "npm explore", "yarn exec", "yarn dlx", "yarn create", "pnpm exec", "pnpm dlx", "pnpm create", "uv run", "uv tool", "ip netns", "ip vrf",
		"git filter-branch", "git difftool", "git mergetool", "git send-email", "git instaweb", "git credential", "git var", "git daemon", "git maintenance":
		return true
	case "gh alias", "gh extension", "gh extensions", "gh ext", "glab alias", "aws configure", "dotnet exec", "dotnet fsi", "dotnet script", "dotnet tool",
		"composer exec", "rails runner", "rails r", "rails console", "rails c", "swift repl", "crystal eval", "flask shell":
		return true
	case "git bisect":
		return names("run")
	case "git submodule":
		return names("foreach")
	case "git config":
		return !plainConfig(c)
	}
	// Others of git may be aliases, or programs of the user's.
	return sub != "" && (name == "npm" && !plainNPM(sub) || name == "git" && !plainGit(sub) && sub != "lfs" && sub != "subtree" && operandsOf(name, sub) == 1)
}

// endsByDashes reports whether the program takes every word behind -- for an
// operand. Of others it isn't known, or they read such words all the same.
func endsByDashes(name string) bool { return listed("git go sort rg fd fdfind", name) }

// container reports whether a program runs commands in containers. Only the
// subcommands named above don't.
func container(name string) bool {
	return slices.Contains([]string{"docker", "podman", "nerdctl", "buildah", "kubectl", "oc"}, name)
}

// subcommand is the first word behind the name if it is one.
func subcommand(c *command) string {
	switch {
	case len(c.argv) == 1:
		return ""
	case c.argv[1].whole && !c.argv[1].option():
		return c.argv[1].text
	case len(c.argv) > 2 || !c.argv[1].whole:
		c.spell(len(c.argv)) // its place isn't known
	}
	return ""
}

// spellOperands says that a pattern must spell out the first n words from at
// on, options not counted. Options between them can have values, so then it
// must spell out everything.
func spellOperands(c *command, at, n int) {
	for i := at; i < len(c.argv) && n > 0; i++ {
		if n--; c.argv[i].option() || !c.argv[i].whole {
			c.spell(len(c.argv))
			return
		}
		c.spell(i + 1)
	}
}

// operandsOf is how many words, the subcommand first, name what is run.
func operandsOf(name, sub string) int {
	switch name + " " + sub {
	case "go generate", "go bug", "openssl engine":
		return 1
	case "go run", "go tool", "npm run", "npm run-script", "npm exec", "npm x", "npm explore", "npm init", "npm create",
		"yarn run", "yarn exec", "yarn dlx", "pnpm run", "pnpm exec", "pnpm dlx", "cargo run", "cargo r", "uv run":
		return 2
	case "git bisect", "git submodule", "git hook", "uv tool":
		return 3
	case "ip netns", "ip vrf":
		return 4
	case "gh alias", "gh extension", "gh extensions", "gh ext", "glab alias", "aws configure", "dotnet run", "dotnet exec", "dotnet fsi", "dotnet script", "dotnet tool",
		"bazel run", "npm config", "npm c", "npm set", "npm edit", "git config", "git filter-branch", "git difftool", "git mergetool", "git send-email", "git credential",
		"git daemon", "git instaweb", "git gui", "git citool", "git maintenance", "git var":
		return 9
	}
	switch {
	case sub == "":
	case name == "npm" && !plainNPM(sub):
		return 2
	case name == "git" && !plainGit(sub), name == "cargo" && !plainCargo(sub), name == "yarn" && !plainYarn(sub), name == "pnpm" && !plainYarn(sub):
		return 1 // it may be an alias, a script, or a program of the user's
	}
	return 0
}

// check raises what a pattern must spell out, up to the last word of concern
// and its value. Words that may become an option must be spelled out too,
// which no pattern can do.
func (a caution) check(c *command, from int) {
	if a.runs+a.alters+a.words == "" {
		return
	}
	ended := false
	for i := from; i < len(c.argv); i++ {
		switch w := c.argv[i]; {
		case w.whole && w.text == "--":
			ended = ended || a.ends && dashesEnd(c.argv, i)
		case w.mayBeOption() && (!ended || a.words != "" && a.words != "ext::"):
			c.spell(len(c.argv))
		case !ended && a.among(w.text, a.runs), a.plugin(w.text):
			c.hide(min(len(c.argv), i+2), "%s %s runs another command", c.argv[0].text, w.text)
		case !ended && a.among(w.text, a.alters), a.begins(w.text):
			c.spell(min(len(c.argv), i+2))
			if fromStream(c.argv[i:]) || w.steered() || strings.Contains(w.text, "=") && strings.ContainsAny(w.text, "$`;|&! \n") || strings.HasPrefix(w.text, "ext::") {
				c.hide(min(len(c.argv), i+2), "%s %s can run other commands", c.argv[0].text, w.text)
			}
		}
	}
}

// dashesEnd reports whether the -- at i surely ends the options, and isn't the
// value of the word before.
func dashesEnd(argv []word, i int) bool {
	w := argv[i-1]
	if !w.option() {
		return w.whole || w.single && !w.mayBeOption()
	}
	return w.whole && (strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "=") ||
		listed("--oneline --stat --cached --staged --name-only --name-status --all --follow --no-color --no-patch --patch --quiet", w.text))
}

// plugin reports whether a word hands the linker or assembler a plugin.
func (a caution) plugin(text string) bool {
	return strings.Contains(a.words, "-Wl,@") && (strings.HasPrefix(text, "-Wl,") || strings.HasPrefix(text, "-Wa,")) &&
		(strings.Contains(text, "plugin") || strings.Contains(text, ",@") || strings.Contains(text, "-load"))
}

// fromStream reports whether the first word, an option, has the input or a
// device as its value.
func fromStream(argv []word) bool {
	value := func(w word) bool {
		return strings.HasSuffix(w.text, "-") || strings.Contains(w.text, "/dev/") || strings.Contains(w.text, "/proc/")
	}
	return len(argv[0].text) > 2 && value(argv[0]) || len(argv) > 1 && (value(argv[1]) || !argv[1].whole) || !argv[0].whole
}

func (a caution) begins(text string) bool {
	for _, w := range strings.Fields(a.words) {
		if part, any := strings.CutPrefix(w, "*"); any && strings.Contains(text, part) {
			return true
		}
		if strings.HasPrefix(text, w) || w == "=" && strings.Contains(text, "=") {
			return true
		}
	}
	return false
}

// among reports whether a word is, or holds, one of the options. Long ones
// may be shortened, letters may stand together.
func (a caution) among(text, list string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(text, "-"), "=")
	if name == "" || text[0] != '-' {
		return false
	}
	for _, o := range strings.Fields(list) {
		long, double := strings.CutPrefix(o, "--")
		switch {
		case a.single:
			if name == o[1:] {
				return true
			}
		case a.loose:
			if len(name) > 1 && strings.HasPrefix(long, name) {
				return true
			}
		case double:
			if strings.HasPrefix(text, "--") && strings.HasPrefix(long, name) {
				return true
			}
		case !strings.HasPrefix(text, "--") && strings.Contains(name, o[1:]):
			return true
		}
	}
	return false
}
