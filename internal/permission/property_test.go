package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is added to an allowed command, the whole is allowed only if what
// was added is.
func TestE47_X04_AddedCommands(t *testing.T) {
	p := x04(t)
	allowed := []string{"git status", "git status -s", "ls -la src", "go test ./...", "ls | ls", "env LC_ALL=C ls", "sh -c 'ls'", "ls \"$X\""}
	added := append([]string{"id", "X=1 ls", "ls > out", "git push", "$X", "rm x", "eval \"$X\"", "env id", "ls; id", "(id)", "f() { id; }", "python3 -c x", "ls $(id)", "git -c a=b status", "X=1", "sh", "ls '", "ls <<E\n$(id)\nE", "! id", "time id", "ls\\"}, allowed...)
	joins := []func(a, b string) string{
		func(a, b string) string { return a + "; " + b },
		func(a, b string) string { return a + ";" + b },
		func(a, b string) string { return a + " && " + b },
		func(a, b string) string { return a + " || " + b },
		func(a, b string) string { return a + " | " + b },
		func(a, b string) string { return a + " |& " + b },
		func(a, b string) string { return a + " & " + b },
		func(a, b string) string { return a + "\n" + b },
		func(a, b string) string { return a + "\n\n# x\n" + b },
		func(a, b string) string { return b + "\n" + a },
		func(a, b string) string { return a + " $(" + b + "\n)" },
		func(a, b string) string { return a + " \"$(" + b + "\n)\"" },
		func(a, b string) string { return a + " `" + b + "`" },
		func(a, b string) string { return a + " <(" + b + "\n)" },
		func(a, b string) string { return a + " <<EOF\n$(" + b + "\n)\nEOF" },
		func(a, b string) string { return a + " <<<\"$(" + b + "\n)\"" },
		func(a, b string) string { return "if " + b + "\nthen " + a + "\nfi" },
		func(a, b string) string { return "for i in 1; do " + a + "\n" + b + "\ndone" },
		func(a, b string) string { return "case $(" + b + "\n) in *) " + a + ";; esac" },
		func(a, b string) string { return "{ " + a + "\n" + b + "\n}" },
		func(a, b string) string { return "f() {\n" + b + "\n}; " + a },
		func(a, b string) string { return "[[ -n $(" + b + "\n) ]] && " + a },
		func(a, b string) string { return "X=$(" + b + "\n) " + a },
		func(a, b string) string { return a + " > >(" + b + "\n)" },
	}
	whole := 0
	for _, join := range joins {
		for _, a := range allowed {
			for _, b := range added {
				text := join(a, b)
				if p.command(t, text).Do != Allow {
					continue
				}
				whole++
				if p.command(t, b).Do != Allow {
					t.Errorf("%q is allowed, %q alone isn't", text, b)
				}
			}
		}
	}
	if whole < 500 {
		t.Errorf("only %d joined texts are allowed: the test shows little", whole)
	}
}

// A rule that a verdict proposes allows the command that it was proposed for.
func TestE47_ProposedRules(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom([]string{"a", "-v", "--x=y", "a b", "*", "it's", "", "\"", "$x", "é", "a;b", "#", "(", "A=1", "!", "~", "[x]", "{a,b}", "\\", "=", "**", "'", "new\nline"}), rapid.StringMatching(`[ -~]{0,6}`))
	rapid.Check(t, func(rt *rapid.T) {
		argv := append([]string{rapid.SampledFrom([]string{"prog", "git", "make", "python3", "sh", "timeout", "env", "./x", "find", "p q", "A=1"}).Draw(rt, "name")}, rapid.SliceOfN(word, 0, 4).Draw(rt, "args")...)
		for i, w := range argv {
			argv[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		text := strings.Join(argv, " ")
		p := newPolicy(t, Config{})
		s := read(p.at, text, false)
		if len(s.doubts) > 0 || len(s.commands) != 1 {
			return // a text within the text isn't readable
		}
		offer := offerWords(&s.commands[0])
		if offer == "" {
			return
		}
		if v := newPolicy(t, Config{}, "allow "+offer).command(t, text); v.Do != Allow {
			rt.Fatalf("%s: %s proposed, but then: %s", text, offer, v.Text)
		}
	})
}

// Judge doesn't depend on calls before, and gives the same again.
func TestE47_SameCallSameVerdict(t *testing.T) {
	p := x04(t)
	first := map[string]Verdict{}
	for range 2 {
		for _, c := range denied() {
			v := p.command(t, c)
			if w, ok := first[c]; ok && w != v {
				t.Errorf("%q: %+v, then %+v", c, w, v)
			}
			first[c] = v
		}
	}
}

// Deep and long texts are judged in bounded time and depth.
func TestE47_X04_HugeTexts(t *testing.T) {
	p := x04(t)
	deep := func(open, in, shut string, n int) string {
		return strings.Repeat(open, n) + in + strings.Repeat(shut, n)
	}
	for _, text := range []string{
		deep("( ", "ls", ")", 3000), deep("$(", "ls", ")", 3000), deep("{ ", "ls", "\n}", 3000), deep("((", "1", "))", 1500), deep("if ls; then ", "ls", "; fi", 4000), deep("\"$(", "ls", ")\"", 3000), deep("${x:-", "ls", "}", 3000),
		deep("(", "", "", 60000), deep("`", "", "", 60000), deep("$((", "", "", 2000), strings.Repeat("ls;", 20000), "ls " + strings.Repeat("a ", 30000), strings.Repeat("env ", 15000) + "ls", "find . " + strings.Repeat("-exec find . ", 4000), strings.Repeat("X=1 ", 15000), strings.Repeat("ls <<E\nE\n", 6000),
		strings.Repeat("eval ", 10000) + "ls", "ls -" + strings.Repeat("a", 60000), strings.Repeat("x", 1<<20), deep("! ", "ls", "", 20000), "git " + strings.Repeat("-c a=b ", 9000), "rm$X " + strings.Repeat("-a ", 20000),
	} {
		v := p.command(t, text)
		if len(v.Text) > 4000 {
			t.Errorf("%.30q: a text of %d bytes", text, len(v.Text))
		}
	}
	files := newPolicy(t, Config{Sandboxed: true, Real: func(p string) string { return p }}, "deny write(secrets/**)", "deny read(x/**)", "deny bash(rm *)")
	check(t, files, Ask, strings.Repeat("$X>a;", 9000), strings.Repeat("$X<b;", 9000), strings.Repeat("$X a;", 9000), "$X"+strings.Repeat(">", 60000), "eval $X '"+strings.Repeat("> a ", 15000)+"'")
	check(t, p, Allow, deep("( ", "ls", ")", 100), strings.Repeat("ls;", 2000))
	check(t, p, Ask, strings.Repeat("ls;", 30000), deep("( ", "ls", ")", 5000), strings.Repeat("env ", 20)+"ls", strings.Repeat("eval ", 20)+"ls")
}
