package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestE42_WhereTheWorkspaceLies(t *testing.T) {
	for _, c := range []struct {
		name, work string
		change     func(*world, *Config)
		writes     string // what a command can do all the same
		refused    string
	}{
		{name: "beside gamma's data", work: "home/work", writes: `echo x >new && cat new`},
		{name: "outside of home", work: "project", writes: `echo x >new && cat new`},
		{name: "is home", work: "home", writes: `echo x >>notes.txt; echo x >bin/new; cat bin/new`},
		{name: "holds home", work: ".", writes: `echo x >>home/notes.txt; echo x >home/bin/new; cat outside/file >/dev/null; cat home/bin/new`},
		{name: "by a symlink", work: "home/link", change: func(w *world, c *Config) {
			os.RemoveAll(w.work)
			w.put(w.base+"/real/a.txt", "")
			w.link(w.base+"/real", w.work)
		}, writes: `echo x >new && cat new`},
		{name: "home by a symlink", work: "link", change: func(w *world, c *Config) {
			os.RemoveAll(w.work)
			w.link(w.home, w.work)
		}, writes: `echo x >bin/new; cat bin/new`},
		{name: "is gamma's data", work: "home/.gamma", refused: "lies in gamma's own data"},
		{name: "is a session", work: "home/.gamma/sessions/s1", refused: "lies in gamma's own data"},
		{name: "holds the sessions", work: "home/.gamma/sessions", refused: "lies in gamma's own data"},
		{name: "is gamma's data by a symlink", work: "home/link", change: func(w *world, c *Config) {
			os.RemoveAll(w.work)
			w.link(w.gamma+"/sessions", w.work)
		}, refused: "lies in gamma's own data"},
		{name: "is a session's files", work: "home/.gamma/sessions/s1/files", change: func(w *world, c *Config) { c.Own = append(c.Own, w.work) },
			writes: `echo x >new && cat new`},
		{name: "is the system", work: "home/work", change: func(w *world, c *Config) { c.Workspace = "/" }, refused: "is part of the system"},
		{name: "is proc", work: "home/work", change: func(w *world, c *Config) { c.Workspace = "/proc/self" }, refused: "is part of the system"},
		{name: "isn't absolute", work: "home/work", change: func(w *world, c *Config) { c.Workspace = "work" }, refused: "isn't an absolute path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.work)
			s, err := w.sandbox(func(cfg *Config) {
				if c.change != nil {
					c.change(w, cfg)
				}
			})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("want %q, got %v", c.refused, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.works(s, c.writes, "x\n")
			if limits := s.Limits(); (limits != "") != (strings.HasPrefix(w.gamma, realPath(w.work)+"/")) {
				t.Errorf("limits: %q", limits)
			}
			for _, script := range []string{`cat $G/token`, `cat $G/sessions/s2/0001.jsonl`, `ls $G/sessions/s1`, `mv $G x; cat x/token`, `cat ~/.ssh/id ~/.netrc`,
				`rm $G/token; cat $G/../.gamma/token`, `mv ~/.config ~/c; cat ~/c/gh/hosts.yml`} {
				if out, _ := w.run(s, script); strings.Contains(out, canary) {
					t.Errorf("%s got it: %s", script, out)
				}
			}
			if _, err := os.Stat(w.gamma + "/token"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestE42_WorkspaceWithTooManyEntries(t *testing.T) {
	w := newWorld(t, "home/work")
	p := newPlanner(policy{ABI: 1, Forbidden: []string{w.gamma}}, -1, 0)
	p.rules = maxRules
	if err := p.root(w.home, writeRights); err == nil || !strings.Contains(err.Error(), "choose a workspace that doesn't hold them") {
		t.Errorf("got %v", err)
	}
}

func TestE42_RootsAreNotMovedByCommands(t *testing.T) {
	t.Run("cache in the workspace replaced by a symlink", func(t *testing.T) {
		w := newWorld(t, "home/work")
		w.put(w.work+"/cache/x", "")
		s := w.confined(func(c *Config) { c.Environ = append(c.Environ, "GOCACHE="+w.work+"/cache") })
		w.works(s, `rm -r cache && ln -s $O cache`, "")
		for _, s := range []*Sandbox{s, w.confined(func(c *Config) { c.Environ = append(c.Environ, "GOCACHE="+w.work+"/cache") })} {
			if out, _ := w.run(s, `cat cache/file`); strings.Contains(out, canary) {
				t.Errorf("the symlink opened a folder: %s", out)
			}
		}
	})
	t.Run("skill in the workspace replaced by a symlink", func(t *testing.T) {
		w := newWorld(t, "home/work")
		w.link(w.outside, w.work+"/skill")
		s := w.confined(func(c *Config) { c.Read = []string{w.work + "/skill"} })
		if out, _ := w.run(s, `cat skill/file`); strings.Contains(out, canary) {
			t.Errorf("the symlink opened a folder: %s", out)
		}
	})
	t.Run("writable folder replaced by a symlink", func(t *testing.T) {
		w := newWorld(t, "home/work")
		s := w.confined(func(c *Config) { c.Writable = []string{w.home + "/bin"} })
		os.RemoveAll(w.home + "/bin")
		w.link(w.outside, w.home+"/bin")
		if out, _ := w.run(s, `cat ~/bin/file; echo x >~/bin/file`); strings.Contains(out, canary) {
			t.Errorf("the symlink opened a folder: %s", out)
		}
	})
	t.Run("folder above a writable one replaced by a symlink", func(t *testing.T) {
		w := newWorld(t, "home/work")
		w.put(w.base+"/a/out/x", "")
		w.put(w.outside+"/out/file", canary+" outside")
		s := w.confined(func(c *Config) { c.Writable = []string{w.base + "/a/out"} })
		os.RemoveAll(w.base + "/a")
		w.link(w.outside, w.base+"/a")
		if out, _ := w.run(s, `cat $B/a/out/file; cat $O/out/file`); strings.Contains(out, canary) {
			t.Errorf("the symlink opened a folder: %s", out)
		}
	})
	t.Run("workspace replaced by a symlink", func(t *testing.T) {
		w := newWorld(t, "home/work")
		s := w.confined(nil)
		os.RemoveAll(w.work)
		w.link(w.gamma, w.work)
		out, code := w.run(s, `cat token`)
		if strings.Contains(out, canary) || code != exitRefused || !strings.Contains(out, "the command wasn't run") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}

func TestE42_ReadAndWrite(t *testing.T) {
	w := newWorld(t, "home/work")
	w.put(w.base+"/skills/x/SKILL.md", "skill\n")
	w.put(w.base+"/out/x", "")
	s := w.confined(func(c *Config) {
		c.Read = []string{w.base + "/skills/x", w.gamma + "/skills/own", w.gamma + "/sessions/s2", w.home + "/.aws", w.base + "/missing"}
		c.Writable = []string{w.base + "/out"}
	})
	s.AllowRead(w.gamma + "/sessions/s1/spill")
	w.works(s, `cat $B/skills/x/SKILL.md`, "skill")
	w.works(s, `cat $G/skills/own/SKILL.md`, "a skill")
	w.works(s, `cat $G/sessions/s1/spill/c1.1.txt`, "spilled")
	w.works(s, `cat ~/notes.txt ~/.config/tool/conf; ~/bin/hello`, "notes\na setting\nhello\n")
	w.works(s, `echo x >$B/out/new; mv $B/out/new .; cat new`, "x")
	w.works(s, `echo '#!/bin/sh
echo made' >p; chmod +x p; ./p`, "made")
	for _, script := range []string{`echo x >$B/skills/x/y`, `cat $G/sessions/s2/0001.jsonl`, `cat ~/.aws/credentials`, `ls ~`} {
		if out, code := w.run(s, script); code == 0 {
			t.Errorf("%s: %s", script, out)
		}
	}
	for _, dir := range []string{w.gamma, w.gamma + "/x", "/", "/usr", "/proc/sys"} {
		if _, err := w.sandbox(func(c *Config) { c.Writable = []string{dir} }); err == nil {
			t.Errorf("%s was made writable", dir)
		}
	}
}

func TestE42_WhereHomeLies(t *testing.T) {
	for _, c := range []struct{ name, home string }{
		{"the whole system", "/"}, {"in gamma's data", "home/.gamma/sessions"}, {"nowhere", ""}, {"not absolute", "home"}, {"missing", "no/such/home"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "home/work")
			home := c.home
			if strings.Contains(home, "/") {
				home = filepath.Join(w.base, home)
			}
			if c.home == "/" {
				home = "/"
			}
			s := w.confined(func(cfg *Config) { cfg.Environ = append(cfg.Environ, "HOME="+home) })
			w.works(s, `cat a.txt`, "in the workspace")
			if out, _ := w.run(s, `cat $O/file $G/token $G/sessions/s1/lock`); strings.Contains(out, canary) {
				t.Errorf("got %s", out)
			}
		})
	}
}

func TestE42_BindMounts(t *testing.T) {
	t.Run("names", func(t *testing.T) {
		mounts := parseMounts(`22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw - proc proc rw
30 22 8:2 / /home rw shared:1 - ext4 /dev/sda2 rw
31 22 8:2 /u/.gamma /srv/a\040b rw - ext4 /dev/sda2 rw
32 22 8:2 /u /mnt/u rw - ext4 /dev/sda2 rw
33 22 8:2 /u/.gamma/sessions/s1 /mnt/s1 rw - ext4 /dev/sda2 rw
34 22 8:2 /other /mnt/other rw - ext4 /dev/sda2 rw
broken line
35 22 8:3 /u/.gamma /mnt/disk rw - ext4 /dev/sda3 rw
`)
		got := otherNames(mounts, "/home/u/.gamma")
		if want := []string{"/srv/a b", "/mnt/u/.gamma", "/mnt/s1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := kernelMounts(mounts); !slices.Equal(got, []string{"/proc"}) {
			t.Errorf("kernel mounts: %q", got)
		}
	})
	for _, c := range []struct{ name, from, to, script, want string }{
		{"data in the workspace", ".gamma", "work/d", `cat d/token; cat d/sessions/s1/lock; ls d; cat a.txt`, "in the workspace"},
		{"session in the workspace", ".gamma/sessions/s1", "work/d", `cat d/lock; cat a.txt`, "in the workspace"},
		{"home in the workspace", ".", "work/d", `cat d/.gamma/token; cat d/.ssh/id; cat d/dotfiles/ssh/id; cat d/notes.txt`, "notes"},
		{"data in home", ".gamma", "bin", `cat ~/bin/token; cat a.txt`, "in the workspace"},
		{"kernel settings in the workspace", "/proc", "work/d", `exec 9>>d/sys/kernel/core_pattern && echo CANARY; cat a.txt`, "in the workspace"},
		{"session where a skill was", ".gamma/sessions/s1", "../skill", `cat $B/skill/lock; cat a.txt`, "in the workspace"},
		{"workspace is the data", ".gamma", "work", `cat token`, "by a bind mount"},
		{"workspace is in the data", ".gamma/sessions", "work", `cat s1/lock`, "by a bind mount"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "home/work")
			w.put(w.work+"/d/x", "")
			w.put(w.base+"/skill/SKILL.md", "")
			s := w.confined(func(cfg *Config) { cfg.Read = []string{w.base + "/skill"} })
			argv, env, err := s.Wrap([]string{"/bin/bash", "-c", c.script}, w.environ())
			if err != nil {
				t.Fatal(err)
			}
			from, to := filepath.Join(w.home, c.from), filepath.Join(w.home, c.to)
			if filepath.IsAbs(c.from) {
				from = c.from
			}
			if out := mounted(t, w, from, to, env, "/bin/bash", "-c", c.script); !strings.Contains(out, canary) && !strings.Contains(out, notMounted) && (os.Getuid() == 0 || c.from != "/proc") {
				t.Errorf("unconfined nothing leaks: %s", out)
			}
			out := mounted(t, w, from, to, env, argv...)
			if strings.Contains(out, canary) || !strings.Contains(out, c.want) && !strings.Contains(out, notMounted) {
				t.Errorf("want %q, got %s", c.want, out)
			}
		})
	}
}

// notMounted is the output where the system doesn't let us mount.
const notMounted = "not mounted"

// mounted runs a command where from is mounted at to as well, in a mount
// namespace of its own. Where that isn't allowed, the output says so.
func mounted(t *testing.T, w *world, from, to string, env []string, argv ...string) string {
	t.Helper()
	script := `mount --bind "$1" "$2" || { echo not mounted; exit; }; cd / && cd "$3" && shift 3 && exec "$@"`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh", from, to, w.work}, argv...)...)
	if argv[0] == "/proc/self/exe" {
		self, err := os.Readlink("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args[len(cmd.Args)-len(argv)] = self
	}
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return notMounted + ": " + err.Error()
	}
	return string(out)
}
