package tool

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// each runs the file tools on a path and returns their outputs.
func (f *fixture) each(path string) map[string]session.Output {
	return map[string]session.Output{
		"read":  f.read(path),
		"write": f.write(path, "overwritten"),
		"edit":  f.edit(path, "secret", "overwritten"),
	}
}

// Whatever the path, nothing outside is read or changed.
func TestE40_NoPathLeadsOut(t *testing.T) {
	f := newSet(t, nil)
	f.link("../out", "up")
	f.link(f.out, "abs")
	f.link("../out/secret", "file")
	f.link("up", "chain")
	f.put("sub/x", "")
	f.link("..", "sub/back")
	f.link("../../out/secret", "sub/deep")
	f.link("../out/fresh", "dangling")
	for _, path := range []string{
		"../out/secret", "sub/../../out/secret", f.out + "/secret", f.ws + "/../out/secret", "/etc/passwd",
		"up/secret", "abs/secret", "file", "chain/secret", "sub/back/sub/back/up/secret", "sub/deep", "./file", "dangling",
		"up/new/file", "../new", f.out + "/new", "..", "../", "/",
	} {
		for tool, out := range f.each(path) {
			if out.Outcome != transcript.OutcomeError || strings.Contains(out.Text, "outside-secret") {
				t.Errorf("%s %s: %s", tool, path, out.Text)
			}
			if path != "/" && !strings.Contains(out.Text, "allowed are paths in the workspace") && !strings.Contains(out.Text, "is a folder") {
				t.Errorf("%s %s doesn't say what is allowed: %s", tool, path, out.Text)
			}
		}
	}
	if b, _ := os.ReadFile(f.out + "/secret"); string(b) != "outside-secret" {
		t.Errorf("the file outside is now %q", b)
	}
	if list, _ := os.ReadDir(f.out); len(list) != 1 {
		t.Errorf("files were made outside: %v", list)
	}
}

func TestE47_OwnFoldersAreNeverReached(t *testing.T) {
	f := newSet(t, nil)
	f.link(".gamma", "own")
	f.link(f.home+"/token", "token")
	f.link("own", "own2")
	if err := os.MkdirAll(f.home+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		".gamma/token", "./.gamma/../.gamma/token", f.home + "/token", "own/token", "own2/token", "token", ".gamma/new", ".gamma/sub/new", ".gamma", "own/sub",
		".gamma/sub/deep/er/new",
	} {
		for tool, out := range f.each(path) {
			bad(t, out, "gamma's own")
			if strings.Contains(out.Text, "token-secret") {
				t.Errorf("%s %s: %s", tool, path, out.Text)
			}
		}
	}
	if b, _ := os.ReadFile(f.home + "/token"); string(b) != "token-secret" {
		t.Errorf("the token is now %q", b)
	}
	t.Run("by another name of the folder", func(t *testing.T) {
		// The folder itself is somewhere else in the workspace now: no name
		// tells, only the folder does.
		if err := os.Rename(f.home, f.ws+"/innocent"); err != nil {
			t.Fatal(err)
		}
		f.link("innocent", ".gamma")
		for _, out := range f.each("innocent/token") {
			bad(t, out, "gamma's own")
		}
		for _, out := range f.each("innocent/sub/x") {
			bad(t, out, "gamma's own")
		}
	})
	t.Run("a folder that doesn't exist yet", func(t *testing.T) {
		f := newSet(t, func(c *Config) { c.Forbidden = append(c.Forbidden, c.Workspace+"/later") })
		bad(t, f.write("later/x", "x"), "gamma's own")
		if _, err := os.Stat(f.ws + "/later"); err == nil {
			t.Error("it was made")
		}
	})
	t.Run("a workspace within an own folder works", func(t *testing.T) {
		f := newSet(t, func(c *Config) { c.Forbidden = append(c.Forbidden, filepath.Dir(c.Workspace)) })
		ok(t, f.write("x", "x"))
		ok(t, f.read(f.skills+"/SKILL.md"), "skill text")
	})
	t.Run("the own folder is no workspace", func(t *testing.T) {
		if _, err := New(Config{Workspace: f.out, Forbidden: []string{f.out}}); err == nil || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("skills within an own folder are readable", func(t *testing.T) {
		f := newSet(t, func(c *Config) {
			dir := c.Forbidden[0] + "/skills"
			os.MkdirAll(dir, 0o755)
			os.WriteFile(dir+"/a.md", []byte("skill a"), 0o644)
			c.SkillDirs = append(c.SkillDirs, dir)
		})
		ok(t, f.read(f.home+"/skills/a.md"), "skill a")
		bad(t, f.write(f.home+"/skills/a.md", "x"), "for reading only")
		bad(t, f.read(f.home+"/skills/../token"), "gamma's own")
	})
}

func TestC12_NamesOfTheWorkspace(t *testing.T) {
	f := newSet(t, nil)
	f.put("sub/a.txt", "text a")
	other := filepath.Join(filepath.Dir(f.ws), "other-name")
	if err := os.Symlink(f.ws, other); err != nil {
		t.Fatal(err)
	}
	f.link("a.txt", "sub/rel")
	f.link(f.ws+"/sub", "abslink")
	for _, path := range []string{
		"sub/a.txt", "./sub//a.txt", "sub/../sub/a.txt", f.ws + "/sub/a.txt", other + "/sub/a.txt", "../ws/sub/a.txt", "../other-name/sub/a.txt",
		"sub/rel", "abslink/a.txt", other + "/abslink/rel",
	} {
		out := f.read(path)
		if out.Text != "text a" || len(out.Seen) != 1 || out.Seen["sub/a.txt"] == "" {
			t.Errorf("%s: %q, seen %v", path, out.Text, out.Seen)
		}
	}
	t.Run("a set that was opened by the other name", func(t *testing.T) {
		g := newSet(t, func(c *Config) {
			name := filepath.Join(filepath.Dir(c.Workspace), "link")
			os.Symlink(c.Workspace, name)
			c.Workspace = name
		})
		g.put("x", "text x")
		ok(t, g.read(g.ws+"/x"), "text x")
		ok(t, g.read(filepath.Dir(g.ws)+"/link/x"), "text x")
		bad(t, g.read(g.home+"/token"), "gamma's own")
		bad(t, g.read(filepath.Dir(g.ws)+"/link/.gamma/token"), "gamma's own")
	})
}

func TestE40_SkillFoldersAreReadable(t *testing.T) {
	f := newSet(t, nil)
	out := f.read(f.skills + "/SKILL.md")
	ok(t, out, "skill text")
	if len(out.Seen) != 0 {
		t.Errorf("seen %v: only files of the workspace count", out.Seen)
	}
	ok(t, f.read(f.skills), "SKILL.md")
	bad(t, f.write(f.skills+"/SKILL.md", "x"), "for reading only")
	bad(t, f.edit(f.skills+"/SKILL.md", "skill", "x"), "for reading only")
	f.link(f.skills, "linked")
	ok(t, f.read("linked/SKILL.md"), "skill text")
	bad(t, f.write("linked/new", "x"), "for reading only")
	os.Symlink(f.out+"/secret", f.skills+"/out")
	bad(t, f.read(f.skills+"/out"), "outside")
}

func TestE40_OddPaths(t *testing.T) {
	f := newSet(t, nil)
	f.put("file", "x")
	f.link("loop2", "loop1")
	f.link("loop1", "loop2")
	for _, c := range []struct{ path, want string }{
		{"", "empty"},
		{"~/x", "~ isn't expanded"},
		{"~", "~ isn't expanded"},
		{"a\x00b", "NUL"},
		{"none", "none doesn't exist in the workspace " + f.ws},
		{"no/such/file", "there is no folder no/such"},
		{"file/x", "file is a file, not a folder"},
		{"loop1", "symlinks"},
		{strings.Repeat("n", 300), "file name too long"},
		{"spill:../x", "isn't the name of a spill file"}, {"spill:", "isn't the name"}, {"spill:none", "isn't there"},
	} {
		bad(t, f.read(c.path), c.want)
	}
	bad(t, f.write("spill:x", "x"), "for reading only")
	bad(t, f.write("new/", "x"), "names a folder")
	t.Run("hostile names", func(t *testing.T) {
		for _, name := range []string{"a b", "ü 作", "-rf", "*", "$(id)", "`id`", "a'b\"c", "a\nb", "\x1b[31m", "~x", " lead", "a\\b", "&lt;", "[x]"} {
			ok(t, f.write(name, "x "+name))
			ok(t, f.edit(name, "x ", "y "))
			if out := f.read(name); out.Text != "y "+name {
				t.Errorf("%q: %q", name, out.Text)
			}
			if out := f.read("no " + name); strings.Contains(out.Text, "\n") || strings.Contains(out.Text, "\x1b") {
				t.Errorf("a message has a raw name: %q", out.Text)
			}
		}
		ok(t, f.read("."), `"a\nb"`, `"\x1b[31m"`)
	})
}

// A folder that is swapped for a symlink while calls run never leads out.
func TestE40_SwappedFolder(t *testing.T) {
	f := newSet(t, nil)
	f.put("d/secret", "inside")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(f.ws+"/d", f.ws+"/d2")
			os.Symlink("../out", f.ws+"/d")
			os.Remove(f.ws + "/d")
			os.Symlink(".gamma", f.ws+"/d")
			os.Remove(f.ws + "/d")
			os.Rename(f.ws+"/d2", f.ws+"/d")
		}
	})
	for range 300 {
		if out := f.read("d/secret"); strings.Contains(out.Text, "outside") || strings.Contains(out.Text, "token") && out.Outcome == transcript.OutcomeOK {
			t.Errorf("read: %s", out.Text)
		}
		f.read("d/token")
		f.write("d/secret", "inside")
		f.write("d/token", "x")
	}
	close(stop)
	wg.Wait()
	if b, _ := os.ReadFile(f.out + "/secret"); string(b) != "outside-secret" {
		t.Errorf("the file outside is %q", b)
	}
	if b, _ := os.ReadFile(f.home + "/token"); string(b) != "token-secret" {
		t.Errorf("the token is %q", b)
	}
	f.noTemps()
}

// A file that is swapped for a symlink, or a pipe, is not followed.
func TestE40_SwappedFile(t *testing.T) {
	f := newSet(t, nil)
	f.put("x", "text")
	dir := f.places.work.root
	entry, err := dir.Lstat("x")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(f.ws + "/x")
	f.link(".gamma/token", "x")
	if _, _, err := openSame(dir, "x", entry); err == nil || !strings.Contains(err.Error(), "replaced while it was opened") {
		t.Errorf("a symlink: %v", err)
	}
	os.Remove(f.ws + "/x")
	if err := unix.Mkfifo(f.ws+"/x", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openSame(dir, "x", entry); err == nil || !strings.Contains(err.Error(), "replaced while it was opened") {
		t.Errorf("a pipe: %v", err)
	}
}

func TestE40_NewRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"relative workspace", Config{Workspace: "x"}, "absolute"},
		{"missing workspace", Config{Workspace: dir + "/none"}, "no such file"},
		{"relative forbidden folder", Config{Workspace: dir, Forbidden: []string{"x"}}, "absolute"},
		{"relative skill folder", Config{Workspace: dir, SkillDirs: []string{"x"}}, "absolute"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
