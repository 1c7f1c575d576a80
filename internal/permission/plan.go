package permission

import (
	"slices"
	"strings"
)

// planned holds the commands of a text against plan mode's list.
func (p *Policy) planned(text string) []finding {
	refuse := func(part, why string) []finding {
		return []finding{{do: Deny, by: byPlan, part: part, why: "plan mode is read-only, and " + why}}
	}
	s := read(p.at, text, p.cfg.POSIX)
	for i := range s.commands {
		switch c := &s.commands[i]; {
		case c.file != nil && (c.file.writes || c.file.network()):
			return refuse(c.src, "a redirection writes")
		case c.file == nil && !readOnly(c):
			return refuse(c.src, "the command isn't on the list of reading commands")
		}
	}
	if len(s.doubts) > 0 {
		return refuse(s.doubts[0].src, "what runs can't be known: "+s.doubts[0].why)
	}
	return nil
}

// readOnly reports whether a command is on plan mode's list: it reads and
// prints, whatever its words are, but for the options that are named here.
func readOnly(c *command) bool {
	if len(c.argv) == 0 || c.hidden != "" || slices.ContainsFunc(c.env, func(w word) bool { return !w.harmless() }) {
		return false
	}
	if c.way == through && c.file == nil {
		return len(c.inner) > 0 && !slices.ContainsFunc(c.inner, func(in command) bool { return in.file != nil || !readOnly(&in) })
	}
	name := c.argv[0].text
	switch name {
	case "git":
		return readOnlyGit(c)
	case "go":
		return readOnlyGo(c)
	case "find", "sort", "tree", "rg", "file":
		return readOnlyBut(c, name)
	case "date":
		return !slices.ContainsFunc(c.argv[1:], func(w word) bool { return !strings.HasPrefix(w.text, "+") && w.text != "-u" })
	case "uniq":
		return !slices.ContainsFunc(c.argv[1:], func(w word) bool { return !w.whole || !w.option() })
	case "command":
		return queries(c)
	case "awk", "sed": // their script is harmless, else the command would be hidden
		return true
	}
	return slices.Contains(strings.Fields(`ls cat head tail wc pwd cd echo printf true false : test [ stat du df whoami id
		uname nproc basename dirname realpath readlink grep egrep fgrep cut tr nl tac rev fold paste comm cmp diff
		md5sum sha1sum sha256sum sha512sum cksum which type jq column strings od hexdump seq ps uptime`), name)
}

// readOnlyBut allows commands without the options by which they write or run.
func readOnlyBut(c *command, name string) bool {
	var but caution
	switch name {
	case "find":
		but = caution{runs: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls", single: true}
	case "sort":
		but = caution{runs: "-o -T --output --compress-program --temporary-directory"}
	case "tree":
		but = caution{runs: "-o -R --output"}
	case "rg":
		but = caution{runs: "--pre --hostname-bin"}
	case "file":
		but = caution{runs: "-C -m --compile --magic-file"}
	}
	but.ends = endsByDashes(name)
	return but.free(c.argv, 1)
}

// free reports whether none of the words from one on is, or may become, an
// option of concern.
func (a caution) free(argv []word, from int) bool {
	for i := from; i < len(argv); i++ {
		w := argv[i]
		if w.whole && w.text == "--" && a.ends && dashesEnd(argv, i) {
			return true
		}
		if w.mayBeOption() || a.among(w.text, a.runs) {
			return false
		}
	}
	return true
}

func readOnlyGit(c *command) bool {
	probe := &command{argv: c.argv}
	sub, at := git(probe)
	if probe.need > 1 || probe.hidden != "" || sub == "" {
		return sub == "" && probe.need <= 1 && probe.hidden == ""
	}
	rest := c.argv[at+1:]
	if !(caution{runs: "-O --output --ext-diff --textconv --filters --open-files-in-pager --output-directory", ends: true}).free(c.argv, at+1) {
		return false
	}
	listing := func(flags string) bool {
		return !slices.ContainsFunc(rest, func(w word) bool { return !w.whole || !slices.Contains(strings.Fields(flags), w.text) })
	}
	switch sub {
	case "status", "log", "show", "diff", "blame", "annotate", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "grep",
		"shortlog", "cat-file", "merge-base", "show-ref", "for-each-ref", "name-rev", "count-objects", "check-ignore", "cherry":
		return true
	case "branch":
		return listing("-a -v -vv -r --all --list --remotes --verbose --show-current")
	case "tag":
		return listing("-l --list -n")
	case "remote":
		return listing("-v --verbose")
	case "stash", "worktree":
		return len(rest) > 0 && rest[0].whole && rest[0].text == "list" && len(rest) == 1
	}
	return false
}

func readOnlyGo(c *command) bool {
	if len(c.argv) < 2 {
		return false
	}
	switch c.argv[1].text {
	case "version":
		return len(c.argv) == 2
	case "env", "doc":
		return !slices.ContainsFunc(c.argv[2:], func(w word) bool {
			return w.mayBeOption() || w.option() && w.text != "-json" && w.text != "-all" && w.text != "-src"
		})
	}
	return false
}
