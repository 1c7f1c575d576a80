package permission

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	mutations = flag.Int("mutations", 6000, "texts that TestE47_X04_RealShell makes")
	seed      = flag.Uint64("seed", 4, "seed of TestE47_X04_RealShell")
)

// stubs makes a folder with the programs that the texts name. The program
// "evil" leaves a file.
func stubs(t *testing.T, shell string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"ls", "git", "go", "cat", "evil"} {
		body := "#!" + shell + "\nexit 0\n"
		if name == "evil" {
			body = "#!" + shell + "\n: >\"$MARK\"\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "env", "timeout", "nice", "nohup", "xargs"} {
		if at, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(at, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// A text that is allowed never runs another command when a shell reads it.
// The texts are made at random, and name "evil" where it isn't run.
func TestE47_X04_RealShell(t *testing.T) {
	for _, shell := range []string{"bash", "sh"} {
		t.Run(shell, func(t *testing.T) {
			p := newPolicy(t, Config{POSIX: shell == "sh"}, "allow bash(git status*)", "allow bash(go test *)", "allow bash(ls *)", "allow bash(cat *)")
			realShell(t, p, shell, *mutations/2, "mark")
		})
	}
}

// What a rule denies never runs, or is written to by a redirection, in a text
// that is allowed, where everything else may run.
func TestE47_X04_RealShellDenied(t *testing.T) {
	for _, shell := range []string{"bash", "sh"} {
		t.Run(shell, func(t *testing.T) {
			realShell(t, newPolicy(t, Config{Sandboxed: true, POSIX: shell == "sh"}, "deny bash(evil *)"), shell, *mutations/2, "mark")
			realShell(t, newPolicy(t, Config{Sandboxed: true, POSIX: shell == "sh"}, "deny write(evil)"), shell, *mutations/4, "evil")
		})
	}
}

func realShell(t *testing.T, p *Policy, shell string, rounds int, unwanted string) {
	at, err := exec.LookPath(shell)
	if err != nil {
		t.Fatalf("this test needs %s: %v", shell, err)
	}
	dir := stubs(t, at)
	g := generator{rand.New(rand.NewPCG(47, *seed))}
	seen := map[string]bool{}
	for range rounds {
		text := g.text(3)
		if g.IntN(3) == 0 {
			text = seeds()[g.IntN(len(seeds()))]
		}
		for range g.IntN(4) {
			text = g.mutate(text)
		}
		if seen[text] || !strings.Contains(text, "evil") || p.command(t, text).Do != Allow {
			continue
		}
		seen[text] = true
		mark := filepath.Join(t.TempDir(), "mark")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		cmd := exec.CommandContext(ctx, at, "-c", text)
		cmd.Dir, cmd.Env = filepath.Dir(mark), []string{"PATH=" + dir, "MARK=" + mark}
		_ = cmd.Run() // only what it runs counts
		cancel()
		if _, err := os.Stat(filepath.Join(filepath.Dir(mark), unwanted)); err == nil {
			t.Errorf("%s makes the file %s: %q", shell, unwanted, text)
		}
	}
	if t.Logf("%d allowed texts were run", len(seen)); len(seen) < rounds/50 {
		t.Errorf("only %d texts of %d were allowed and run: the test shows little", len(seen), rounds)
	}
}

func seeds() []string {
	return []string{
		"ls 'evil'", "ls \"evil\"", "ls ';evil'", "ls \"&&evil\"", "ls # evil", "ls '$(evil)'", "ls '`evil`'", "ls \"\\$(evil)\"", "ls \"\\`evil\\`\"", "git status evil", "ls\n# $(evil)\nls",
		"cat <<'E'\nevil\nE\nls", "cat <<'E'\n$(evil)\nE\n", "cat <<E\nevil\nE\nls", "cat <<E\n\\$(evil)\nE\n", "cat <<-E\n\tevil\n\tE\nls", "cat <<E; ls\nevil; evil\nE\n", "cat <<A <<B\nevil\nA\nevil\nB\nls", "cat <<\"E\"\n`evil`\nE\n",
		"ls $(ls 'evil' # evil\n)", "ls \"$(ls \"evil;\" 'evil')\"", "ls `ls evil`", "ls \"`ls evil`\"", "ls $'\\';evil'", "ls $'a\\'b' ';evil;'", "ls ${x:-evil}", "ls \"${x:-evil;}\"", "ls ${x#';evil'}",
		"eval 'ls evil'", "eval \"ls ';evil'\"", "sh -c 'ls evil'", "sh -c 'ls \";evil\"'", "bash -c \"ls 'evil;'\"", "env ls ';evil'", "nice ls evil", "timeout 5 ls 'evil'", "ls evil | xargs ls", "command ls \"evil\"", "trap 'ls \"evil;\"' EXIT",
		"case evil in evil) ls;; esac", "case x in 'evil)') ls;; esac", "for x in evil 'evil;'; do ls \"$x\"; done", "if ls ';evil'; then ls evil; fi", "f() { ls 'evil'; }; ls", "[[ evil == ';evil' ]] && ls", "x() { ls; }; ls evil", "ls {evil,\"evil\"}", "ls <<<'evil'", "ls <<<\"evil;evil\"",
		"ls evil\\;evil", "ls \\\n evil", "ls a\\ \\;\\ evil", "ls \\'evil\\'", "! ls evil", "{ ls evil; }", "(ls ';evil')", "ls 2>&1 >/dev/null evil", "time ls evil", "ls <(ls evil) evil", "ls =evil =(evil)", "ls @evil %evil", "ls ~evil ~/evil", "ls [evil] ?(evil)",
	}
}

// generator makes shell texts that name "evil" as data.
type generator struct{ *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// text is a list of commands.
func (g generator) text(depth int) string {
	out := g.command(depth)
	for g.IntN(3) == 0 {
		out += g.pick(";", "\n", " && ", "|", " || ", "; ") + g.command(depth)
	}
	return out
}

func (g generator) command(depth int) string {
	out := g.pick("ls", "ls", "git status", "cat", "env ls", "nice ls")
	if depth > 0 && g.IntN(8) == 0 {
		return g.pick("eval ", "sh -c ", "bash -c ") + g.quoted(g.text(depth-1))
	}
	if depth > 0 && g.IntN(10) == 0 {
		in := g.text(depth - 1)
		return g.pick("("+in+")", "{ "+in+"; }", "if "+in+"; then ls; fi", "for x in evil; do "+in+"; done", "case evil in evil) "+in+";; esac", "! "+out, "f() { "+in+"; }")
	}
	for range g.IntN(3) {
		out += " " + g.word(depth)
	}
	if g.IntN(6) == 0 {
		end := g.pick("E", "E", "E F", "'")
		body := ""
		for range g.IntN(3) {
			body += g.pick("evil\n", g.data()+"\n", "\tE\n", " E\n", "E \n", "\\\n", g.word(depth)+"\n", "$x\\\n")
		}
		return out + " <<" + g.pick("", "-") + g.pick(end, "'"+end+"'", "\""+end+"\"", "\\"+end) + g.pick("", "; ls", " # evil", "| ls") + "\n" + body + end + "\nls"
	}
	return out + g.pick("", "", "", " # evil "+g.data(), " 2>&1", " >/dev/null")
}

// data is a piece of text that would run evil if a shell didn't take it for
// data.
func (g generator) data() string {
	return g.pick("evil", ";evil;", "\nevil\n", "$(evil)", "`evil`", "';evil;'", "\";evil;\"", ")evil", "\nE\nevil\n", "}evil", "\\", "#", "'", "\"", ";; evil", "&& evil", "$\\\n(evil)", "`", "$(", "\\'", "\\`", "\\\\", ");evil;(", "`;evil;`", "a")
}

func (g generator) quoted(s string) string {
	if g.IntN(3) == 0 {
		return "\"" + strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "$", "\\$", "`", "\\`").Replace(s) + "\""
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (g generator) word(depth int) string {
	if depth == 0 {
		return g.pick("evil", "a", g.quoted(g.data()))
	}
	switch g.IntN(9) {
	case 0, 1:
		return g.quoted(g.data() + g.data())
	case 2:
		return "\"" + g.pick("", "a", "\\$", "\\\\") + g.word(depth-1) + "\""
	case 3:
		return "$(" + g.text(depth-1) + g.pick("", " ", "\n", " # "+g.data()+"\n") + ")"
	case 4:
		return "`" + g.text(depth-1) + "`"
	case 5:
		return "${x" + g.pick(":-", "-", "#", "%", "/", ":+", ":=") + g.word(depth-1) + "}"
	case 6:
		return "$'" + g.pick("\\'", "a", "\\\\", "\\x27") + strings.ReplaceAll(g.data(), "'", "\\'") + "'"
	case 7:
		return "\"${x" + g.pick(":-", "#", "/", "+") + g.pick("'", "", "\\'") + g.data() + g.pick("'", "") + "}\""
	}
	return g.word(0) + g.word(0)
}

// mutate changes a text at one place.
func (g generator) mutate(text string) string {
	bits := strings.Split("evil|ls| |  |\n|\t|;|&&|&|(|)|{ |; }|$(|`|\"|'|\\|$|#| #|\\\n| \\\n|<<E\n|<<'E'\n|<<-E\n|<<\\E\n|<<E|E\n|\nE\n|\nE|\t|${x:-|${x-|${x#|${x%'|${x/|}|$'|$\"|$((|))|[[ | ]]|=|x=|!|<(|>(|{|,|}|~|*|?|[|]|"+
		"case x in x) |;;|esac|if |then |fi|for x in |do |done|f() |eval |sh -c '|sh -c \"|bash -c '|env |xargs |command |time |<|>/dev/null|2>&1|>&|<&|<<<|&>/dev/null|\r|\v|a|-|--|%|@(|+(|!(|?(|coproc |function f |select x in |in |esac\n|\\\\|\\'|\\\"|\\`|\\$|$x|$@|${x}|\"$x\"|''|\"\"|//|:|1|"+
		"$(( 1 + 1 ))|${|$[|]|((|[[ x == |>evil|> evil|>>evil|>&evil|>$x|cd .;|;&|;;&|&|exec |trap '|' EXIT|-c |{PATH}<|{x}>|+x |/dev/stdin|PS4=|RANDOM=|time -- |BASH_ENV=|declare -i x=|-- |jobs -x |mapfile -C |compgen -W |alias ls=|BASH_ALIASES=|printf -v |read |[[ -v |bash -s|sh /dev/fd/0|. /dev/stdin |set -x;|set -- |unset |local |export |a=(|a[|test |${a[|-o |-x |bash +x -c |shopt -s |\x01|\u00a0|é|cat ", "|")
	bits = append(bits, "|", "||", "|&")
	at := g.IntN(len(text) + 1)
	switch g.IntN(6) {
	case 0, 1, 2:
		text = text[:at] + bits[g.IntN(len(bits))] + text[at:]
	case 3:
		to := min(len(text), at+1+g.IntN(3))
		text = text[:at] + text[to:]
	case 4: // a piece of the text once more, elsewhere
		from := g.IntN(len(text) + 1)
		to := min(len(text), from+g.IntN(8))
		text = text[:at] + text[from:to] + text[at:]
	default:
		text = text[:at] + "'" + text[at:]
		at = g.IntN(len(text) + 1)
		text = text[:at] + "'" + text[at:]
	}
	return text
}
