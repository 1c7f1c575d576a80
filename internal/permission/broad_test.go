package permission

import (
	"strings"
	"testing"
)

// A pattern that names a wrapper, an interpreter or a program with options
// that run others, and nothing else, isn't about what they run.
func TestE47_X04_BroadPatterns(t *testing.T) {
	for _, c := range []struct {
		allow      string
		yes, still []string // allowed by the pattern, and asked for in spite of it
	}{
		{"env *", []string{"env"}, []string{"env id", "env A=1 id", "env -i id", "env -S 'id'", "env - id", "/usr/bin/env"}},
		{"timeout *", nil, []string{"timeout 5 id", "timeout -s KILL 5 id", "timeout --foo id"}},
		{"nice *", []string{"nice"}, []string{"nice id", "nice -n 5 id"}},
		{"nohup *", []string{"nohup"}, []string{"nohup id"}},
		{"command *", []string{"command -v id", "command -V id"}, []string{"command id", "command -p id"}},
		{"exec *", []string{"exec"}, []string{"exec id", "exec -a x id"}},
		{"xargs *", []string{"xargs", "xargs -n 1"}, []string{"xargs id", "xargs -I{} {}", "xargs sh -c id"}},
		{"sudo *", []string{"sudo -n"}, []string{"sudo id", "sudo -i", "sudo -s", "sudo -u x id", "sudo A=1 id"}},
		{"busybox *", []string{"busybox"}, []string{"busybox id", "busybox sh -c id"}},
		{"find *", []string{"find . -name '*.go'", "find . -type f -delete"}, []string{"find . -exec id \\;", "find . -execdir id {} +", "find . -ok id \\;", "find $X -name y", "find . -exec", "find . -exec sh -c 'id' \\;"}},
		{"sh *", nil, []string{"sh", "sh -c id", "sh x.sh", "sh -s", "sh -x x.sh"}},
		{"bash *", nil, []string{"bash -c id", "bash x.sh", "bash <(ls)", "bash --login"}},
		{"eval *", []string{"eval"}, []string{"eval id", "eval 'id'"}},
		{"source *", nil, []string{"source x", "source"}},
		{"trap *", []string{"trap", "trap - EXIT", "trap '' INT"}, []string{"trap id EXIT", "trap -- id EXIT"}},
		{"python *", []string{"python --version"}, []string{"python x.py", "python", "python -c x", "python -m x", "python -", "python -uc x", "python -W x y"}},
		{"python3 *", nil, []string{"python3 x.py", "python3 <<E\nprint(1)\nE"}},
		{"node *", nil, []string{"node x.js", "node -e x", "node --eval=x", "node -r x y"}},
		{"perl *", nil, []string{"perl x", "perl -ne x", "perl -wle x"}},
		{"awk *", []string{"awk '{print $1}' x", "awk -F: '/a/ {n++} END {print n}'", "awk -v x=1 '{print x}'"}, []string{"awk '{system($1)}'", "awk '{print > \"x\"}'", "awk '{print | \"id\"}'", "awk -f x", "awk -- '{system(1)}'", "awk $X", "awk '\"id\"|getline'", "awk '@load \"x\"'"}},
		{"sed *", []string{"sed -n '1,5p' x", "sed 's/a/b/g' x", "sed -E 's|a|b|' x", "sed '/a/d'", "sed '$p'"}, []string{"sed -i 's/a/b/' x", "sed '1e id' x", "sed 's/a/id/e' x", "sed 'w x'", "sed -f x", "sed p -e '1e id'", "sed p --expression=e", "sed 's/a/b/w x'", "sed 'p;e id'", "sed p $X", "sed -n $X"}},
		{"git *", []string{"git log", "git --no-pager diff", "git add -A", "git commit -m 'a; b'", "git push -u origin main", "git log -- $X", "git fetch"}, []string{"git -c a=b log", "git -ca=b log", "git -C x log", "git --git-dir x log", "git --exec-path=x log", "git foo", "git config alias.x '!id'", "git rebase --exec id", "git rebase -x id",
			"git grep -Oid x", "git grep --open-files=id x", "git clone -u id x", "git fetch --upload-pack id", "git push --receive-pack=id", "git push --rec=id", "git bisect run id", "git submodule foreach id", "git log --output=x", "git diff --ext-diff", "git difftool -x id", "git $X", "git log $X", "git clone -c core.x=y z", "git hook run x", "git -p log", "git filter-branch --tree-filter id", "git push ext::id"}},
		{"go *", []string{"go test ./...", "go build -o x .", "go vet ./...", "go version", "go mod tidy"}, []string{"go run x.go", "go run -race x.go", "go generate ./...", "go tool x", "go env -w GOFLAGS=x", "go test -exec id", "go vet -vettool=id", "go build -toolexec=id", "go -C x test", "go build -ldflags '-extld=id'"}},
		{"npm *", []string{"npm ci", "npm --version"}, []string{"npm run x", "npm exec x", "npm x y", "npm --prefix x run y", "npm run --silent x"}},
		{"make *", []string{"make", "make test", "make -j4 test"}, []string{"make --eval=id", "make -f x", "make --makefile x", "make -C x", "make CC=id", "make -- CC=id", "make $X", "make -E id", "make --ev=id"}},
		{"tar *", []string{"tar xf x", "tar -czf x y"}, []string{"tar xf x --to-command=id", "tar -I id -xf x", "tar xIf id x", "tar --use-compress=id -xf x", "tar --checkpoint-action=exec=id -cf x y", "tar -xFf id x"}},
		{"rsync *", []string{"rsync -a x y"}, []string{"rsync -e id x y", "rsync -ae id x y", "rsync --rsh=id x y"}},
		{"sort *", []string{"sort -u x"}, []string{"sort --compress-program=id x", "sort --comp=id x", "sort $X"}},
		{"rg *", []string{"rg -n x"}, []string{"rg --pre id x", "rg --pre=id x", "rg $X"}},
		{"fd *", []string{"fd x"}, []string{"fd -x id", "fd --exec id", "fd -X id"}},
		{"zip *", nil, []string{"zip -TT id x y", "zip --unzip-command id x"}},
		{"curl *", []string{"curl -s http://h"}, []string{"curl -K x", "curl --config x", "curl -sK x"}},
		{"vim *", nil, []string{"vim x", "vim -c '!id'"}},
		{"ssh *", nil, []string{"ssh h", "ssh h id"}},
		{"docker *", []string{"docker ps -a"}, []string{"docker run x id", "docker exec x id", "docker --host x ps", "docker compose up"}},
		{"npx *", nil, []string{"npx x"}},
		{"export *", nil, []string{"export PATH=x", "export X", "export $X"}},
		{"read *", nil, []string{"read PATH"}},
		{"printf *", []string{"printf '%s' x", "printf -- %s x", "printf '%s' \"$x\""}, []string{"printf -v x y", "printf -vx y", "printf $X", "printf \"$X\" y"}},
		{"[ *", []string{"[ -f x ]", "[ -n \"$x\" ]", "[ \"$a\" = \"$b\" ]", "[ ! -e \"$x\" ]", "[ a = b -a c = d ]", "[ x ]"}, []string{"[ -v x ]", "[ $x ]", "[ -n $x ]", "[ \"$x\" y ]", "[ a -o \"$x\" \"$y\" ]", "[ \"$@\" ]", "[ -R x ]", "[ \"${a[@]}\" ]"}},
		{"alias *", nil, []string{"alias ls=id", "alias"}},
		{"gcc *", []string{"gcc -O2 -o x x.c"}, []string{"gcc -wrapper id x.c", "gcc @x", "gcc -Bx y.c", "gcc -fplugin=x y.c", "gcc -specs=x y.c"}},
		{"ip *", []string{"ip addr"}, []string{"ip netns exec x id", "ip -b x"}},
		{"cargo *", []string{"cargo build"}, []string{"cargo run", "cargo --config x build", "cargo build --config x"}},
		{"/lib/ld-linux.so.2 *", nil, []string{"/lib/ld-linux.so.2 /bin/id"}},
		{"cd *", []string{"cd x", "cd"}, []string{"cd x && id"}},
	} {
		t.Run(c.allow, func(t *testing.T) {
			p := newPolicy(t, Config{}, "allow bash("+c.allow+")")
			check(t, p, Allow, c.yes...)
			check(t, p, Ask, c.still...)
		})
	}
}

// Code and wrapped commands are allowed by a pattern that spells them out.
func TestE47_X04_SpelledOut(t *testing.T) {
	for _, c := range []struct {
		allow, yes string
		still      []string
	}{
		{"sh -c 'ls; id'", "sh -c 'ls; id'", []string{"sh -c 'ls; id; x'", "sh -c ls", "sh -c 'ls; id' x"}},
		{"python3 -c 'print(1)'", "python3 -c \"print(1)\"", []string{"python3 -c 'print(2)'"}},
		{"python3 x.py *", "python3 x.py --a b", []string{"python3 y.py", "python3 -u x.py"}},
		{"python3 -m pytest *", "python3 -m pytest -q", []string{"python3 -m http.server"}},
		{"timeout 60 make *", "timeout 60 make test", []string{"timeout 61 make test", "timeout 60 id", "timeout 60 make CC=x"}},
		{"env A=1 make *", "env A=1 make x", []string{"env A=2 make x", "A=1 make x", "env A=1 B=2 make x"}},
		{"A=1 make *", "A=1 make x", []string{"A=2 make x", "make x", "A=1 B=2 make x", "A=1 id"}},
		{"A=* make", "A=x make", []string{"A=x make y", "B=x make"}},
		{"sudo systemctl status *", "sudo systemctl status x", []string{"sudo systemctl stop x", "sudo -u y systemctl status x"}},
		{"npm run build", "npm run build", []string{"npm run x", "npm run build x"}},
		{"git -C sub status", "git -C sub status", []string{"git -C x status", "git status"}},
		{"find . -name x -exec ls {} ';'", "find . -name x -exec ls {} \\;", []string{"find . -exec ls {} \\;"}},
		{"x=*", "x=1", []string{"PATH=1", "x=1 ls", "x=$(id)"}},
		{"./build.sh *", "./build.sh a b", []string{"build.sh a", "sh ./build.sh a", "x/build.sh"}},
		{"ls 'a b' \"c d\" e\\ f", "ls a\\ b 'c d' 'e f'", []string{"ls a b c d e f"}},
		{"ls '*'", "ls '*'", []string{"ls *", "ls x"}},
		{"git * main", "git log main", []string{"git log x main", "git -c a=b main", "git log"}},
		{"go test ./*/x", "go test ./a/x", []string{"go test ./a/y", "go test ./$X/x"}},
		{"ls a b", "ls a b", []string{"ls a$X b", "ls a b$X", "ls a b $X"}},
		{"ls ä", "ls ä", []string{"ls $'\\u00e4'"}},
		{"ls --a=*", "ls --a=b c", []string{"ls", "ls --b=c", "ls $X"}},
	} {
		t.Run(c.allow, func(t *testing.T) {
			p := newPolicy(t, Config{}, "allow bash("+c.allow+")")
			check(t, p, Allow, c.yes)
			check(t, p, Ask, c.still...)
		})
	}
	t.Run("both parts allowed", func(t *testing.T) {
		p := newPolicy(t, Config{}, "allow bash(find *)", "allow bash(sudo *)", "allow bash(ls *)")
		check(t, p, Allow, "find . -exec ls {} \\;", "find . -exec ls -l {} + -exec ls {} +", "sudo ls", "sudo -n -u x ls -l", "find . -exec timeout 5 ls {} \\;")
		check(t, p, Ask, "find . -exec ls {} \\; -exec id \\;", "sudo id", "find . -exec {} \\;", "find $X -exec ls {} \\;", "./find . -exec ls \\;")
	})
}

// A denied command stays denied whatever is put around it, and whatever else
// is allowed.
func TestE47_X04_DenyGetsNoWeaker(t *testing.T) {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	around := []func(string) string{
		func(s string) string { return "ls; " + s },
		func(s string) string { return s + " | ls" },
		func(s string) string { return "(" + s + "\n)" },
		func(s string) string { return "{ " + s + "\n}" },
		func(s string) string { return "ls \"$(" + s + "\n)\"" },
		func(s string) string { return "if ls; then " + s + "\nfi" },
		func(s string) string { return "f() {\n" + s + "\n}" },
		func(s string) string { return "sh -c " + quote(s) },
		func(s string) string { return "bash -ec " + quote(s) },
		func(s string) string { return "eval " + quote(s) },
		func(s string) string { return "trap " + quote(s) + " EXIT" },
		func(s string) string { return "env A=b timeout 5 sh -c " + quote(s) },
		func(s string) string { return "find . -exec sh -c " + quote(s) + " \\;" },
		func(s string) string { return "xargs -n 1 sh -c " + quote(s) },
		func(s string) string { return "sudo sh -c " + quote(s) },
		func(s string) string { return s + "\n'" },
		func(s string) string { return "PATH=/tmp X=1 sh -c " + quote(s) },
	}
	// Of these the text isn't read, so it must name the command.
	unread := []func(string) string{
		func(s string) string { return "$X -c " + quote(s) },
		func(s string) string { return "true; python3 -c " + quote(s) },
		func(s string) string { return "ssh h " + quote(s) },
		func(s string) string { return "sh <<'E'\n" + s + "\nE" },
		func(s string) string { return "X=" + quote(s) + "; $X" },
	}
	policies := map[string]*Policy{
		"asking":             x04(t),
		"sandboxed":          newPolicy(t, Config{Sandboxed: true}, "deny bash(rm *)", "deny bash(curl *)"),
		"bash allowed":       newPolicy(t, Config{}, "allow bash", "deny bash(rm *)", "deny bash(curl *)"),
		"everything allowed": newPolicy(t, Config{Sandboxed: true}, "allow bash(*)", "deny bash(rm *)", "deny bash(curl *)", "allow bash(rm *)", "ask bash(rm x)"),
	}
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			check(t, p, Deny, denied()...)
			for _, s := range denied() {
				for _, once := range around {
					if v := p.command(t, once(s)); v.Do != Deny {
						t.Errorf("%q: %s: %s", once(s), v.Do, v.Text)
					}
				}
			}
			for _, s := range []string{"rm x", "ls && /bin/rm -f x", "env rm x"} {
				for _, once := range around {
					for _, twice := range append(unread, around...) {
						if v := p.command(t, twice(once(s))); v.Do != Deny {
							t.Errorf("%q: %s: %s", twice(once(s)), v.Do, v.Text)
						}
					}
				}
			}
		})
	}
}

// What the parser can't see asks as soon as a rule refuses or asks for some
// commands, and is allowed in the sandbox otherwise.
func TestE47_X04_UnseenAsksBesideDenyRules(t *testing.T) {
	unseen := []string{"$X a", "eval \"$X\"", "sh -c \"$X\"", "ls | sh", "python3 -c 'x'", "ls $((x))", "ls '", "ssh h id", "!!", "source <(ls)", "a[x]=1; ls", "env A=$X ls", "find . -exec {} \\;", "python3 $X", "git -ccore.pager=x log", "timeout $X ls", "nice -n $X ls", "unset $X", "printf -v 'a[b]' x", "[ -v x ]", "sed -f x y", "sort --compress-p=x y", "ls \x01", "xargs -a x id"}
	check(t, newPolicy(t, Config{Sandboxed: true}, "deny bash(rm *)"), Ask, unseen...)
	check(t, newPolicy(t, Config{Sandboxed: true}, "ask bash(git push *)"), Ask, unseen...)
	check(t, newPolicy(t, Config{}, "allow bash", "deny bash(rm *)"), Ask, unseen...)
	check(t, newPolicy(t, Config{Sandboxed: true}), Allow, unseen...)
	check(t, newPolicy(t, Config{}, "allow bash"), Allow, unseen...)
	check(t, newPolicy(t, Config{Sandboxed: true}, "deny bash(rm *)"), Allow, "ls", "python3 x.py", "make", "X=1 go build", "export A=b; ls", "ls > out", "for i in 1 2; do ls $i; done", "[ -n \"$x\" ] && ls", "sort --output x", "xargs ls")
}

// Denying rules see through options between their words.
func TestE47_X04_DenyPassesOverOptions(t *testing.T) {
	p := newPolicy(t, Config{Sandboxed: true}, "deny bash(git push *)", "deny bash(docker rm *)", "deny bash(ls -R)", "deny bash(dd*)", "deny bash(terraform * destroy)", "deny bash(./deploy.sh *)", "deny bash(a b c)")
	check(t, p, Deny, "git push", "git push origin", "git -C x push", "git -c a=b push", "git --no-pager push -f", "git --git-dir=x --work-tree y push", "docker --host x rm y", "docker rm", "/usr/bin/git push", "ls -R", "dd", "dd if=x", "/bin/dd x", "ddrescue x",
		"terraform x destroy", "./deploy.sh", "deploy.sh x", "sh deploy.sh", "x/deploy.sh", "source ./deploy.sh", "a -x b -y z c", "a b c", "git -C $X push")
	check(t, p, Allow, "git log push", "git pull", "ls -R x", "ls", "docker ps rm", "add", "deploy", "git stash push", "a b c d", "a x b c", "git log --format=push")
	check(t, p, Ask, "git $X", "git \"$X\" origin", "ls $X", "git p$X", "a $X b c", "git -$X push", "a b c $X")
	check(t, p, Allow, "git x$X", "ls x$X", "ls -R x$X", "git log $X")
}
