package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gamma-harness/gamma/internal/permission"
)

// linked makes a workspace with links into a folder secrets, and out of the
// workspace, to what exists and to what doesn't.
func linked(t *testing.T) (workspace, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace, outside = filepath.Join(top, "ws"), filepath.Join(top, "outside")
	for _, dir := range []string{"ws/out/sub", "ws/secrets/sub", "outside"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(workspace, "secrets/key"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"out/link": "../secrets", "out/l2": "../secrets/sub", "out/dangling": "../secrets/new", "out/abs": filepath.Join(workspace, "secrets"), "out/twice": "link", "out/deep": "gone/../link", "out/far": "../secrets/no/such/folder",
		"out/ext": outside, "out/extfile": filepath.Join(outside, "f"), "out/up": "../../outside/g", "out/loop": "loop", "sl": "secrets", "out/sub/back": "..", "out/here": ".",
	} {
		if err := os.Symlink(target, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(workspace, filepath.Join(top, "other")); err != nil {
		t.Fatal(err)
	}
	return workspace, outside
}

func TestE47_SymlinksAreFollowedLikeTheKernelDoes(t *testing.T) {
	ws, outside := linked(t)
	for path, want := range map[string]string{
		"/": "/", "/..": "/", ws: ws, ws + "/out/a": ws + "/out/a", ws + "/out/./a//b": ws + "/out/a/b", ws + "/out/link/new/x": ws + "/secrets/new/x", ws + "/out/l2/../new": ws + "/secrets/new", ws + "/out/dangling": ws + "/secrets/new",
		ws + "/out/abs/x": ws + "/secrets/x", ws + "/out/twice/x": ws + "/secrets/x", ws + "/out/deep/x": ws + "/secrets/x", ws + "/out/far": ws + "/secrets/no/such/folder", ws + "/out/ext/new": outside + "/new", ws + "/out/extfile": outside + "/f", ws + "/out/up": outside + "/g",
		ws + "/out/loop": "", ws + "/secrets/key/x": ws + "/secrets/key/x", "relative": "", ws + "/out/a\x00": "", ws + "/out/sub/back/link/y": ws + "/secrets/y", filepath.Dir(ws) + "/other/sl/z": ws + "/secrets/z",
	} {
		if got := realPath(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}

// Rules for files hold for what a path leads to, also where the file doesn't
// exist yet, for the file tools and for redirections.
func TestE47_FileRulesFollowLinksToNewFiles(t *testing.T) {
	ws, _ := linked(t)
	judge := func(workspace string, rules ...permission.Rule) func(tool, name string) permission.Do {
		p, err := permission.New(permission.Config{Rules: rules, Workspace: workspace, Real: realPath})
		if err != nil {
			t.Fatal(err)
		}
		return func(tool, name string) permission.Do {
			field := "path"
			if tool == "bash" {
				field, name = "command", "echo x > "+name
			}
			args, err := json.Marshal(map[string]string{field: name})
			if err != nil {
				t.Fatal(err)
			}
			return p.Judge(tool, args).Do
		}
	}
	check := func(do func(tool, name string) permission.Do, want permission.Do, tools []string, names ...string) {
		t.Helper()
		for _, tool := range tools {
			for _, n := range names {
				if got := do(tool, n); got != want {
					t.Errorf("%s %s: %s, want %s", tool, n, got, want)
				}
			}
		}
	}
	into := []string{"secrets/a", "out/link/new", "out/link/key", "out/link/newdir/x", "out/l2/../key", "out/l2/../new", "out/dangling", "out/abs/x", "out/twice/new", "out/deep/q", "out/far", "sl/x", "out/gone/../link/x", "out/sub/back/link/x", "out/here/here/link/y", "./secrets//a", "out/link/../secrets/a",
		ws + "/out/link/new", filepath.Dir(ws) + "/other/secrets/new", filepath.Dir(ws) + "/other/out/link/new", "../ws/out/link/x", "out/ext/../ws/secrets/a"}
	write := permission.Rule{Tool: "write", Match: "secrets/**", Do: permission.Deny}
	edit := permission.Rule{Tool: "edit", Match: "secrets/**", Do: permission.Deny}
	bash := permission.Rule{Tool: "bash", Do: permission.Allow}
	for _, workspace := range []string{ws, filepath.Dir(ws) + "/other"} {
		do := judge(workspace, write, edit, bash)
		check(do, permission.Deny, []string{"write", "edit", "bash"}, into...)
		check(do, permission.Allow, []string{"write", "edit", "bash"}, "out/a", "out/new/x", "out/link2", "a", "out/sub/back/x", "out/l2x/../a")
		check(do, permission.Ask, []string{"write", "edit", "bash"}, "out/loop", "out/loop/x")
	}
	t.Run("a rule about a link is about what it leads to", func(t *testing.T) {
		do := judge(ws, permission.Rule{Tool: "write", Match: "sl/**", Do: permission.Deny}, bash)
		check(do, permission.Deny, []string{"write", "bash"}, "secrets/a", "sl/a", "out/link/new")
		check(do, permission.Allow, []string{"write", "bash"}, "out/a", "secretsx/a")
	})
	t.Run("an allowing rule doesn't lead out", func(t *testing.T) {
		echo := permission.Rule{Tool: "bash", Match: "echo *", Do: permission.Allow}
		for _, match := range []string{"out/**", ""} {
			do := judge(ws, permission.Rule{Tool: "write", Match: match, Do: permission.Allow}, echo)
			check(do, permission.Allow, []string{"bash"}, "out/a", "out/new/x", "out/sub/back/x")
			check(do, permission.Ask, []string{"bash"}, "out/ext/new", "out/extfile", "out/up", "out/loop", "../outside/x", "out/ext/../outside/y", "/proc/self/cwd/out/x", "out/../../outside/x")
		}
		do := judge(ws, permission.Rule{Tool: "write", Match: "out/**", Do: permission.Allow}, echo)
		check(do, permission.Ask, []string{"bash"}, "out/link/new", "out/l2/../new", "out/dangling")
	})
}
