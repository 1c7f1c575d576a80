// Package permission decides whether a tool call may run: allow, ask, deny. It
// is pure and asks nobody; who carries out an ask, remembers the answer and
// binds it to the arguments is the caller's business.
//
// # Rules
//
// A rule is {tool, match, do}. A rule without a pattern (or with * or **) is
// about every call of its tool. What a pattern is held against:
//
//	bash                          the simple commands of the text
//	read, write, edit, show_file  the path, relative to the workspace
//	connector                     SERVER/TOOL
//	skill                         the name
//	other tools                   take no pattern
//
// Path patterns: * is any characters within one part of the path, ** is any
// number of parts; dir/** and dir/ are also about dir. A path in the workspace
// is cleaned and made relative, others stay absolute and match only absolute
// patterns. Denying and asking rules match by any name of the file (as given,
// symlinks followed with and without taking out ".." first), allowing ones by
// all of them; the names of a file that doesn't exist follow the links of its
// folders. Where a link leads can't always be told: then denying and asking
// rules may match, and allowing ones don't. Denying and asking patterns are
// also about what their own beginning leads to, if that is a link.
//
// # Decision
//
// The first row that holds for a call, or for a part of a shell text, decides:
//
//	1  the path, or a word of the command, leads into a closed folder    deny
//	2  a deny rule matches                                               deny
//	3  what runs can't be seen, and the text names a denied command, or
//	   holds what looks like a redirection of a denied file              deny
//	4  plan mode, and the call isn't known to only read                  deny
//	5  an ask rule matches                                               ask
//	6  a deny or ask rule may match, by an expansion, by a path that
//	   can't be told, or because what runs can't be seen                 ask
//	7  an allow rule matches                                             allow
//	8  the default of the tool
//
// Of the parts of a text the strictest verdict counts: all must be allowed.
// At last --ask=always turns the allow of a call with effects into ask, and
// --ask=never turns every ask into deny. So strictness wins among rules, not
// their order, length or place; an allow rule only beats an asking default;
// plan mode only takes away.
//
// Defaults: read, write, edit and the harness's own tools: allow (the file
// tools keep to the workspace themselves). bash: allow in the sandbox, else
// ask; looking after a job: allow. connector: ask once for each server and
// tool (Verdict.Once, Grant); listing: allow. A tool that isn't known: ask.
// Arguments that can't be read: deny. Calls with effects are write, edit, bash
// but for jobs, a connector's tool, workflow but for list, status, submit and
// update, and tools that aren't known.
//
// # Shell texts
//
// The text is parsed as bash. Judged is every simple command in it: in
// pipelines, lists, lines, subshells, groups, conditions, loops, functions,
// command and process substitutions, here-documents, assignments, tests. A
// command is its words after quotes are removed: g""it, g\it, $'\x67it' are
// git. A word with an expansion is known up to there.
//
// A pattern is one simple command: words between blanks, quoted as in a
// shell. A star without quotes is any characters of its word. A star at the
// end of the last word also stands for all further words; alone, as in
// "ls *", for none as well. So "git status*" matches git status and git status
// -s, and "ls *" matches ls. Words with expansions match only such a star, or
// what stands before it.
//
// Allowing patterns are held narrowly:
//
//   - The command's name must be written in full and be the same, folder
//     included.
//   - Assignments in front (PATH=…, LD_PRELOAD=…, GIT_…=…) must be in the
//     pattern, except LANG, LC_*, TZ, NO_COLOR, FORCE_COLOR, CLICOLOR, COLUMNS,
//     LINES, CI with plain values. Assignments alone, export and their kin must
//     be spelled out.
//   - Redirections that open a file for writing are parts of their own: they
//     need a rule that allows write for the path, or bash as a whole. Free are
//     /dev/null, the standard streams, and reading a file that is known. A name
//     in braces before one ({NAME}<file) sets a variable, which is a doubt.
//   - A loop's variable must be one that isn't in the environment: no capitals,
//     no https_proxy, no npm_….
//   - A command that runs others must be spelled out up to what it runs (see
//     below); a star doesn't cover it.
//
// Denying and asking patterns are held widely: the name is compared without its
// folder, options between the pattern's words are passed over, and they are
// also held against what wrappers run, and against scripts given to
// interpreters.
//
// Commands that run others:
//
//	command builtin exec nohup chronic setsid     unwrapped: allowed if what they
//	nice ionice stdbuf time timeout env xargs     run is allowed; other options
//	sh|bash -c TEXT, eval TEXT, trap TEXT SIGNAL  than the known ones hide it
//	find -exec, sudo, doas                        both they and what they run must
//	                                              be allowed
//	busybox APPLET; python FILE, node FILE, …;    to be spelled out: the applet,
//	sh FILE, source FILE; npm run NAME, go run;   the file, the name, the option
//	git -c, git -C, go test -exec, tar -I, …      with its value
//	python -c, perl -e, ssh, docker run, vim,     hidden: a pattern must be the
//	parallel, less, zsh -c, …                     whole command, without a star
//	awk, sed                                      free if the script only selects
//	                                              and prints, else spelled out
//
// Options of concern are looked for in all words: behind "--" too, unless the
// program takes every word there for an operand (git, go, sort, rg, fd) and the
// word before "--" surely isn't an option that takes it as its value.
//
// What runs can't be seen (rows 3 and 6; rules for write and read count as
// rules with a pattern here) if the command's name has an expansion, if a
// command is hidden, if a shell or interpreter reads its text from its input,
// /dev or /proc, if a variable is set that programs run (textVariables and the
// like), if a setting of the shell could run something (declare -i, shopt,
// alias), if the command's path leads to a program of another name, if the text
// isn't valid, is longer than 64 KiB, isn't UTF-8, holds control or invisible
// characters, or if it holds what shells read differently from this parser, or
// from each other: "!" (history), arithmetic on variables, indirect and
// transforming parameter expansions or such with quotes in them, regular
// expressions in [[ ]], backquotes with quotes in them, lines continued within a
// word, extended globs, here-documents with an unclear end, and in a
// substitution comments, case, and here-documents with quotes. Patterns don't
// allow it; rules for all of bash and the sandbox do if no rule with a pattern
// denies or asks.
//
// A closed folder is seen in any word, with ~, $HOME, $PWD and $GAMMA_HOME put
// in. This, like every rule about text, is no fence: a program that is allowed
// can do what it likes. The sandbox is the fence.
//
// # Failure
//
// New and ParseFlag return errors that name the rule. Judge never fails.
package permission
