package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

// verdicts holds calls of any tool against the wanted verdicts: "TOOL JSON".
func verdicts(t *testing.T, p *Policy, want Do, calls ...string) {
	t.Helper()
	for _, c := range calls {
		tool, raw, _ := strings.Cut(c, " ")
		if v := p.Judge(tool, json.RawMessage(raw)); v.Do != want || v.Rule == "" || v.Text == "" {
			t.Errorf("%s: %s, want %s\n%s\n%s", c, v.Do, want, v.Rule, v.Text)
		}
	}
}

func TestE47_Defaults(t *testing.T) {
	own := []string{`read {"path":"a"}`, `write {"path":"a","content":"x"}`, `edit {"path":"a","edits":[]}`, `todo {"action":"list"}`, `subagent {"task":"x"}`, `show_gamma {"ref":"x"}`,
		`show_file {"path":"a"}`, `skill {"name":"x"}`, `message_user {"message":"x"}`, `ask_user {"form":{}}`, `workflow {"action":"start"}`, `connector {"server":"s"}`,
		`bash {"job":"1","action":"kill"}`}
	open, boxed := newPolicy(t, Config{}), newPolicy(t, Config{Sandboxed: true})
	for _, p := range []*Policy{open, boxed} {
		verdicts(t, p, Allow, own...)
		verdicts(t, p, Ask, `connector {"server":"s","tool":"t"}`, `unknown {}`)
		verdicts(t, p, Deny, `bash {"command":`, `bash []`, `bash null`, `bash "x"`, `bash {"command":1}`, `bash {"command":"ls","command":"id"}`, `read {"path":["a"]}`, `todo `)
	}
	verdicts(t, open, Ask, `bash {"command":"ls"}`, `bash {"command":""}`, `bash {}`, `bash {"Command":"ls"}`)
	verdicts(t, boxed, Allow, `bash {"command":"rm -rf ."}`, `bash {"command":"$X"}`)
}

// The decision table of the package comment, row by row.
func TestE47_Order(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []string
		boxed bool
		want  Do
	}{
		{"no rule, no sandbox", nil, false, Ask},
		{"no rule, sandbox", nil, true, Allow},
		{"allow beats the asking default", []string{"allow bash(make *)"}, false, Allow},
		{"a rule for all of bash too", []string{"allow bash"}, false, Allow},
		{"ask beats the allowing default", []string{"ask bash(make *)"}, true, Ask},
		{"ask beats allow", []string{"allow bash(make *)", "ask bash"}, true, Ask},
		{"in either order", []string{"ask bash(make *)", "allow bash"}, true, Ask},
		{"deny beats ask and allow", []string{"allow bash(make *)", "ask bash", "deny bash(make x)"}, true, Deny},
		{"in any order", []string{"deny bash", "allow bash(make x)", "ask bash(make *)"}, true, Deny},
		{"rules that don't match count nothing", []string{"deny bash(rm *)", "ask bash(make y)", "allow read"}, true, Allow},
		{"a longer pattern is no stronger", []string{"deny bash(make *)", "allow bash(make x)"}, true, Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, newPolicy(t, Config{Sandboxed: c.boxed}, c.rules...), c.want, "make x")
		})
	}
}

func TestE47_AskMode(t *testing.T) {
	rules := []string{"allow bash(ls *)", "deny bash(rm *)", "ask write(x)"}
	effects := []string{`bash {"command":"ls"}`, `write {"path":"a"}`, `edit {"path":"a"}`}
	harmless := []string{`read {"path":"a"}`, `todo {}`, `skill {"name":"x"}`, `message_user {}`, `workflow {"action":"list"}`, `connector {"server":"s"}`, `bash {"job":"1","action":"read"}`}
	asks := []string{`bash {"command":"id"}`, `connector {"server":"s","tool":"t"}`, `write {"path":"x"}`}
	denies := []string{`bash {"command":"rm x"}`}

	auto := newPolicy(t, Config{Ask: AskAuto}, rules...)
	verdicts(t, auto, Allow, append(effects, harmless...)...)
	verdicts(t, auto, Ask, asks...)
	verdicts(t, auto, Deny, denies...)

	never := newPolicy(t, Config{Ask: AskNever}, rules...)
	verdicts(t, never, Allow, append(effects, harmless...)...)
	verdicts(t, never, Deny, append(asks, denies...)...)
	if v := never.command(t, "id -u"); !strings.Contains(v.Text, "--ask=never") || !strings.Contains(v.Text, "--allow 'bash(id -u)'") {
		t.Errorf("the refusal says neither why nor what the user can do: %s", v.Text)
	}

	always := newPolicy(t, Config{Ask: AskAlways, Sandboxed: true}, rules...)
	verdicts(t, always, Allow, harmless...)
	verdicts(t, always, Ask, append(append(effects, asks...), `workflow {"action":"start"}`)...)
	verdicts(t, always, Deny, denies...)

	if _, err := New(Config{Ask: "sometimes"}); err == nil || !strings.Contains(err.Error(), `"sometimes"`) {
		t.Errorf("ask: sometimes: %v", err)
	}
}

func TestE47_PlanMode(t *testing.T) {
	p := newPolicy(t, Config{Plan: true, Sandboxed: true}, "allow bash", "allow write", "deny bash(cat secret)", "allow connector")
	check(t, p, Allow, "ls -la", "cat a | head -3", "git status && git log --oneline -5", "grep -rn x . | sort | uniq -c", "find . -name '*.go' -type f", "rg -n x", "cd src && pwd", "wc -l < a", "ls 2>/dev/null",
		"sed -n '1,20p' a", "awk '{print $1}' a", "git branch -a", "git diff HEAD~1 -- \"$X\"", "timeout 5 ls", "find . -print0 | xargs -0 grep x", "sh -c 'ls; cat a'", "go version", "go env GOPATH", "go doc fmt", "date +%s",
		"for f in *; do wc \"$f\"; done", "[ -f a ] && cat a", "[[ -d a ]] && ls", "command -v go", "stat a", "git show HEAD:a", "diff a b", "LC_ALL=C sort a", "test -e a", "git stash list", "git remote -v")
	check(t, p, Deny, "rm a", "touch a", "go build", "go test ./...", "make", "ls > a", "ls >> a", "cat a | tee b", "sed -i s/a/b/ a", "sed 's/a/b/w x' a", "awk '{print > \"x\"}' a", "find . -delete", "find . -exec ls {} \\;", "find . -fprint x", "git commit -m x", "git branch x",
		"git tag x", "git stash", "git -c a=b log", "git -C x log", "git log --output=x", "git checkout x", "git diff --ext-diff", "sort -o a b", "sort --output=a b", "sort -uo a b", "uniq a b", "env ls x=1; touch b", "X=1 ls", "x=1", "$X", "python3 -c 1", "python3 x.py", "sh x.sh", "ls; touch a", "ls $(touch a)", "ls '", "ls $((x))",
		"xargs touch", "timeout 5 touch a", "sh -c 'ls; touch a'", "eval \"$X\"", "./ls", "tree -o x", "date -s x", "date 01010000", "rg --pre x y", "go env -w A=b", "export A=b", "curl http://h", "printf -v x y", "hostname x", "go list ./...", "cat < /dev/tcp/h/1", "sudo ls", "git log $X", "find $X", "find -- -delete", "f() { touch a; }", "trap 'touch a' EXIT", "git stash list; git stash drop")
	check(t, p, Deny, "cat secret")
	verdicts(t, p, Allow, `read {"path":"a"}`, `todo {}`, `skill {"name":"x"}`, `message_user {}`, `subagent {"task":"x"}`, `bash {"job":"1","action":"read"}`, `workflow {"action":"status"}`, `connector {"server":"s"}`)
	verdicts(t, p, Allow, `workflow {"action":"list"}`, `workflow {"action":"submit"}`, `workflow {"action":"update"}`)
	verdicts(t, p, Deny, `workflow {"action":"pause"}`, `workflow {"action":"resume"}`, `workflow {"action":"cancel"}`, `workflow {"action":"answer"}`, `workflow {"action":"new"}`, `workflow {}`)
	verdicts(t, p, Deny, `write {"path":"a"}`, `edit {"path":"a"}`, `connector {"server":"s","tool":"t"}`, `workflow {"action":"start"}`, `unknown {}`)
	if v := p.command(t, "make x"); !strings.Contains(v.Text, "plan mode is read-only") || !strings.Contains(v.Rule, `"make x"`) {
		t.Errorf("the text doesn't name the mode and the part: %+v", v)
	}
	t.Run("it only takes away", func(t *testing.T) {
		check(t, newPolicy(t, Config{Plan: true}), Ask, "ls")
		check(t, newPolicy(t, Config{Plan: true}), Deny, "touch a")
	})
}

func TestE47_Connector(t *testing.T) {
	p := newPolicy(t, Config{}, "allow connector(docs/*)", "deny connector(*/delete_*)", "ask connector(docs/write)")
	call := func(server, tool string) string {
		return `connector {"server":"` + server + `","tool":"` + tool + `","arguments":{"x":1}}`
	}
	verdicts(t, p, Allow, call("docs", "search"))
	verdicts(t, p, Deny, call("docs", "delete_all"), call("x", "delete_all"))
	verdicts(t, p, Ask, call("docs", "write"), call("x", "search"))
	t.Run("server and tool are matched apart", func(t *testing.T) {
		p := newPolicy(t, Config{}, "allow connector(*/get)", "allow connector(docs/*)")
		verdicts(t, p, Allow, call("x", "get"), call("docs", "a/b"))
		verdicts(t, p, Ask, call("x", "evil/get"), call("docs/x", "y"))
	})
	t.Run("once per server and tool", func(t *testing.T) {
		first := p.Judge("connector", args(t, "server", "x", "tool", "search"))
		if first.Once == "" {
			t.Fatalf("the ask isn't good for further calls: %+v", first)
		}
		q := p.Grant(first.Once)
		verdicts(t, q, Allow, call("x", "search"))
		verdicts(t, q, Ask, call("x", "other"), call("y", "search"))
		verdicts(t, p, Ask, call("x", "search")) // the first policy is as it was
		verdicts(t, newPolicy(t, Config{Ask: AskAlways}).Grant(first.Once), Ask, call("x", "search"))
	})
	t.Run("an asking rule asks each time", func(t *testing.T) {
		v := p.Judge("connector", args(t, "server", "docs", "tool", "write"))
		if v.Once != "" {
			t.Errorf("once: %q", v.Once)
		}
		verdicts(t, p.Grant("connector docs/write"), Ask, call("docs", "write"))
	})
	t.Run("commands are asked each time", func(t *testing.T) {
		if v := p.command(t, "id"); v.Once != "" {
			t.Errorf("once: %q", v.Once)
		}
	})
}

func TestE47_R21_ClosedFolders(t *testing.T) {
	p := newPolicy(t, Config{Sandboxed: true, Workspace: "/home/u", Home: "/home/u", Closed: []string{"/home/u/.gamma"}, Readable: []string{"/home/u/.gamma/skills"}}, "allow read", "allow write", "allow edit", "allow bash")
	verdicts(t, p, Deny, `read {"path":".gamma/token"}`, `read {"path":"/home/u/.gamma"}`, `write {"path":"x/../.gamma/y"}`, `edit {"path":".gamma/config.yaml"}`, `write {"path":".gamma/skills/x"}`, `show_file {"path":".gamma/token"}`)
	verdicts(t, p, Allow, `read {"path":".gamma/skills/a/SKILL.md"}`, `read {"path":".gammas/x"}`, `read {"path":".gamma-old"}`)
	check(t, p, Deny, "cat ~/.gamma/token", "cat /home/u/.gamma/token", "cat .gamma/token", "cat \"$HOME/.gamma/token\"", "cat ${GAMMA_HOME}/token", "cat $GAMMA_HOME", "ls x/../.gamma", "cat <.gamma/token", "x=~/.gamma/token", "tar --file=/home/u/.gamma/x", "tar --file=.gamma/x", "A=.gamma/x ls", "python3 -c 'open(\"/home/u/.gamma/token\")'",
		"sh -c 'cat ~/.gamma/token'", "cat ~/.gamma*", "ls > .gamma/skills/x", "cat '/home/u/.gamma/token'", "cat ~/.gam\"ma\"/token", "cat $PWD/.gamma/x", "echo a:/home/u/.gamma:b")
	check(t, p, Allow, "cat ~/.gamma/skills/a/SKILL.md", "ls ~/.gammas", "cat gamma/x", "ls /home/u/.gamma-old", "cat $X/.gamma")
	v := p.Judge("read", args(t, "path", ".gamma/token"))
	if !strings.Contains(v.Rule, "/home/u/.gamma") {
		t.Errorf("the verdict doesn't name the folder: %+v", v)
	}
	t.Run("case", func(t *testing.T) {
		p := newPolicy(t, Config{Sandboxed: true, Workspace: "/home/u", Home: "/home/u", Closed: []string{"/home/u/.gamma"}, FoldCase: true})
		verdicts(t, p, Deny, `read {"path":".Gamma/token"}`)
		check(t, p, Deny, "cat /HOME/u/.GAMMA/token", "cat .GAMMA/x")
	})
	t.Run("symlinks", func(t *testing.T) {
		real := func(p string) string { return strings.Replace(p, "/home/u/link", "/home/u/.gamma", 1) }
		p := newPolicy(t, Config{Workspace: "/home/u", Closed: []string{"/home/u/.gamma"}, Real: real})
		verdicts(t, p, Deny, `read {"path":"link/token"}`)
	})
}

func TestE47_PathRules(t *testing.T) {
	p := newPolicy(t, Config{}, "deny write(secrets/**)", "deny read(**/*.pem)", "ask write(*.lock)", "deny edit(a/*/b)", "deny read(/etc/**)", "deny write(docs/)", "allow write(build/**)", "deny edit(x.md)")
	verdicts(t, p, Deny, `write {"path":"secrets/a"}`, `write {"path":"./secrets//a/b"}`, `write {"path":"secrets"}`, `write {"path":"x/../secrets/a"}`, `write {"path":"/home/u/ws/secrets/a"}`, `read {"path":"a/b/c.pem"}`, `read {"path":"c.pem"}`, `edit {"path":"a/x/b"}`,
		`read {"path":"/etc/passwd"}`, `read {"path":"../../../etc/passwd"}`, `write {"path":"docs/x"}`, `edit {"path":"x.md"}`)
	verdicts(t, p, Allow, `write {"path":"secret/a"}`, `read {"path":"secrets/a"}`, `write {"path":"c.pem"}`, `edit {"path":"a/x/y/b"}`, `edit {"path":"a/b"}`, `read {"path":"etc/x"}`, `write {"path":"sub/x.lock"}`, `write {"path":"build/x"}`, `edit {"path":"sub/x.md"}`, `write {"path":"xsecrets/a"}`)
	verdicts(t, p, Ask, `write {"path":"go.lock"}`)
	t.Run("another name of the workspace", func(t *testing.T) {
		verdicts(t, p, Ask, `write {"path":"/mnt/ws/secrets/a"}`, `edit {"path":"/mnt/x"}`)
		known := newPolicy(t, Config{Real: func(p string) string { return strings.Replace(p, "/mnt/ws", "/home/u/ws", 1) }}, "deny write(secrets/**)")
		verdicts(t, known, Deny, `write {"path":"/mnt/ws/secrets/a"}`)
		verdicts(t, known, Allow, `write {"path":"/mnt/ws/a"}`)
	})
	t.Run("symlinks", func(t *testing.T) {
		linked := newPolicy(t, Config{Ask: AskAuto, Real: func(p string) string { return strings.Replace(p, "/ws/link", "/ws/secrets", 1) }}, "deny write(secrets/**)", "ask write", "deny read(link/**)")
		verdicts(t, linked, Deny, `write {"path":"link/a"}`, `read {"path":"link/a"}`)
	})
	t.Run("case", func(t *testing.T) {
		folded := newPolicy(t, Config{FoldCase: true, Sandboxed: true}, "deny write(secrets/**)", "deny bash(rm *)")
		verdicts(t, folded, Deny, `write {"path":"Secrets/A"}`)
		check(t, folded, Deny, "/bin/RM x", "Rm x")
		verdicts(t, p, Allow, `write {"path":"Secrets/A"}`)
	})
}

func TestE47_Redirections(t *testing.T) {
	p := newPolicy(t, Config{}, "allow bash(ls *)", "allow write(out/**)", "deny write(secrets/**)", "deny read(secrets/**)", "ask write(asked)", "allow bash(cd *)")
	check(t, p, Allow, "ls > out/a", "ls >> ./out/a", "ls &> /home/u/ws/out/a", "ls < a", "sh -c 'ls > out/a'", "{ ls; } 2> out/a")
	check(t, p, Ask, "ls > a", "ls > out/$X", "ls > ../out/a", "ls > /out/a", "cd x; ls > out/a", "sh -c 'cd x; ls > out/a'", "ls > asked", "ls > out/../a", "id > out/a", "ls > out/a > a", "ls < $X")
	check(t, p, Deny, "ls > secrets/a", "ls < secrets/a", "ls > out/../secrets/a", "sh -c 'ls > secrets/a'")
	check(t, newPolicy(t, Config{}, "allow bash(ls *)", "allow bash(cd *)", "allow write"), Ask, "cd x; ls > a", "ls > a; cd x", ". ./x; ls > a")
	check(t, newPolicy(t, Config{}, "allow bash(ls *)", "allow write"), Allow, "ls > a")
	check(t, newPolicy(t, Config{}, "allow bash(ls *)", "allow write"), Ask, "ls > /etc/x", "ls > ../a", "ls > $X")
	t.Run("in the sandbox", func(t *testing.T) {
		p := newPolicy(t, Config{Sandboxed: true}, "deny write(secrets/**)")
		check(t, p, Allow, "ls > a", "cat < secrets/a", "cd x; ls > /dev/null")
		check(t, p, Deny, "ls > secrets/a")
		check(t, p, Ask, "ls > $X", "cd secrets; ls > a")
		check(t, newPolicy(t, Config{Sandboxed: true}, "deny write"), Deny, "ls > a", "ls > $X")
		check(t, newPolicy(t, Config{Sandboxed: true}, "deny write"), Allow, "ls > /dev/null 2>&1")
	})
}

func TestE47_OtherRules(t *testing.T) {
	p := newPolicy(t, Config{}, "deny skill(x-*)", "ask todo", "deny workflow", "deny bash", "ask read")
	verdicts(t, p, Deny, `skill {"name":"x-y"}`, `workflow {"action":"list"}`, `bash {"command":"ls"}`, `bash {"job":"1","action":"read"}`)
	verdicts(t, p, Ask, `todo {}`, `read {"path":"a"}`)
	verdicts(t, p, Allow, `skill {"name":"y"}`)
	// What a job does was asked for when it was started.
	verdicts(t, newPolicy(t, Config{}, "ask bash", "deny bash(rm *)"), Allow, `bash {"job":"1","action":"kill"}`)
}

func TestE47_ParseFlag(t *testing.T) {
	for text, want := range map[string]Rule{
		"bash":                  {Tool: "bash"},
		"bash(git status)":      {Tool: "bash", Match: "git status"},
		"bash(go test *)":       {Tool: "bash", Match: "go test *"},
		"write(secrets/**)":     {Tool: "write", Match: "secrets/**"},
		"bash(ls '(' x)":        {Tool: "bash", Match: "ls '(' x"},
		"connector(docs/get_*)": {Tool: "connector", Match: "docs/get_*"},
		" read ":                {Tool: "read"},
	} {
		want.Do, want.Source = Deny, "--deny "+text
		if got, err := ParseFlag("--deny", text); err != nil || got.Tool != want.Tool || got.Match != want.Match || got.Do != want.Do || got.Source != want.Source {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": `no tool ""`, "bsah": `no tool "bsah"; the tools are read, bash`, "bash(ls": "parenthesis is missing", "bash()": "pattern is empty", "bash( )": "pattern is empty", "todo(x)": "take no pattern",
		"bash(ls; id)": "one simple command", "bash(ls | x)": "one simple command", "bash(ls $X)": "one simple command", "bash(ls `x`)": "one simple command", "bash(ls\nid)": "one simple command", "bash(ls > x)": "one simple command",
		"bash(ls 'x)": "isn't closed", "bash(ls \"x)": "isn't closed", `bash(ls x\)`: "ends in a backslash", "read(../x)": "..", "read(~/x)": "~", "write(a**b)": "must stand alone", "connector(x)": "SERVER/TOOL",
		"bash(* x)": "whole name", "bash(g* status)": "whole name", "read(a": "parenthesis is missing", "bash(ls)x": "parenthesis is missing",
	} {
		if _, err := ParseFlag("--allow", text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--allow "+text) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseFlag("--ask", "bash"); err == nil {
		t.Error("--ask took a rule")
	}
	if _, err := ParseFlag("--deny", "bash(* --force)"); err != nil {
		t.Errorf("a refusing pattern may begin with a star: %v", err)
	}
}

func TestE47_RulesOfTheConfiguration(t *testing.T) {
	const at = "config.yaml permissions[2]"
	for _, r := range []Rule{
		{Tool: "bash", Do: "forbid"}, {Tool: "bash"}, {Tool: "bash", Match: "  ", Do: Allow}, {Tool: "x", Do: Deny}, {Tool: "bash", Match: "a;b", Do: Deny}, {Tool: "todo", Match: "x", Do: Deny},
		{Tool: "bash", Match: "git status *", Do: Allow, Hits: []string{"git status", "git push"}}, {Tool: "bash", Match: "git status *", Do: Allow, Misses: []string{"git status -s"}},
		{Tool: "bash", Match: "git push *", Do: Deny, Misses: []string{"sh -c 'git push'"}}, {Tool: "read", Match: "a/*", Do: Deny, Hits: []string{"a/b/c"}}, {Tool: "skill", Match: "a*", Do: Deny, Misses: []string{"ab"}}, {Tool: "read", Do: Deny, Misses: []string{"x"}},
	} {
		r.Source = at
		if _, err := New(Config{Rules: []Rule{r}}); err == nil || !strings.HasPrefix(err.Error(), at) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	good := []Rule{
		{Tool: "bash", Match: "git status *", Do: Allow, Hits: []string{"git status", "git status -s; git status"}, Misses: []string{"git push", "git status; git push", "git status $("}},
		{Tool: "bash", Match: "git push *", Do: Deny, Hits: []string{"git -C x push", "ls; git push"}, Misses: []string{"git pull"}},
		{Tool: "read", Match: "a/*", Do: Ask, Hits: []string{"a/b", "./a/b"}, Misses: []string{"a/b/c"}},
		{Tool: "connector", Match: "a/*", Do: Ask, Hits: []string{"a/b"}, Misses: []string{"b/a"}},
	}
	if _, err := New(Config{Rules: good}); err != nil {
		t.Error(err)
	}
	for _, cfg := range []Config{{Workspace: "ws"}, {Home: "/a/../b"}, {Closed: []string{"x"}}, {Readable: []string{"/x/"}}} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "clean absolute path") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// The words of a verdict name the rule, the part, and what can be done.
func TestE47_VerdictText(t *testing.T) {
	cfg := Config{Rules: []Rule{{Tool: "bash", Match: "npm publish *", Do: Deny, Source: "config.yaml permissions[2]"}}}
	p := newPolicy(t, cfg, "allow bash(git status*)", "deny bash(rm *)", "deny write(secrets/**)", "allow bash(make *)")
	for _, c := range []struct{ command, rule, text string }{
		{"git status; rm -rf x", `--deny bash(rm *), on "rm -rf x"`, "Refused by --deny bash(rm *)"},
		{"npm publish x", `config.yaml permissions[2] (deny bash(npm publish *)), on "npm publish x"`, "ask the user to change the rule"},
		{"git status && go vet ./...", `default: bash without a sandbox, on "go vet ./..."`, "--allow 'bash(go vet ./...)'"},
		{"go vet; id", `default: bash without a sandbox, on "go vet"`, "(and 1 more of its parts). The user can allow it with --allow 'bash(go vet)' --allow 'bash(id)'."},
		{"go vet $X y", `default: bash without a sandbox, on "go vet $X y"`, "no rule allows it"},
		{"echo $X y", `default: bash without a sandbox, on "echo $X y"`, "--allow 'bash(echo *)'"},
		{"echo 'it''s'", `default: bash without a sandbox, on "echo 'it''s'"`, "--allow 'bash(echo its)'"},
		{"echo \"it's\"", `default: bash without a sandbox, on "echo \"it's\""`, `--allow 'bash(echo '\''it'\''\'\'''\''s'\'')'`},
		{"A=1 git status", `default: bash without a sandbox, on "A=1 git status"`, "the assignment in front changes what runs, and --allow bash(git status*) doesn't name it"},
		{"make V=1", `default: bash without a sandbox, on "make V=1"`, "--allow bash(make *) doesn't spell out what the command runs"},
		{"git status > x", `default: bash without a sandbox, on "> x"`, "--allow 'write(x)'"},
		{"git status", `--allow bash(git status*), on "git status"`, "Allowed by --allow bash(git status*)"},
		{"cat < secrets/" + strings.Repeat("x", 500) + "; id", `default: bash without a sandbox, on "cat"`, "--allow 'bash(cat)' --allow 'bash(id)'"},
	} {
		if v := p.command(t, c.command); v.Rule != c.rule || !strings.Contains(v.Text, c.text) {
			t.Errorf("%q:\n%s\n%s\nwant\n%s\n%s", c.command, v.Rule, v.Text, c.rule, c.text)
		}
	}
	v := p.command(t, "id "+strings.Repeat("\nx", 500))
	if len(v.Text) > 2000 || strings.Contains(v.Text, "\n") {
		t.Errorf("the text is long or has lines: %d bytes", len(v.Text))
	}
}
