package permission

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// FuzzX04_Judge: Judge never panics and always gives a whole verdict; it
// allows a text only if each simple command in it passes a slow check that
// shares no code with it; and a text that is denied stays so when it is put
// into sh -c.
func FuzzX04_Judge(f *testing.F) {
	p := x04(f)
	boxed := newPolicy(f, Config{Sandboxed: true}, "deny bash(rm *)", "deny bash(curl *)")
	plan := newPolicy(f, Config{Plan: true, Ask: AskNever, Closed: []string{"/home/u/.gamma"}, FoldCase: true, POSIX: true})
	for _, text := range append(denied(), seeds()...) {
		f.Add(text)
	}
	for _, text := range []string{"git status; id", "env A=b ls", "ls $((1))", "LC_ALL=C ls > /dev/null", "xargs -I{} ls {}", "timeout -k 5 10 go test ./...", "eval \"ls; git status\"", "trap 'ls' EXIT"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v := p.command(t, text); v.Do == Allow {
			if why := slowCheck(text, 0); why != "" {
				t.Errorf("%q is allowed: %s", text, why)
			}
		}
		plan.command(t, text)
		raw := json.RawMessage(text)
		for _, tool := range []string{"bash", "read", "connector", "todo", "?"} {
			if v := p.Judge(tool, raw); v.Do.rank() == 0 || v.Text == "" {
				t.Errorf("%s %q: %+v", tool, text, v)
			}
		}
		if boxed.command(t, text).Do == Deny && utf8.ValidString(text) && len(text) < maxText/2 && !strings.ContainsAny(text, "\x00\ufffd") {
			if v := boxed.command(t, "sh -c '"+strings.ReplaceAll(text, "'", `'\''`)+"'"); v.Do == Allow {
				t.Errorf("%q is denied, but allowed in sh -c", text)
			}
		}
	})
}

// slowCheck says what is wrong with a text under the rules git status*,
// go test * and ls *. It takes only what it knows.
func slowCheck(text string, depth int) string {
	if depth > 12 {
		return "too deep"
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return "not valid: " + err.Error()
	}
	why := ""
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if w := slowCall(n, depth); w != "" {
				why = w
			}
		case *syntax.Redirect:
			if w := n.Word.Lit(); n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc && n.Op != syntax.WordHdoc && n.Op != syntax.RdrIn &&
				strings.Trim(w, "0123456789-") != "" && !strings.HasPrefix(w, "/dev/") {
				if lit, ok := slowWord(n.Word); !ok || !strings.HasPrefix(lit, "/dev/") && strings.Trim(lit, "0123456789-") != "" {
					why = "it writes to " + lit
				}
			}
		case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.CoprocClause, *syntax.ExtGlob, *syntax.CStyleLoop, *syntax.TestDecl:
			why = "it holds what isn't a command"
		case *syntax.ParamExp:
			if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
				why = "an expansion that runs code"
			}
		}
		return true
	})
	return why
}

// slowWord is the literal text of a word.
func slowWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			for i := 0; i < len(p.Value); i++ {
				c := p.Value[i]
				if c == '\\' && i+1 < len(p.Value) {
					i++
					b.WriteByte(p.Value[i])
					continue
				}
				if strings.IndexByte("*?[", c) >= 0 || c == '~' && (i == 0 || strings.IndexByte("=:", p.Value[i-1]) >= 0) || c == '{' && strings.ContainsAny(p.Value, ",.") {
					return b.String(), false
				}
				b.WriteByte(c)
			}
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				text, ok := decodeANSI(p.Value)
				if !ok {
					return b.String(), false
				}
				b.WriteString(text)
				continue
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok || p.Dollar {
					return b.String(), false
				}
				b.WriteString(strings.NewReplacer("\\\\", "\\", "\\\"", "\"", "\\$", "$", "\\`", "`").Replace(lit.Value))
			}
		default:
			return b.String(), false
		}
	}
	return b.String(), true
}

// slowCall checks one simple command: behind any wrappers stands one of the
// allowed ones.
func slowCall(c *syntax.CallExpr, depth int) string {
	for _, a := range c.Assigns {
		if name := a.Name.Value; a.Append || a.Index != nil || a.Array != nil || len(c.Args) == 0 || !strings.HasPrefix(name, "LC_") &&
			!strings.Contains(" LANG TZ NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES CI ", " "+name+" ") {
			return "it sets " + name
		}
	}
	var argv []string
	var known []bool
	for _, w := range c.Args {
		lit, ok := slowWord(w)
		argv, known = append(argv, lit), append(known, ok)
	}
	for i := range argv {
		if !known[i] {
			if argv[i] == "" || argv[i][0] == '-' || i == 0 {
				return "a word before the command isn't known"
			}
			continue
		}
		switch argv[i] {
		case "ls":
			return ""
		case "git":
			if i+1 < len(argv) && strings.HasPrefix(argv[i+1], "status") {
				return ""
			}
			return "git, but not status"
		case "go":
			for k := i + 1; k < len(argv); k++ {
				if known[k] && argv[k] == "--" {
					break
				}
				if o := strings.TrimLeft(argv[k], "-"); !known[k] && o == "" || strings.HasPrefix(argv[k], "-") && (strings.HasPrefix(o, "exec") || strings.HasPrefix(o, "toolexec") || strings.HasPrefix(o, "vettool")) {
					return "go test runs another program"
				}
			}
			if i+1 < len(argv) && argv[i+1] == "test" && known[i+1] {
				return ""
			}
			return "go, but not test"
		case "sh", "bash", "dash", "ash", "rbash", "trap":
			for k := i + 1; k < len(argv); k++ {
				if known[k] && (strings.HasPrefix(argv[k], "-") || argv[k] == "pipefail" || argv[k] == "errexit" || argv[k] == "nounset") {
					continue
				}
				if !known[k] {
					return "a text that isn't known"
				}
				return slowCheck(argv[k], depth+1)
			}
			return "a shell without a text"
		case "eval":
			for k := i + 1; k < len(argv); k++ {
				if !known[k] {
					return "a text that isn't known"
				}
			}
			return slowCheck(strings.TrimPrefix(strings.Join(argv[i+1:], " "), "-- "), depth+1)
		}
		if i == 0 && !strings.Contains(" command builtin exec nohup chronic setsid nice ionice stdbuf time timeout env xargs ", " "+argv[0]+" ") {
			return "it runs " + argv[0]
		}
	}
	return "it runs no allowed command"
}
