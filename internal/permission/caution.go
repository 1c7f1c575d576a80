package permission

import (
	"slices"
	"strings"
)

// interpreter takes the programs that run code from their words. A rule that
// allows one must spell out the script. It reports whether c is one.
func interpreter(c *command, name string) bool {
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
			runsFile(c, at)
			return true
		case name == "python" && w.text == "-m":
			c.spell(at + 2)
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
func runsFile(c *command, i int) {
	c.spell(i + 1)
	c.inner = []command{{src: c.src, env: c.env, argv: c.argv[i:], need: 1, own: 1}}
}

// quietOptions are the letters of an interpreter that take no value and run
// nothing. It isn't ok if the program isn't known as an interpreter.
func quietOptions(name string) (string, bool) {
	switch name {
	case "python", "pypy":
		return "uBEsSIOvq", true
	case "perl":
		return "wWtT", true
	case "ruby":
		return "wW", true
	case "node", "nodejs", "php", "lua", "luajit", "Rscript", "tclsh", "guile", "groovy", "elixir", "awk", "gawk", "mawk", "nawk", "sed", "gsed":
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

// setter takes the commands that set variables or change what a name means.
// Patterns must spell them out; a name that isn't known can hold a subscript
// that runs commands.
func setter(c *command, name string) bool {
	switch name {
	case "export", "declare", "typeset", "local", "readonly", "nameref", "unset", "read", "mapfile", "readarray",
		"getopts", "hash", "shopt", "set", "wait":
	case "let", "alias", "enable", "complete", "bind", "fc":
		c.opaque("%s can run commands by its words", name)
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
	for _, w := range c.argv[1:] {
		before, _, assigns := strings.Cut(w.text, "=")
		if !w.whole && !assigns || strings.ContainsAny(before, "[$`(") {
			c.opaque("%s can run commands by a subscript", name)
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

// runsOthers reports whether a program runs other commands, or code, in ways
// that aren't unwrapped here. Only a pattern without a star is about it.
func runsOthers(name string) bool {
	return slices.Contains(strings.Fields(`
		zsh ksh mksh fish csh tcsh pwsh powershell nu elvish xonsh
		su runuser pkexec chroot unshare nsenter setpriv capsh systemd-run machinectl firejail bwrap proot fakeroot
		flock taskset chrt numactl prlimit cgexec setarch linux strace ltrace perf valgrind gdb lldb rr
		script expect unbuffer rlwrap watch entr parallel at batch crontab xvfb-run dbus-run-session
		ssh mosh rsh rlogin telnet nc ncat netcat socat torify torsocks proxychains
		lxc vagrant
		npx bunx uvx pipx poetry pdm hatch bundle nix-shell nix direnv dotenv conda mamba
		deno bun tsx ts-node java jshell kotlin scala ghc ghci runghc erl iex julia R octave maxima gnuplot
		osascript irb ipython jupyter sbcl clisp racket clojure clj m dc ed ex vi vim nvim view vimdiff emacs emacsclient nano pico
		less more most lesspipe coreutils sqlite psql mysql mariadb ftp lftp gpg-connect-agent
		ld.so catchsegv faketime chpst s6-setuidgid gosu su-exec tini dumb-init`), name)
}

// caution lists the words of a program by which it runs other commands, and
// those by which it does something else than its name says.
type caution struct {
	runs   string // options between blanks: --long, -x as letter, -word with single
	alters string
	single bool // long options have one dash, like those of go
	words  string
}

// careful looks for words that a rule must spell out.
func careful(c *command, name string) {
	sub, at := "", 1
	switch name {
	case "git":
		sub, at = git(c)
	case "docker", "podman", "nerdctl", "buildah", "kubectl", "oc", "go", "npm", "yarn", "pnpm", "cargo", "uv", "hg", "ip":
		sub = subcommand(c)
	case "tar", "bsdtar", "gtar":
		if len(c.argv) > 1 && !c.argv[1].option() && strings.ContainsAny(c.argv[1].text, "IF") {
			c.opaque("tar %s can run another program", c.argv[1].text)
		}
	}
	spellOperands(c, at, operandsOf(name, sub))
	if container(name) && !slices.Contains(strings.Fields("ps images version info inspect logs stats top port diff history get describe explain api-resources cluster-info pull push tag rm rmi stop kill delete"), sub) {
		c.opaque("%s runs commands elsewhere", name)
	}
	for _, about := range []caution{cautionOf(name), cautionOf(name + " " + sub)} {
		about.check(c, at)
	}
}

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
	case "go generate", "go env":
		return 1
	case "go run", "go tool", "npm run", "npm run-script", "npm exec", "npm x", "npm explore", "npm init", "npm create",
		"yarn run", "yarn exec", "yarn dlx", "pnpm run", "pnpm exec", "pnpm dlx", "cargo run", "uv run":
		return 2
	case "git bisect", "git submodule", "git hook", "uv tool":
		return 3
	case "ip netns", "ip vrf":
		return 4
	case "git config", "git filter-branch", "git difftool", "git mergetool", "git send-email", "git credential",
		"git daemon", "git instaweb", "git gui", "git citool", "git maintenance":
		return 9
	}
	if name == "git" && sub != "" && !plainGit(sub) {
		return 1 // it may be an alias or a program of the user's
	}
	return 0
}

func cautionOf(program string) caution {
	switch program {
	case "go":
		return caution{runs: "-exec -toolexec -vettool", alters: "-overlay -modfile -ldflags -gccgoflags -C", single: true}
	case "git grep":
		return caution{runs: "-O --open-files-in-pager"}
	case "git rebase":
		return caution{runs: "-x --exec"}
	case "git clone":
		return caution{runs: "-u --upload-pack -c --config --template"}
	case "git fetch", "git pull", "git push", "git ls-remote", "git archive", "git fetch-pack", "git send-pack":
		return caution{runs: "--upload-pack --receive-pack --exec", words: "ext::"}
	case "git diff", "git log", "git show", "git format-patch":
		return caution{runs: "--ext-diff", alters: "--output --output-directory"}
	case "git init", "git worktree":
		return caution{runs: "--template"}
	case "sort":
		return caution{runs: "--compress-program"}
	case "tar", "bsdtar", "gtar":
		return caution{runs: "-I -F --to-command --use-compress-program --checkpoint-action --rsh-command --info-script --new-volume-script --rmt-command"}
	case "rsync":
		return caution{runs: "-e --rsh --rsync-path"}
	case "scp", "sftp":
		return caution{runs: "-S -o -F -D"}
	case "rg":
		return caution{runs: "--pre --hostname-bin"}
	case "fd", "fdfind":
		return caution{runs: "-x -X --exec --exec-batch"}
	case "man":
		return caution{runs: "-P -H --pager --html"}
	case "bat", "batcat", "ag", "ack", "delta":
		return caution{runs: "--pager"}
	case "curl":
		return caution{alters: "-K --config"}
	case "wget":
		return caution{runs: "--use-askpass", alters: "-e --execute --config"}
	case "zip":
		return caution{runs: "-T --unzip-command"}
	case "split":
		return caution{runs: "--filter"}
	case "make", "gmake":
		return caution{runs: "-E --eval", alters: "-f -C -I --file --makefile --directory --include-dir", words: "="}
	case "cmake":
		return caution{runs: "-P -E"}
	case "ninja":
		return caution{alters: "-f -C"}
	case "cargo":
		return caution{runs: "--config"}
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp":
		return caution{runs: "-wrapper -specs", single: true, words: "@ -fplugin -B"}
	case "hg":
		return caution{runs: "--config"}
	case "svn":
		return caution{runs: "--config-option --editor-cmd --diff-cmd --diff3-cmd"}
	case "tcpdump":
		return caution{runs: "-z"}
	case "nmap":
		return caution{runs: "--script"}
	case "apt", "apt-get", "aptitude":
		return caution{runs: "-o -c --option --config-file"}
	case "dpkg":
		return caution{runs: "--pre-invoke --post-invoke"}
	case "ip":
		return caution{alters: "-b --batch"}
	case "pandoc":
		return caution{runs: "-F -L --filter --lua-filter --pdf-engine"}
	case "yt-dlp":
		return caution{runs: "--exec"}
	case "latex", "pdflatex", "xelatex", "lualatex":
		return caution{runs: "-shell-escape -enable-write", single: true}
	}
	return caution{}
}

// check raises what a pattern must spell out, up to the last word of concern
// and its value. Words that may become an option must be spelled out too,
// which no pattern can do.
func (a caution) check(c *command, from int) {
	if a.runs+a.alters+a.words == "" {
		return
	}
	ended := false // by --: what follows are no options
	for i := from; i < len(c.argv); i++ {
		switch w := c.argv[i]; {
		case w.whole && w.text == "--":
			ended = true
		case w.mayBeOption() && (!ended || a.words != ""):
			c.spell(len(c.argv))
		case !ended && a.among(w.text, a.runs):
			c.hide(min(len(c.argv), i+2), "%s %s runs another command", c.argv[0].text, w.text)
		case !ended && a.among(w.text, a.alters), a.begins(w.text):
			c.spell(min(len(c.argv), i+2))
		}
	}
}

func (a caution) begins(text string) bool {
	for _, w := range strings.Fields(a.words) {
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
