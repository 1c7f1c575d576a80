package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestE42_OrdinaryWork(t *testing.T) {
	w := newWorld(t, "home/work")
	s := w.confined(nil)
	for _, c := range []struct{ name, script, want string }{
		{"files", `mkdir -p a/b; echo x >a/b/c; mv a/b/c a/d; ln a/d a/e; ln -s d a/f; cat a/f; rm -r a/b; ls a | tr '\n' ' '`, "x\nd e f "},
		{"here document", "cat <<E\nhere\nE", "here"},
		{"process substitution", `diff <(echo a) <(echo a) && echo same`, "same"},
		{"output by name", `echo a >/dev/stderr; echo b >/dev/stdout; echo c >/dev/null; echo d`, "a\nb\nd"},
		{"temporary files", `f=$(mktemp) && echo x >$f && cat $f && [ "$(dirname $f)" = "$TMPDIR" ] && d=$(mktemp -d) && ls -d $d`, "x\n"},
		{"pipes", `mkfifo p; echo through >p & cat p; seq 1000 | tail -1`, "through\n1000"},
		{"job control", `set -m; sleep 100 & kill %1; wait %1; echo $?; jobs`, "143"},
		{"own children get signals", `sleep 100 & kill -9 $!; wait $!; echo $?`, "137"},
		{"new session", `setsid -w sh -c 'echo new'`, "new"},
		{"processes", `cat /proc/$$/comm; cat /proc/$PPID/comm >/dev/null && nproc >/dev/null && echo fine`, "bash\nfine"},
		{"ulimit of core dumps", `ulimit -c; ulimit -Hc`, "0\n0"},
		{"no new rights", `grep NoNewPrivs /proc/self/status`, "1"},
		{"standard places", `ls /usr /etc >/dev/null && cat /etc/passwd >/dev/null && echo fine`, "fine"},
		{"random", `head -c 8 /dev/urandom | wc -c`, "8"},
		{"parent is the caller", `[ $PPID = $PID ] && echo same`, "same"},
		{"name of the program", `tr '\0' ' ' </proc/$$/cmdline`, "/bin/bash -c"},
		{"local sockets by name", `[ -d "$TMPDIR" ] && echo fine`, "fine"},
	} {
		t.Run(c.name, func(t *testing.T) { w.t = t; w.works(s, c.script, c.want) })
	}
	t.Run("environment is the command's", func(t *testing.T) {
		w.t = t
		if out, _ := w.run(s, "env"); strings.Contains(out, "policy") || strings.Contains(out, keyOfOurs) || !strings.Contains(out, "HOME="+w.home+"\n") {
			t.Errorf("got %s", out)
		}
	})
	t.Run("exit codes", func(t *testing.T) {
		w.t = t
		for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "no-such-command": 127, "exit 126": 126, "kill -9 $$": -1} {
			if out, code := w.run(s, script); code != want {
				t.Errorf("%s: %d, want %d: %s", script, code, want, out)
			}
		}
	})
	t.Run("root loses what leads past Landlock", func(t *testing.T) {
		w.t = t
		const dangerous = 1<<16 | 1<<17 | 1<<19 | 1<<21 | 1<<27 | 1<<2 // module, rawio, ptrace, admin, mknod, read search
		out, _ := w.run(s, `awk '/CapEff/{print $2}' /proc/self/status`)
		var caps uint64
		if _, err := fmt.Sscanf(out, "%x", &caps); err != nil || caps&dangerous != 0 {
			t.Errorf("capabilities %s: %v", out, err)
		}
	})
}

// present reports whether the system has a program.
func present(name string) bool {
	for _, dir := range filepath.SplitList(systemPath) {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func TestE42_ToolChains(t *testing.T) {
	const module = `mkdir m && cd m && printf 'module m\n\ngo 1.21\n' >go.mod && printf 'package main\nfunc main() { println("built") }\n' >main.go && `
	for _, c := range []struct{ name, program, script, want string }{
		{"git", "git", `git init -q . && git add a.txt && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s && git status --short | head -3`, "one\n"},
		{"go without a cache", "", `mkdir m && cd m && printf 'module m\n\ngo 1.21\n' >go.mod && echo 'package m' >m.go && go build . && cd $TMPDIR/go-build && [ "$PWD" = "$(go env GOCACHE)" ] && echo built`, "built"},
		{"python3", "python3", `python3 -c 'import tempfile, os; f = tempfile.NamedTemporaryFile(); f.write(b"x"); print("python", os.path.dirname(f.name) == os.environ["TMPDIR"])'`, "python True"},
		{"npm", "npm", `mkdir n && cd n && npm init -y >/dev/null && npm pkg get name && npm ls && case $(npm config get cache) in $TMPDIR/*) ;; *) exit 1;; esac`, `"n"`},
		{"node", "node", `node -e 'require("fs").writeFileSync("n.txt","x"); console.log("node", require("os").tmpdir() == process.env.TMPDIR)'`, "node true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.program != "" && !present(c.program) {
				return // only Go is sure to be here
			}
			w := newWorld(t, "home/work")
			s := w.confined(func(cfg *Config) { cfg.Read = []string{goRoot(t)} })
			w.works(s, `export GOFLAGS=-mod=mod GOTOOLCHAIN=local; `+c.script, c.want)
		})
	}
	t.Run("go with a cache", func(t *testing.T) {
		out, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSpace(string(out))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cache := "GOCACHE=" + dir
		w := newWorld(t, "home/work")
		s := w.confined(func(cfg *Config) {
			cfg.Read, cfg.Environ = []string{goRoot(t)}, append(cfg.Environ, cache)
		})
		w.works(s, `export GOFLAGS=-mod=mod GOTOOLCHAIN=local `+cache+`; `+module+`go build -o m . && ./m && go vet . && go test ./...`, "no test files")
	})
}

func TestE42_Caches(t *testing.T) {
	w := newWorld(t, "home/work")
	at := func(name string) string { return filepath.Join(w.home, name) }
	for _, dir := range []string{".cache/go-build", "go/pkg/mod", ".npm", ".cargo/registry", "mods"} {
		w.put(filepath.Join(at(dir), "keep"), "")
	}
	vars := func(s *Sandbox) map[string]string {
		_, env, err := s.Wrap([]string{"/bin/true"}, []string{"A=b", "TMPDIR=/nowhere", "GOTMPDIR=/nowhere"})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			out[name] = value
		}
		return out
	}
	t.Run("those that exist can be written", func(t *testing.T) {
		s := w.confined(nil)
		want := []string{at(".cache/go-build"), at("go/pkg/mod"), at("go/pkg"), at(".npm"), at(".cargo/registry")}
		if !slices.Equal(s.policy.Write, want) {
			t.Errorf("got %q, want %q", s.policy.Write, want)
		}
		got := vars(s)
		if got["GOCACHE"] != "" || got["PIP_CACHE_DIR"] != s.temp+"/pip" || got["TMPDIR"] != s.temp || got["GOTMPDIR"] != "" || got["A"] != "b" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("variables name them", func(t *testing.T) {
		s := w.confined(func(c *Config) {
			c.Environ = append(c.Environ, "GOMODCACHE="+at("mods"), "GOCACHE="+at("missing"), "GOPATH=")
		})
		if got := vars(s); !slices.Contains(s.policy.Write, at("mods")) || got["GOCACHE"] != s.temp+"/go-build" || got["GOMODCACHE"] != "" {
			t.Errorf("%q, %v", s.policy.Write, got)
		}
	})
	t.Run("the user's list replaces them", func(t *testing.T) {
		s := w.confined(func(c *Config) { c.Writable = []string{} })
		if got := vars(s); len(s.policy.Write) != 0 || got["GOCACHE"] != s.temp+"/go-build" || got["NPM_CONFIG_CACHE"] != s.temp+"/npm" {
			t.Errorf("%q, %v", s.policy.Write, got)
		}
	})
}

func TestE42_TemporaryFolder(t *testing.T) {
	w := newWorld(t, "home/work")
	s := w.confined(nil)
	if s.temp != "" {
		t.Error("it is made before it is needed")
	}
	w.works(s, `echo kept >$TMPDIR/x; mkdir -p $TMPDIR/mod/a && touch $TMPDIR/mod/a/b && chmod -R a-w $TMPDIR/mod && ln -s $W $TMPDIR/l`, "")
	w.works(s, `cat $TMPDIR/x`, "kept")
	dir := s.temp
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if other := w.confined(nil); true {
		if out, _ := w.run(other, `cat `+dir+`/x`); strings.Contains(out, "kept") {
			t.Errorf("another session reads it: %s", out)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is still there after Close")
	}
	if _, err := os.Stat(w.work + "/a.txt"); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Wrap([]string{"/bin/true"}, nil); err == nil {
		t.Error("Wrap works after Close")
	}
}

func TestE42_TemporaryFolderWithoutWritePermission(t *testing.T) {
	base := t.TempDir()
	mod := filepath.Join(base, "temp", "go", "pkg", "mod")
	if err := os.MkdirAll(mod+"/m", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", mod+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{mod + "/m", mod} {
		if err := os.WriteFile(dir+"/f", nil, 0o444); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with what it lost
		var caps [2]unix.CapUserData
		err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0])
		if err == nil {
			err = removeAll(base + "/temp")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(base + "/temp"); err == nil {
		t.Error("it is still there")
	}
}

func TestE42_HonestReport(t *testing.T) {
	for abi, want := range map[int]struct {
		holds, usable bool
		missing       int
	}{0: {false, false, 7}, 1: {false, true, 6}, 2: {false, true, 5}, 3: {true, true, 4}, 5: {true, true, 3}, 6: {true, true, 1}, 9: {true, true, 0}, 99: {true, true, 0}} {
		r := reportOf(abi)
		if r.Holds() != want.holds || r.Usable() != want.usable || len(r.Missing()) != want.missing || len(r.Missing())+len(r.Enforced()) != 7 {
			t.Errorf("%d: %+v, missing %q", abi, r, r.Missing())
		}
		if r.Holds() == (r.Reason != "") {
			t.Errorf("%d: reason %q", abi, r.Reason)
		}
	}
	w := newWorld(t, "home/work")
	w.probe()
	// An older version does less, as its report says: the same command with
	// the rights of each.
	for abi := 1; abi <= Probe().ABI; abi++ {
		s := w.confined(func(c *Config) { c.ABI = abi })
		if out, _ := w.run(s, `cat $G/token`); strings.Contains(out, canary) {
			t.Errorf("version %d: %s", abi, out)
		}
		out, code := w.run(s, `kill -0 $PPID`)
		if (code != 0) != (abi >= 6) {
			t.Errorf("version %d: signal: %s", abi, out)
		}
		w.put(w.gamma+"/token", canary+" again")
		w.run(s, `./probe attempt truncate $G/token`)
		b, err := os.ReadFile(w.gamma + "/token")
		if err != nil || (len(b) > 0) != (abi >= MinABI) {
			t.Errorf("version %d: truncated to %d bytes: %v", abi, len(b), err)
		}
	}
}

func TestE42_BrokenEntryRunsNothing(t *testing.T) {
	w := newWorld(t, "home/work")
	good, err := json.Marshal(policy{ABI: 1, Workspace: w.work, Temp: w.work})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, policy, want string }{
		{"no JSON", "{", "policy"},
		{"no version", `{"abi":0}`, "version 0 of Landlock is wanted"},
		{"newer than the kernel", `{"abi":1000}`, "version 1000 of Landlock is wanted"},
		{"no workspace", `{"abi":1,"workspace":"/no/such/folder"}`, "no such file"},
		{"no temporary folder", strings.Replace(string(good), `"temp":"`+w.work, `"temp":"/no/such/folder`, 1), "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := exec.Command("/proc/self/exe", Entry, c.policy, "/bin/echo", "was run").CombinedOutput()
			if err == nil || strings.Contains(string(out), "was run\n") || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	out, err := exec.Command("/proc/self/exe", Entry).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "want a policy and a command") {
		t.Errorf("%v: %s", err, out)
	}
}

// BenchmarkE42_Command compares a command with and without the sandbox.
func BenchmarkE42_Command(b *testing.B) {
	w := newWorld(b, "home/work")
	for i := range 60 {
		w.put(fmt.Sprintf("%s/entry%d/x", w.home, i), "")
	}
	s := w.confined(nil)
	for _, kind := range []struct {
		name string
		s    *Sandbox
	}{{"plain", nil}, {"confined", s}} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				if out, code := w.run(kind.s, "true"); code != 0 {
					b.Fatal(out)
				}
			}
		})
	}
}
