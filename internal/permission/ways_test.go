package permission

import "testing"

// planning is plan mode in the sandbox, boxed the sandbox with one denied
// command: in both, what isn't judged right would run.
func planning(t *testing.T) *Policy { return newPolicy(t, Config{Plan: true, Sandboxed: true}) }
func boxed(t *testing.T) *Policy {
	return newPolicy(t, Config{Sandboxed: true}, "deny bash(rm *)")
}

// {NAME}<file sets a variable, which steers what runs behind it.
func TestE47_X04_RedirectionsThatSetVariables(t *testing.T) {
	texts := []string{
		"git status {HOME}</dev/null", "{HOME}</dev/null git status", "ls {x}</dev/null >out", "{ git status; } {HOME}</dev/null", "(git status) {PATH}</dev/null", "for i in 1; do git status; done {HOME}</dev/null",
		"while git status; do ls; done {GIT_DIR}<x", "if ls; then ls; fi {IFS}<x", "case a in a) ls;; esac {x}<y", "f() { ls; } {x}</dev/null", "ls {x}>/dev/null", "ls {x}>>/dev/null", "ls {x}<>/dev/null", "ls {x}>|/dev/null",
		"ls {x}<<E\nE", "ls {x}<<-E\nE", "ls {x}<<<y", "ls {HOME}<&0", "ls {HOME}>&1", "ls {x}<&-", "ls {a[1]}</dev/null", "ls {a[x]}</dev/null", "ls {x}&>/dev/null", "ls 2>&1 {x}</dev/null", "ls $(ls {x}</dev/null)",
		"{_}</dev/null ls", "ls {a,b}</dev/null", "[[ -f x ]] {x}</dev/null", "sh -c 'ls {HOME}</dev/null'", "time ls {x}</dev/null", "! ls {x}</dev/null", "exec {x}</dev/null",
	}
	check(t, x04(t), Ask, texts...)
	check(t, planning(t), Deny, texts...)
	check(t, boxed(t), Ask, texts...)
	check(t, x04(t), Allow, "ls <x", "ls ${x}</dev/null", "ls \"{x}\" </dev/null", "{ ls; } </dev/null", "ls 2>/dev/null", "ls 0</dev/null", "ls {x} </dev/null", "{ ls; }>/dev/null")
}

// What xargs puts into a command is told from the options that it reads.
func TestE47_X04_XargsOptions(t *testing.T) {
	texts := []string{
		"xargs -I A -I status git status", "xargs -I status -I {} git status", "xargs -I zz -I ls ls x", "xargs -dI -Istatus git status", "xargs -dI -I status git status", "xargs -0I status git status", "xargs -0rI ls ls", "xargs -I '' ls", "xargs -I", "xargs -n", "xargs -i ls", "xargs -istatus git status",
		"xargs --replace=status git status", "xargs --replace git status", "xargs --repl=ls ls", "xargs -a x ls", "xargs -J x ls", "xargs -n$X ls", "xargs -n $X ls", "xargs $X ls", "xargs -e ls", "xargs -l ls", "xargs -nI -Istatus git status", "xargs -I{} -I status git status", "xargs -EI -I status git status",
		"xargs --process-slot-var=PATH ls", "xargs --arg-file=x ls", "xargs -o ls", "xargs -p ls", "xargs -R 1 ls", "xargs -I l ls", "xargs -I s git status",
	}
	check(t, x04(t), Ask, texts...)
	check(t, newPolicy(t, Config{Plan: true, Sandboxed: true}), Deny, "xargs -I z -I ls-files git ls-files -- victim", "xargs -I z -I cat cat victim", "xargs -dI -Icat cat x", "xargs -0I cat cat x")
	check(t, boxed(t), Ask, "xargs -I A -I cat cat x", "xargs -dI -Icat cat x")
	check(t, x04(t), Allow, "xargs ls", "xargs -0 -n 1 ls -l", "xargs -0rn1 ls", "xargs -I{} ls {}", "xargs -I {} ls {}", "xargs -P4 -n 2 ls", "xargs -d '\\n' ls", "xargs -d, ls", "xargs --null --max-args=1 ls", "xargs -- ls", "xargs -n 1 -- ls")
}

// The value of an option can be --, which then ends nothing.
func TestE47_X04_DashesAsValue(t *testing.T) {
	for allow, texts := range map[string][]string{
		"git *": {"git grep -e x -e -- --open-files-in-pager=id", "git grep -e -- -Oid x", "git ls-remote -o -- --upload-pack=id .", "git fetch -o -- --upload-pack=id .", "git clone -b -- -u id . d", "git clone -o -- -c core.x=id . d", "git log -S -- --output=x", "git log --grep -- --output=x",
			"git blame -S -- --output=x", "git push -o -- --receive-pack=id .", "git rebase --onto -- --exec id", "git log -G -- $X", "git log -n -- --ext-diff", "git log --since -- --out=x"},
		"go *":    {"go build -tags -- -toolexec id .", "go vet -tags -- -vettool=id .", "go list -tags -- -toolexec id .", "go test -run -- -exec id", "go build -o -- --toolexec=id", "go test -p -- $X"},
		"tar *":   {"tar -cf -- -I id x", "tar cf -- -I id x", "tar -f -- -c --to-command=id", "tar cfb -- x -Iid", "tar -cf x -- -Iid y"},
		"make *":  {"make -o -- -f x", "make -W -- --eval=id", "make -j -- -C x"},
		"gcc *":   {"gcc -o -- -wrapper id x.c", "gcc -- -wrapper id", "gcc -x -- -fplugin=x"},
		"sort *":  {"sort --random-source -- --compress-program=id", "sort -T -- --compress-program=id x", "sort -k -- --comp=id", "sort -t -- $X", "sort --random-source -- -o x", "sort -ox y", "sort --outp=x y"},
		"rg *":    {"rg -e -- --pre id x", "rg -g -- --pre=id"},
		"fd *":    {"fd -e -- -x id", "fd -E -- --exec id"},
		"rsync *": {"rsync -f -- -e id x y", "rsync x -- -eid"},
		"man *":   {"man -s -- -P id"},
	} {
		check(t, newPolicy(t, Config{}, "allow bash("+allow+")"), Ask, texts...)
	}
	check(t, planning(t), Deny, "sort --random-source -- -o x y", "sort -t -- -ox y", "git blame -S -- --output=x", "git log -S -- --output=x", "git log --grep -- --output=x", "git grep -e -- -Oid x", "git show -O -- --output=x", "find . -name -- -delete", "rg -e -- --pre id", "tree -I -- -o x", "file -F -- -C", "git log -S -- $X", "uniq -f -- x y",
		"sort --files0-from -- -o x y", "date -f -- -s x", "git diff --no-index -- a --output=x -- b")
	check(t, newPolicy(t, Config{}, "allow bash(git *)", "allow bash(go *)", "allow bash(sort *)"), Allow, "git log -- $X", "git log --oneline -- $X", "git log --oneline -5 HEAD -- $X", "git diff HEAD~1 -- \"$X\"", "git diff --cached -- a b", "git checkout HEAD -- a", "git add -- a -O", "go test . -- $X", "sort x -- -o", "git log --author=x -- $X", "git grep -e x -- '*.go'", "git log -p -- a")
	check(t, planning(t), Allow, "git log --oneline -- \"$X\"", "git diff HEAD~1 -- \"$X\"", "sort -- a", "git grep -n x -- a", "git log -p -- a", "sort -k 2 -- a")
}

// Texts that other programs read, and words that are commands, can't be seen.
func TestE47_X04_TextsThatCantBeSeen(t *testing.T) {
	texts := []string{
		"bash /dev/stdin <<< x", "sh /dev/stdin", "bash /proc/self/fd/0", "bash /dev/fd/0", "bash /proc/$$/fd/0", "bash ../../../dev/stdin", "bash /dev/../dev/stdin", ". /dev/stdin", "source /dev/fd/3", ". /proc/self/environ", "python3 /dev/stdin", "node /proc/self/fd/0", "perl /dev//stdin", "cd /; bash dev/stdin", "cd /proc/self; . fd/0",
		"bash -", "sh - x", "bash -c - 'x'", "bash +x x", "bash +x -c x", "bash +e +x -c x", "bash -c +x x", "bash +O extglob -c x", "sh +e x.sh", "dash +e -c x", "bash -x +e -c x", "bash -o posix -c x", "bash -O expand_aliases -c x",
		"time -- $X", "time -- ls", "time -p -- ls", "mapfile -C 'x' -c 1 a", "mapfile -tC x a", "readarray -c1 -C x a", "compgen -C x", "compgen -W '$(x)'", "jobs -x ls", "hash -p /bin/x ls", "history -s x", "bind x", "complete -C x y", "enable -f x y", "alias x=y",
		"declare -i x=y", "typeset -i x", "local -i x=y", "declare -xi x=y", "declare -n x=y", "declare -a 'y=([x]=1)'", "declare -a y=$X", "declare 'x[$(y)]=1'", "readonly -a x=(1 2)", "export -n x=$Y -i", "a=([x]=1)", "a=([$x]=1)", "a[x]=1", "unset 'a[x]'", "read 'a[x]'", "RANDOM='a[x]'", "OPTIND=x", "HISTCMD=x", "SRANDOM=$x",
		"PS4='x'; set -x", "PS4=x bash -c ls", "export PS4=x", "for PS4 in x; do ls; done", "read PS4", "printf -v PS4 x", "PROMPT_COMMAND=x", "BASH_ALIASES=([a]=x)", "BASH_ALIASES[a]=x", "BASH_CMDS[a]=/bin/x", "shopt -s expand_aliases", "shopt -s extglob", "BASH_ENV=x bash -c ls", "ENV=x sh -c ls", "export BASH_ENV=x", "env BASH_ENV=x bash -c ls", "env PS4=x ls",
		"GIT_EXTERNAL_DIFF=x git diff", "GIT_SSH_COMMAND='x y' git fetch", "GIT_PAGER='x y' git log", "PAGER='x y' man ls", "EDITOR='x' git commit", "LESSOPEN='|x' ls", "NODE_OPTIONS='-r x' node y.js", "PERL5OPT=x perl y", "GOFLAGS=-toolexec=x go build", "MAKEFLAGS=--eval=x make", "LD_PRELOAD=./x ls", "npm_config_script_shell=x npm ci", "RUSTC_WRAPPER=x cargo build", "CC='x y' make", "RSYNC_RSH=x rsync a b", "TAR_OPTIONS=x tar xf y", "GIT_CONFIG_COUNT=1 git log", "PYTHONSTARTUP=x python3 y.py", "JAVA_TOOL_OPTIONS=x ls",
		"npm exec x", "npm x y", "npm exec -c x", "npx x", "pnpm dlx x", "pnpm exec x", "yarn dlx x", "yarn exec x", "bunx x", "uvx x", "uv run x", "pipx run x", "tmux -c x", "tmux new x", "screen -dm x", "start-stop-daemon --start --exec /bin/x", "choom -n 0 -- x", "run-parts x", "git bisect run x", "git submodule foreach x", "git config alias.x '!y'", "git config core.pager 'x y'", "git filter-branch --tree-filter x", "git difftool -x y", "systemd-run x",
		"make 'A=$(shell x)'", "make CC='x y'", "make SHELL=x", "make -f -", "make -f/dev/stdin", "make -f <(x)", "git clone 'ext::x' y", "git remote-ext a x", "git x", "git-x y", "git config --comment user.x core.pager y", "git config -f user.x core.pager y", "npm rum x", "npm exe x", "python3 -m timeit x", "python3 -m pdb -c x y", "/proc/self/exe -c x", "/dev/fd/3 x", "/lib/ld64.so.2 x", "tar xTf a b", "pee x", "ifne x", "ccache x", "gh alias set a '!x'", "helm x --post-renderer y", "rustc -Clinker=x y", "ssh-keygen -D x", "ifne x", "ldd /dev/stdin", "vim.tiny x", "nc.openbsd x", "bash-static -c \"$X\"", "perl5.36-x86_64-linux-gnu -e x", "python3-dbg -c x", "editor x", "flatpak-spawn --host x", "run0 x", "composer exec x", "env 'BASH_FUNC_ls%%=() { x; }' bash -c ls", "LUA_INIT_5_4=x lua y", "ls >&'$(x)'", "ls >&1'`x`'", "ls <&'$(x)'", "ls >&\\$x", "ls 2>&\"\\$(x)\"", "echo x | swipl", "/usr/bin/git-remote-ext a b", "aarch64-linux-gnu-gcc -wrapper x y.c", "hyperfine x", "xterm -e x", "logsave x y", "watchexec x", "m4 x", "sg x -c y", "runcon x y", "corepack yarn x", "set -o history", "command -- $X", "fzf --preview x", "find . -exec bash +x -c y \\;",
	}
	check(t, boxed(t), Ask, texts...)
	check(t, newPolicy(t, Config{Sandboxed: true}), Allow, texts...)
	check(t, newPolicy(t, Config{Plan: true, Sandboxed: true}), Deny, texts...)
	check(t, boxed(t), Deny, "bash /dev/stdin <<< 'rm x'", ". /dev/stdin <<< 'rm x'", "bash +x -c 'rm x'", "time -- rm x", "time -p -- rm x", "mapfile -C 'rm x;' a", "compgen -W '$(rm x)'", "jobs -x rm x", "hash -p /bin/rm foo; foo x", "npm exec rm x", "tmux -c 'rm x'", "PS4='$(rm x)'; set -x", "bash -c - 'rm x'", "GIT_EXTERNAL_DIFF='rm x' git diff", "git config alias.x '!rm y'", "x='b[$(rm x)]'; a=([x]=1)", "declare -i x='b[$(rm x)]'", "RANDOM='a[$(rm x)]'", "git bisect run rm x", "for PS4 in '$(rm x)'; do set -x; done")
	check(t, boxed(t), Allow, "set -euo pipefail; ls", "set -x", "set -- a b", "declare x=1", "local x=$1", "export A=b", "export A=\"$B\"", "declare -r x=1", "a=(1 2); ls", "a=($X)", "read -r x", "declare -A m", "shopt -s nullglob", "mapfile -t a < x", "bash x.sh", "bash -x x.sh", "bash -c 'ls'", "time ls", "time -p ls", "for f in *; do ls \"$f\"; done", "x=1; y=\"$x\"", "git config user.name x", "git config --list", "npm ci", "npm run build", "npm test", "PAGER=cat git log", "GIT_PAGER=cat git log", "EDITOR=true git commit", "CC=clang make", "GOFLAGS=-mod=mod go build",
		"CGO_ENABLED=0 go build", "sort x", "jobs -l", "hash -r", "PATH=$PATH:/x ls", "read x y", "wait", "git bisect good", "git submodule update --init", "python3 src/dev/x.py", "bash dev/run.sh", "CC=clang-17 make", "CC=aarch64-linux-gnu-gcc make", "make PREFIX=/usr V=1 install", "make -f x", "cmake -S . -B build", "python3 -m pytest", "./x.sh", "./script.sh", "./watch.py", "aarch64-linux-gnu-gcc x.c", "uname -a", "python3.12 x.py", "/usr/bin/env ls", "git config --global user.email x", "git rev-list HEAD", "git fast-export HEAD", "unset x", "x+=1")
}

// What has no shape can make a text look other than it is.
func TestE47_X04_CharactersWithoutShape(t *testing.T) {
	for _, c := range []rune{0xa0, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x180e, 0x200b, 0x200d, 0x2028, 0x202e, 0x2060, 0x2066, 0x2800, 0x3000, 0x3164, 0xfeff, 0xffa0, 0xfff9, 0x1d159, 0xe0001, 0xe0061} {
		check(t, x04(t), Ask, "ls "+string(c), "ls x"+string(c)+"y")
	}
	check(t, x04(t), Allow, "ls é 作 ☑", "ls \u26a0\ufe0f", "ls \ue0b0")
}

// A redirection in a text that can't be seen may be what a rule for files is
// about.
func TestE47_X04_FileRulesInUnseenTexts(t *testing.T) {
	p := newPolicy(t, Config{Sandboxed: true}, "deny write(secrets/**)")
	unseen := []string{"bash <<< 'echo x > y'", "env -C secrets sh -c 'echo x > z'", "eval \"$x\"", "sh -o noclobber -c 'echo x > z'", "setsid -x sh -c 'echo > z'", "bash +x -c 'echo > z'", "$X", "find . -execdir sh -c 'echo > z' \\;", "echo 'echo > z' | sh", "{ ls; } {x}>z", "ln -s secrets l; ls > l/z", "mv secrets l; ls > l/z", "time -- sh -c 'cd secrets; ls > z'"}
	check(t, p, Ask, unseen...)
	check(t, p, Ask, "ls > /proc/self/cwd/secrets/z", "ls > /dev/fd/../cwd/secrets/z", "ls > ../../../../proc/self/cwd/secrets/z", "ls > s*ts/z", "ls > $PWD/secrets/z", "ls > ~+/secrets/z", "ls > secret{s,}/z")
	check(t, newPolicy(t, Config{Sandboxed: true}, "ask write(secrets/**)"), Ask, unseen...)
	check(t, newPolicy(t, Config{Sandboxed: true}, "deny read(secrets/**)"), Ask, "bash <<< 'cat < y'", "eval \"$x\"", "env -C secrets sh -c 'cat < z'")
	check(t, newPolicy(t, Config{Sandboxed: true}, "deny write"), Ask, "eval \"$x\"", "bash -s")
	check(t, newPolicy(t, Config{}, "allow bash", "deny write(secrets/**)"), Ask, unseen...)
	check(t, p, Deny, "bash <<< 'echo x > secrets/z'", "x='echo x > secrets/z'; eval \"$x\"", "bash +x -c 'echo x >\"secrets/z\"'", "sh -o noclobber -c 'echo x >| secrets/z'", "env -C . sh -c 'echo x >>./secrets/z'", "sh -s <<'E'\nls &>secrets/z\nE", "python3 -c 'import os; os.system(\"ls > secrets/z\")'")
	check(t, newPolicy(t, Config{Sandboxed: true}, "deny read(secrets/**)"), Deny, "bash <<< 'cat < secrets/z'")
	check(t, p, Allow, "ls", "ls > out", "sh -c 'ls > out'", "python3 x.py > out", "make", "for i in 1; do ls > out; done")
	check(t, newPolicy(t, Config{Sandboxed: true}, "allow write(out/**)"), Allow, unseen...)
	check(t, newPolicy(t, Config{Sandboxed: true}, "deny edit(secrets/**)"), Allow, "eval \"$x\"")
}

// A star doesn't cover the words by which a program runs others or writes
// elsewhere.
func TestE47_X04_StarsAndProgramsThatRunOthers(t *testing.T) {
	for _, c := range []struct {
		allow      string
		yes, still []string
	}{
		{"tmux *", nil, []string{"tmux -c id", "tmux new -d id", "tmux", "tmux ls"}},
		{"run-parts *", nil, []string{"run-parts x", "run-parts --test x"}},
		{"screen *", nil, []string{"screen -dm id"}},
		{"gcc *", []string{"gcc -O2 -o x x.c", "gcc -Wl,-rpath,x -Wall x.c", "gcc -Wl,--as-needed x.c", "gcc -c x.c -lm"}, []string{"gcc -Wl,-plugin,./e.so x.c", "gcc -Wl,--plugin=./e.so x.c", "gcc -Xlinker -plugin -Xlinker ./e.so x.c", "gcc --specs=x y.c", "gcc -wrapper id x.c", "gcc -fuse-ld=./x y.c", "gcc -Wl,-O1,-plugin,x y.c", "gcc -Wl,@x y.c", "gcc -Wa,@x y.c", "gcc -Xassembler @x y.c", "gcc -no-canonical-prefixes -Bx y.c", "gcc -fplugin-arg-x y.c"}},
		{"clang *", []string{"clang x.c"}, []string{"clang -Xclang -load -Xclang x.so y.c", "clang -fpass-plugin=x y.c", "clang --ld-path=x y.c", "clang -mllvm -load=x y.c", "clang --config=x y.c", "clang --config x y.c"}},
		{"ld *", []string{"ld -o x y.o"}, []string{"ld -plugin x y.o", "ld --plugin=x y.o", "ld -plugin=x", "ld @x"}},
		{"openssl *", []string{"openssl dgst -sha256 x", "openssl version"}, []string{"openssl dgst -engine ./e.so x", "openssl dgst -provider x -provider-path . y", "openssl req -config x", "openssl engine dynamic -pre SO_PATH:x", "openssl -- -engine x", "openssl $X", "openssl dgst --engine=x"}},
		{"git *", []string{"git diff-tree HEAD", "git whatchanged", "git stash show -p"}, []string{"git diff-tree HEAD --output=x", "git whatchanged --output=x", "git stash show --output=x", "git diff-index --output x HEAD", "git diff-files --outp=x", "git range-diff --output=x a b", "git reflog --output=x", "git shortlog --output=x", "git format-patch -o x", "git archive -o x HEAD", "git archive --output=x HEAD", "git show-branch --exec=id", "git rev-list --output=x HEAD"}},
		{"git diff-tree *", []string{"git diff-tree HEAD"}, []string{"git diff-tree HEAD --output=x"}},
		{"go *", []string{"go vet ./..."}, []string{"go env -w GOFLAGS=x", "go env -u GOFLAGS", "go bug"}},
		{"go env *", []string{"go env GOPATH", "go env", "go env -json"}, []string{"go env -w GOFLAGS=x", "go env -w=true GOFLAGS=x", "go env --w GOFLAGS=x", "go env -u GOFLAGS", "go env $X", "go env GOPATH -w"}},
		{"man *", []string{"man ls"}, []string{"man -C x ls", "man --config-file=x ls", "man -P id ls", "man --pager=id ls"}},
		{"wget *", []string{"wget http://h"}, []string{"wget -e x=y h", "wget --use-askpass=id h", "wget --config=x h"}},
		{"curl *", []string{"curl -s h"}, []string{"curl -K x", "curl --conf x", "curl --engine x h"}},
		{"start-stop-daemon *", nil, []string{"start-stop-daemon --start --exec id"}},
		{"env *", []string{"env"}, []string{"for https_proxy in x; do env; done", "for npm_config_x in y; do env; done", "for HTTP_PROXY in x; do env; done", "for no_proxy in x; do env; done", "for all_proxy in x; do env; done", "for git_x in y; do env; done", "select https_proxy in x; do env; done", "read https_proxy; env", "env {https_proxy}</dev/null", "export https_proxy=x; env", "https_proxy=x; env", "https_proxy=x env"}},
		{"ls *", []string{"for f in a b; do ls $f; done", "for file_name in a; do ls; done", "for i in 1 2; do ls; done", "for dir in a; do ls; done"}, []string{"for F in a; do ls; done", "for LC_x in a; do ls; done"}},
		{"ssh-keygen *", nil, []string{"ssh-keygen -D ./e.so"}},
		{"ar *", []string{"ar rcs x y"}, []string{"ar --plugin x y", "ar r --plugin=x y"}},
		{"nm *", []string{"nm x"}, []string{"nm --plugin x y"}},
		{"rpm *", []string{"rpm -qa"}, []string{"rpm --eval '%(id)'", "rpm -E '%(id)'", "rpm --pipe id -qa", "rpm --define 'x %(id)'", "rpm -D x"}},
		{"ctags *", []string{"ctags -R"}, []string{"ctags --options=x"}},
		{"cpio *", []string{"cpio -it"}, []string{"cpio --rsh-command=id -F h:x"}},
		{"less *", nil, []string{"less x"}},
		{"journalctl *", []string{"journalctl -n 5"}, nil},
	} {
		t.Run(c.allow, func(t *testing.T) {
			p := newPolicy(t, Config{}, "allow bash("+c.allow+")")
			check(t, p, Allow, c.yes...)
			check(t, p, Ask, c.still...)
		})
	}
	check(t, planning(t), Deny, "for https_proxy in x; do ls; done", "go env -w A=b")
	check(t, planning(t), Allow, "for f in *; do wc \"$f\"; done")
}
