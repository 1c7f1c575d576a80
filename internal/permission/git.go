package permission

import (
	"slices"
	"strings"
)

// git reads git's own options: the subcommand and its place. Options that set
// configuration run other programs (pager, editor, hooks, aliases); those that
// choose another repository bring its configuration along.
func git(c *command) (sub string, at int) {
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		name, _, given := strings.Cut(w.text, "=")
		switch {
		case !w.whole && (w.mayBeOption() || !w.option()):
			c.spell(len(c.argv))
			return "", i
		case !w.option():
			return w.text, i
		case slices.Contains(strings.Fields("-P --no-pager --no-optional-locks --version --help -h -v --literal-pathspecs --no-replace-objects"), w.text):
		case name == "--exec-path" && !given:
		case strings.HasPrefix(w.text, "-c"), name == "--config-env", name == "--exec-path":
			c.hide(min(len(c.argv), i+2), "git %s can make git run other commands", w.text)
			if w.text == "-c" || name == "--config-env" && !given {
				i++
			}
		case slices.Contains(strings.Fields("-C --git-dir --work-tree --namespace --super-prefix --attr-source"), name):
			c.spell(min(len(c.argv), i+2))
			if !given {
				i++
			}
		default:
			c.spell(min(len(c.argv), i+1))
		}
	}
	return "", len(c.argv)
}

// plainGit reports whether a subcommand is git's own and runs nothing but
// git, hooks and filters apart.
func plainGit(sub string) bool {
	return slices.Contains(strings.Fields(`add am annotate apply archive bisect blame branch bundle cat-file check-attr
		check-ignore checkout cherry cherry-pick clean clone commit commit-tree count-objects describe diff diff-files
		diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object init log ls-files ls-remote ls-tree
		merge merge-base merge-tree mv name-rev notes pack-refs prune pull push range-diff rebase reflog remote repack
		replace reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status
		submodule switch symbolic-ref tag update-index update-ref verify-commit verify-tag version whatchanged worktree
		write-tree check-mailmap check-ref-format column commit-graph fast-export fast-import fetch-pack fmt-merge-msg
		get-tar-commit-id help index-pack init-db mailinfo mailsplit merge-file mktag mktree multi-pack-index pack-objects
		pack-redundant patch-id prune-packed read-tree request-pull rerere send-pack show-index stage stripspace
		unpack-file unpack-objects update-server-info verify-pack`), sub)
}
