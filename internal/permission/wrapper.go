package permission

import (
	"path"
	"slices"
	"strings"
)

// program is the name under which a command is known here: the last part of
// its path, without a version: /usr/bin/python3.12 is python.
func (at place) program(text string) string {
	name := path.Base(text)
	if at.fold {
		name = strings.ToLower(name)
	}
	name = strings.TrimSuffix(variantOf(name), "-static")
	if i := strings.IndexAny(name, "0123456789"); i > 0 { // perl5.36-x86_64-linux-gnu
		if _, ok := quietOptions(name[:i]); ok {
			return name[:i]
		}
	}
	if short := strings.TrimRight(name, "0123456789.-"); short != "" {
		name = short
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 && listed("gcc g++ c++ cpp clang clang++ ld ar nm ranlib objdump objcopy strip gfortran", name[i+1:]) {
		return name[i+1:] // aarch64-linux-gnu-gcc
	}
	return name
}

// study finds out what a command runs besides itself.
func (r *reader) study(c *command) {
	c.need, c.own = 1, 1
	c.studySettings()
	if len(c.argv) == 0 {
		return
	}
	if !c.argv[0].whole {
		c.opaque("which command runs is only known when it runs")
		return
	}
	if c.argv[0].option() { // behind the keyword time: what follows is the command
		c.opaque("a command's name doesn't begin with a dash")
		return
	}
	if r.elsewhere(c.argv[0].text) {
		c.opaque("the command's path leads to another program")
		return
	}
	name := r.program(c.argv[0].text)
	switch name {
	case "cd", "pushd", "popd", "chdir", "ln", "mv":
		r.outcome.moves = true
	}
	if r.wrapper(c, name) {
		if c.argv[0].text != name {
			c.way = alone // ./env can be any program
		}
		return
	}
	if r.interpreter(c, name) || setter(c, name) {
		return
	}
	if strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "ld64.") || runsOthers(name) || runsOthers(path.Base(c.argv[0].text)) {
		c.opaque("%s runs other commands or code", name)
		return
	}
	if strings.HasPrefix(name, "git-") {
		c.hide(1, "%s may run other commands", name)
	}
	careful(c, name)
}

// studySettings looks at the assignments in front of a command.
func (c *command) studySettings() {
	for _, w := range c.env {
		if w.steered() {
			name, _, _ := strings.Cut(w.text, "=")
			c.hide(0, "%s can make programs run its value", name)
		}
	}
}

// elsewhere reports whether the path of a command doesn't say which program it
// is: an open file or the running shell itself, or a link in the workspace to a
// program outside that has another name.
func (at place) elsewhere(name string) bool {
	if !strings.Contains(name, "/") {
		return false
	}
	names, known := at.names(name)
	for _, n := range names {
		if strings.HasPrefix(n, "/proc/") || strings.HasPrefix(n, "/dev/") || !outside(names[0]) && outside(n) && at.program(n) != at.program(name) {
			return true
		}
	}
	return !known
}

// options is the part of a command's options that is understood: letters and
// long names, without and with a value behind them.
type options struct {
	flags, values         string
	longFlags, longValues []string
}

// operand is the place of the first word in argv that is no option. It isn't
// ok if an option isn't understood.
func (o options) operand(argv []word) (int, bool) {
	i, _, ok := o.read(argv)
	return i, ok
}

// given is an option as it was read: a letter or a long name, and its value.
type given struct{ name, value string }

// read takes the options in front of argv's operands: the place of the first
// operand, and the options in their order. It isn't ok if one isn't
// understood.
func (o options) read(argv []word) (operand int, all []given, ok bool) {
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		switch {
		case w.whole && w.text == "--":
			return i + 1, all, true
		case !w.option() || w.text == "-":
			return i, all, true
		case !w.whole:
			return 0, nil, false
		}
		some, takes, ok := o.word(w.text)
		if takes {
			if i++; !ok || i >= len(argv) || !argv[i].whole {
				return 0, nil, false
			}
			some[len(some)-1].value = argv[i].text
		}
		if !ok {
			return 0, nil, false
		}
		all = append(all, some...)
	}
	return len(argv), all, true
}

// word reads the options in one word, whether the value of the last one is
// the next word, and whether all are known.
func (o options) word(text string) (all []given, takes, ok bool) {
	if long, isLong := strings.CutPrefix(text, "--"); isLong {
		name, value, has := strings.Cut(long, "=")
		if slices.Contains(o.longValues, name) {
			return []given{{name, value}}, !has, true
		}
		return []given{{name, ""}}, false, slices.Contains(o.longFlags, name) && !has
	}
	for i := 1; i < len(text); i++ {
		switch letter := text[i : i+1]; {
		case strings.Contains(o.values, letter):
			return append(all, given{letter, text[i+1:]}), i == len(text)-1, true
		case !strings.Contains(o.flags, letter):
			return nil, false, false
		default:
			all = append(all, given{letter, ""})
		}
	}
	return all, false, true
}

// wrapper takes the commands that run the command in their words. It reports
// whether c is one.
func (r *reader) wrapper(c *command, name string) bool {
	switch name {
	case "command":
		if queries(c) {
			return true
		}
		r.tail(c, options{flags: "p"}, through)
	case "builtin", "nohup", "chronic":
		r.tail(c, options{}, through)
	case "exec":
		r.tail(c, options{flags: "cl"}, through)
	case "setsid":
		r.tail(c, options{flags: "cfw", longFlags: []string{"ctty", "fork", "wait"}}, through)
	case "nice":
		r.tail(c, options{flags: "0123456789", values: "n", longValues: []string{"adjustment"}}, through)
	case "ionice":
		r.tail(c, options{flags: "t", values: "cn", longFlags: []string{"ignore"}, longValues: []string{"class", "classdata"}}, through)
	case "stdbuf":
		r.tail(c, options{values: "ioe", longValues: []string{"input", "output", "error"}}, through)
	case "time":
		r.tail(c, options{flags: "pv", longFlags: []string{"portability", "verbose"}}, through)
	case "sudo":
		r.tail(c, options{flags: "nEHSPkb", values: "ug", longFlags: []string{"non-interactive", "preserve-env", "set-home"}, longValues: []string{"user", "group"}}, both)
	case "doas":
		r.tail(c, options{flags: "n", values: "u"}, both)
	case "busybox", "toybox":
		r.tail(c, options{}, alone)
	case "timeout":
		r.timeout(c)
	case "env":
		r.env(c)
	case "xargs":
		r.xargs(c)
	case "find", "gfind":
		r.find(c)
	case "eval":
		r.eval(c)
	case "trap":
		r.trap(c)
	case "sh", "bash", "dash", "ash", "rbash":
		r.shell(c, name != "bash")
	case "source", ".":
		r.sourced(c)
	default:
		return false
	}
	return true
}

// queries reports whether "command" is only asked where a command is.
func queries(c *command) bool {
	return len(c.argv) > 1 && c.argv[1].whole && (c.argv[1].text == "-v" || c.argv[1].text == "-V")
}

// tail takes the words from the first operand on as a command.
func (r *reader) tail(c *command, o options, w way) {
	i, ok := o.operand(c.argv)
	if !ok || w == both && i < len(c.argv) && strings.Contains(c.argv[i].text, "=") {
		c.opaque("%s has options that aren't understood here", c.argv[0].text)
		return
	}
	r.runs(c, i, w)
}

// runs says that c runs its words from i on as a command.
func (r *reader) runs(c *command, i int, w way) {
	if i >= len(c.argv) {
		return // it runs nothing
	}
	c.way = w
	in := command{src: c.src, env: c.env, argv: c.argv[i:]}
	r.studyInner(&in)
	c.inner = []command{in}
	c.need = i + in.need
}

// studyInner is study with a bound on wrappers within wrappers.
func (r *reader) studyInner(c *command) {
	if r.depth++; r.depth > maxDepth {
		c.opaque("there are more than %d wrappers around it", maxDepth)
	} else {
		r.study(c)
	}
	r.depth--
}

func (r *reader) timeout(c *command) {
	o := options{flags: "fv", values: "ks", longFlags: []string{"foreground", "preserve-status", "verbose"}, longValues: []string{"kill-after", "signal"}}
	i, ok := o.operand(c.argv)
	if !ok || i < len(c.argv) && !c.argv[i].whole {
		c.opaque("timeout has options that aren't understood here")
		return
	}
	r.runs(c, i+1, through)
}

// env runs the command behind its assignments, which count like those in
// front of a command.
func (r *reader) env(c *command) {
	o := options{flags: "i0v", values: "u", longFlags: []string{"ignore-environment", "null", "debug"}, longValues: []string{"unset"}}
	i, ok := o.operand(c.argv)
	in := command{src: c.src, env: slices.Clone(c.env)}
	if ok && i < len(c.argv) && c.argv[i].text == "-" {
		i++
	}
	for _, w := range c.argv[1:max(1, min(i, len(c.argv)))] {
		if w.text != "--" {
			in.env = append(in.env, w) // -i and -u change it too
		}
	}
	for ; ok && i < len(c.argv) && strings.Contains(c.argv[i].text, "="); i++ {
		ok = c.argv[i].whole
		in.env = append(in.env, c.argv[i])
	}
	if !ok {
		c.opaque("env has options or values that aren't understood here")
		return
	}
	if i >= len(c.argv) {
		return // it prints the environment
	}
	in.argv = c.argv[i:]
	r.studyInner(&in)
	c.way, c.inner, c.need = through, []command{in}, i+in.need
}

// xargs runs a command with words from its input, which can be any.
func (r *reader) xargs(c *command) {
	o := options{flags: "0rtx", values: "nLPdsIE", longFlags: []string{"null", "no-run-if-empty", "verbose", "exit"},
		longValues: []string{"max-args", "max-procs", "delimiter", "max-chars"}}
	i, all, ok := o.read(c.argv)
	mark, marks := "", 0
	for _, g := range all {
		if g.name == "I" {
			mark, marks = g.value, marks+1
		}
	}
	if !ok || marks > 1 || marks == 1 && mark == "" {
		c.opaque("xargs has options that aren't understood here")
		return
	}
	if i >= len(c.argv) {
		return // it prints its input
	}
	in := command{src: c.src, env: c.env}
	for _, w := range c.argv[i:] {
		in.argv = append(in.argv, w.cut(mark))
	}
	in.argv = append(in.argv, word{full: unknown})
	r.studyInner(&in)
	c.way, c.inner, c.need = through, []command{in}, i+in.need
}

// find runs what stands behind -exec and its kin; it is judged itself too.
func (r *reader) find(c *command) {
	for i := 1; i < len(c.argv); i++ {
		switch w := c.argv[i]; {
		case w.mayBeOption():
			c.spell(len(c.argv))
		case w.whole && (w.text == "-exec" || w.text == "-execdir" || w.text == "-ok" || w.text == "-okdir"):
			end := i + 1
			for end < len(c.argv) && c.argv[end].text != ";" && !(c.argv[end].text == "+" && c.argv[end-1].text == "{}") {
				end++
			}
			if end == i+1 {
				c.opaque("find %s has no command", w.text)
				return
			}
			r.outcome.moves = r.outcome.moves || strings.HasSuffix(w.text, "dir")
			in := command{src: c.src, env: c.env}
			for _, a := range c.argv[i+1 : end] {
				in.argv = append(in.argv, a.cut("{}"))
			}
			r.studyInner(&in)
			c.inner = append(c.inner, in)
			c.way, c.need = both, len(c.argv)
			i = end
		}
	}
}

// eval reads its words, joined, as a shell text.
func (r *reader) eval(c *command) {
	var texts []string
	for i, w := range c.argv[1:] {
		if !w.whole {
			c.opaque("eval runs a text that is only known when it runs")
			return
		}
		if i > 0 || w.text != "--" {
			texts = append(texts, w.text)
		}
	}
	c.way, c.need = through, len(c.argv)
	c.runsText(r.within(strings.Join(texts, " "), r.posix))
}

// runsText says that c runs the commands of a text, with what stands in front
// of c in their environment.
func (c *command) runsText(commands []command) {
	for i := range commands {
		commands[i].env = slices.Concat(c.env, commands[i].env)
	}
	c.inner = commands
}

// trap runs its first word when a signal comes.
func (r *reader) trap(c *command) {
	i := 1
	if i < len(c.argv) && c.argv[i].text == "--" {
		i++
	}
	switch {
	case len(c.argv) <= i+1: // it lists, or resets one signal
		if i < len(c.argv) && !c.argv[i].whole {
			c.opaque("trap has words that are only known when it runs")
		}
	case !c.argv[i].whole || strings.HasPrefix(c.argv[i].text, "-") && len(c.argv[i].text) > 1:
		c.opaque("trap runs a text that is only known when it runs")
	case c.argv[i].text != "-" && c.argv[i].text != "":
		c.way, c.need = through, i+1
		c.runsText(r.within(c.argv[i].text, r.posix))
	}
}

// shell takes sh and bash: with -c a text, else a file or the input.
func (r *reader) shell(c *command, posix bool) {
	o := options{flags: "ceuxvlf", longFlags: []string{"login", "norc", "noprofile"}}
	argv, text := shellOptions(c.argv), false
	i, ok := o.operand(argv)
	if !ok {
		c.opaque("%s has options that aren't understood here", c.argv[0].text)
		return
	}
	for _, w := range argv[1:min(i, len(argv))] {
		text = text || !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c")
	}
	i += len(c.argv) - len(argv)
	switch {
	case i >= len(c.argv):
		c.opaque("%s runs what comes from its input", c.argv[0].text)
	case strings.HasPrefix(c.argv[i].text, "+"), c.argv[i].text == "-":
		c.opaque("%s has options that aren't understood here", c.argv[0].text)
	case !c.argv[i].whole:
		c.opaque("%s runs a text that is only known when it runs", c.argv[0].text)
	case text:
		c.way, c.need = through, i+1
		c.runsText(r.within(c.argv[i].text, posix || r.posix))
	default:
		r.runsFile(c, i)
	}
}

// shellOptions is argv without "-o NAME" pairs in front that only make a shell
// stricter.
func shellOptions(argv []word) []word {
	out := argv
	for len(out) > 2 && out[1].whole && (out[1].text == "-o" || out[1].text == "-eo" || out[1].text == "-euo") {
		switch out[2].text {
		case "pipefail", "errexit", "nounset":
			out = append([]word{out[0]}, out[3:]...)
			continue
		}
		break
	}
	return out
}

func (r *reader) sourced(c *command) {
	r.outcome.moves = true
	if len(c.argv) < 2 || !c.argv[1].whole || c.argv[1].option() {
		c.opaque("%s runs a file that is only known when it runs", c.argv[0].text)
		return
	}
	r.runsFile(c, 1)
}
