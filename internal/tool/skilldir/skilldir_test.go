package skilldir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/internal/skill"
)

// tree makes files below a new directory: path → text. A path that ends in "/"
// is a directory; a text that begins with "->" makes a symlink.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		p := filepath.Join(root, name)
		dir := filepath.Dir(p)
		if strings.HasSuffix(name, "/") {
			dir = p
		}
		err := os.MkdirAll(dir, 0o755)
		switch to, link := strings.CutPrefix(text, "->"); {
		case err != nil || dir == p:
		case link:
			err = os.Symlink(strings.ReplaceAll(to, "ROOT", root), p)
		default:
			err = os.WriteFile(p, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// found walks dir shown as "S" and returns the paths of the skills, and the
// reports.
func found(dir string) (paths, reports []string) {
	files, diags := Walk([]Root{{Dir: dir, Show: "S"}})
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	for _, d := range diags {
		reports = append(reports, string(d.Severity)+" "+d.String())
	}
	return paths, reports
}

func TestK2_FindsSkillsBelowARoot(t *testing.T) {
	dir := tree(t, map[string]string{
		"b/SKILL.md": "B", "a/SKILL.md": "A", "a/nested/SKILL.md": "part of a", "a/ref.md": "x",
		"group/deep/c/SKILL.md": "C", "empty/": "", "group/readme.md": "x",
		".git/x/SKILL.md": "no", "node_modules/y/SKILL.md": "no", "group/node_modules/y/SKILL.md": "no", ".hidden/h/SKILL.md": "H",
		"1/2/3/4/5/6/SKILL.md": "six",
	})
	files, diags := Walk([]Root{{Dir: dir, Show: "S", Source: skill.HomeGamma}})
	want := []skill.File{
		{Path: "S/.hidden/h/SKILL.md", Dir: dir + "/.hidden/h", Source: skill.HomeGamma, Data: []byte("H")},
		{Path: "S/1/2/3/4/5/6/SKILL.md", Dir: dir + "/1/2/3/4/5/6", Source: skill.HomeGamma, Data: []byte("six")},
		{Path: "S/a/SKILL.md", Dir: dir + "/a", Source: skill.HomeGamma, Data: []byte("A")},
		{Path: "S/b/SKILL.md", Dir: dir + "/b", Source: skill.HomeGamma, Data: []byte("B")},
		{Path: "S/group/deep/c/SKILL.md", Dir: dir + "/group/deep/c", Source: skill.HomeGamma, Data: []byte("C")},
	}
	if d := cmp.Diff(want, files); d != "" || len(diags) > 0 {
		t.Errorf("%v\n%s", diags, d)
	}
}

func TestK2_MissingRootsAreFine(t *testing.T) {
	dir := tree(t, map[string]string{"file": "x"})
	if paths, reports := found(filepath.Join(dir, "no", "such")); len(paths)+len(reports) > 0 {
		t.Errorf("got %v, %v", paths, reports)
	}
	if _, reports := found(filepath.Join(dir, "file")); len(reports) != 1 || reports[0] != "error S: the directory can't be read: not a directory" {
		t.Errorf("a file as root: %q", reports)
	}
}

func TestK1_SymlinkedDirectoriesAndLoops(t *testing.T) {
	outside := tree(t, map[string]string{"shared/x/SKILL.md": "X", "lone/SKILL.md": "L"})
	dir := tree(t, map[string]string{
		"real/a/SKILL.md": "A", "real/up": "->..", "real/self": "->.", "alias": "->real", "again-a": "->real/a",
		"shared": "->" + outside + "/shared", "lone": "->" + outside + "/lone", "s/SKILL.md": "->../real/a/SKILL.md",
		"dangling": "->nowhere", "one": "->two", "two": "->one", "note.md": "->real/a/SKILL.md",
	})
	paths, reports := found(dir)
	if d := cmp.Diff([]string{"S/real/a/SKILL.md", "S/s/SKILL.md", "S/lone/SKILL.md", "S/shared/x/SKILL.md"}, paths); d != "" {
		t.Error(d)
	}
	slices.Sort(reports)
	want := []string{
		"error S/dangling: the link can't be followed: no such file or directory",
		"error S/one: the link can't be followed: EvalSymlinks: too many links",
		"error S/two: the link can't be followed: EvalSymlinks: too many links",
		"warning S/again-a: links to S/real/a, which was read already: it is not read again",
		"warning S/alias: links to S/real, which was read already: it is not read again",
		"warning S/real/self: links to S/real, which was read already: it is not read again",
		"warning S/real/up: links to S, which was read already: it is not read again",
	}
	if d := cmp.Diff(want, reports); d != "" {
		t.Error(d)
	}
	all := tree(t, map[string]string{"skills/a/SKILL.md": "A", "skills/out": "->ROOT", "b/SKILL.md": "B"})
	if paths, _ := found(filepath.Join(all, "skills")); !slices.Equal(paths, []string{"S/a/SKILL.md", "S/out/b/SKILL.md"}) {
		t.Errorf("a link above the root: %q", paths)
	}
}

func TestK2_RootsThatAreOneDirectory(t *testing.T) {
	dir := tree(t, map[string]string{"skills/a/SKILL.md": "A", "link": "->skills"})
	files, diags := Walk([]Root{{Dir: dir + "/skills", Source: 1}, {Dir: dir + "/link", Source: 3}})
	if len(files) != 1 || files[0].Source != 1 || files[0].Path != dir+"/skills/a/SKILL.md" || len(diags) > 0 {
		t.Errorf("got %v, %v", files, diags)
	}
}

func TestK1_WhatIsNotReadIsReported(t *testing.T) {
	dir := tree(t, map[string]string{
		"SKILL.md": "at the root", "a/SKILL.md": "A", "lower/skill.md": "x", "dir/SKILL.md/": "", "loop/SKILL.md": "->SKILL.md",
		"gone/SKILL.md": "->nowhere", "large/SKILL.md": "", "limit/SKILL.md": "", "pipe/": "", "1/2/3/4/5/6/7/SKILL.md": "seven", "1/2/3/4/5/6/8/SKILL.md": "eight",
	})
	for name, size := range map[string]int64{"large": MaxFile + 1, "limit": MaxFile} {
		if err := os.Truncate(filepath.Join(dir, name, "SKILL.md"), size); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe", "SKILL.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths, reports := found(dir)
	if d := cmp.Diff([]string{"S/a/SKILL.md", "S/limit/SKILL.md"}, paths); d != "" {
		t.Error(d)
	}
	slices.Sort(reports)
	want := []string{
		"error S/1/2/3/4/5/6/7: lies more than 6 directories deep: neither it nor others so deep are searched",
		"error S/SKILL.md: the file is not read: a skill needs a directory of its own, S/NAME/SKILL.md",
		"error S/dir/SKILL.md: the file can't be read: it is not a regular file",
		"error S/gone/SKILL.md: the file can't be read: no such file or directory",
		"error S/large/SKILL.md: the file is not read: it has 4194305 bytes, more than 4 MiB",
		"error S/loop/SKILL.md: the file can't be read: too many levels of symbolic links",
		"error S/lower/skill.md: the file is not read: its name must be SKILL.md",
		"error S/pipe/SKILL.md: the file can't be read: it is not a regular file",
	}
	if d := cmp.Diff(want, reports); d != "" {
		t.Error(d)
	}
}

func TestK1_UnreadableDirectoryIsReported(t *testing.T) {
	dir := tree(t, map[string]string{"a/SKILL.md": "A", "closed/b/SKILL.md": "B", "z/SKILL.md": "Z"})
	closed := filepath.Join(dir, "closed")
	files, diags := walk([]Root{{Dir: dir, Show: "S"}}, func(name string) ([]fs.DirEntry, error) {
		if name == closed {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return os.ReadDir(name)
	})
	if len(files) != 2 || len(diags) != 1 || diags[0].String() != "S/closed: the directory can't be read: permission denied" {
		t.Errorf("got %v, %v", files, diags)
	}
}

// fakeDirs lists n directories below the root and nothing below these.
func fakeDirs(root string, n int) func(string) ([]fs.DirEntry, error) {
	return func(name string) ([]fs.DirEntry, error) {
		var out []fs.DirEntry
		for i := range n {
			if name == root {
				out = append(out, fakeDir(fmt.Sprintf("d%05d", i)))
			}
		}
		return out, nil
	}
}

type fakeDir string

func (d fakeDir) Name() string               { return string(d) }
func (d fakeDir) IsDir() bool                { return true }
func (d fakeDir) Type() fs.FileMode          { return fs.ModeDir }
func (d fakeDir) Info() (fs.FileInfo, error) { return nil, errors.New("none") }

func TestK2_DirectoryLimit(t *testing.T) {
	root := filepath.FromSlash("/none/such")
	if _, diags := walk([]Root{{Dir: root, Show: "S"}}, fakeDirs(root, MaxDirs-1)); len(diags) > 0 {
		t.Errorf("at the limit: %v", diags)
	}
	_, diags := walk([]Root{{Dir: root, Show: "S"}}, fakeDirs(root, 5*MaxDirs))
	if len(diags) != 1 || diags[0].String() != "S: has more than 2000 directories: those from S/d01999 on are not searched" {
		t.Errorf("above the limit: %v", diags)
	}
}

func TestK2_TotalLimit(t *testing.T) {
	files := map[string]string{}
	for i := range MaxTotal/MaxFile + 2 {
		files[fmt.Sprintf("d%02d/SKILL.md", i)] = ""
	}
	dir := tree(t, files)
	for name := range files {
		if err := os.Truncate(filepath.Join(dir, name), MaxFile); err != nil {
			t.Fatal(err)
		}
	}
	paths, reports := found(dir)
	if len(paths) != MaxTotal/MaxFile || len(reports) != 2 || !strings.Contains(reports[0], "more than 64 MiB together") {
		t.Errorf("%d skills, %q", len(paths), reports)
	}
}

func TestK2_Roots(t *testing.T) {
	show := func(roots []Root) (out []string) {
		for _, r := range roots {
			out = append(out, fmt.Sprintf("%v %s %s", r.Source, r.Dir, r.Show))
		}
		return out
	}
	homes := []string{"home .agents /h/.agents/skills ~/.agents/skills", "home .gamma /h/.gamma/skills ~/.gamma/skills"}
	ours := []string{"workspace .agents /w/.agents/skills .agents/skills", "workspace .gamma /w/.gamma/skills .gamma/skills"}
	for name, c := range map[string]struct {
		got  []Root
		want []string
	}{
		"trusted":       {Roots("/w", "/h", "/h/.gamma", true), append(ours, homes...)},
		"untrusted":     {Roots("/w", "/h", "/h/.gamma", false), homes},
		"other place":   {Roots("", "/h", "/data/gamma", true), []string{homes[0], "home .gamma /data/gamma/skills /data/gamma/skills"}},
		"no home":       {Roots("/w", "", "", true), ours},
		"home inside":   {Roots("", "/data/gamma/skills/me", "/data/gamma", false), []string{"home .agents /data/gamma/skills/me/.agents/skills ~/.agents/skills", "home .gamma /data/gamma/skills /data/gamma/skills"}},
		"similar names": {Roots("", "/h", "/hh/.gamma", false), []string{homes[0], "home .gamma /hh/.gamma/skills /hh/.gamma/skills"}},
	} {
		if d := cmp.Diff(c.want, show(c.got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The whole way: files on disk become a catalog.
func TestK2_WorkspaceSkillHidesHomeSkill(t *testing.T) {
	text := func(d string) string { return "---\nname: notes\ndescription: " + d + "\n---\nx\n" }
	ws := tree(t, map[string]string{".agents/skills/notes/SKILL.md": text("ours")})
	home := tree(t, map[string]string{".agents/skills/notes/SKILL.md": text("mine"), ".gamma/skills/notes/SKILL.md": text("Use: mine")})
	files, diags := Walk(Roots(ws, home, filepath.Join(home, ".gamma"), true))
	c, more := skill.NewCatalog(append(files, skill.Embedded()...))
	s, _ := c.Get("notes")
	if s.Description != "ours" || s.Dir != filepath.Join(ws, ".agents/skills/notes") || s.Path != ".agents/skills/notes/SKILL.md" || len(diags) > 0 {
		t.Errorf("got %+v, %v", s, diags)
	}
	var reports []string
	for _, d := range more {
		reports = append(reports, d.Path)
	}
	if d := cmp.Diff([]string{"~/.agents/skills/notes/SKILL.md", "~/.gamma/skills/notes/SKILL.md", "~/.gamma/skills/notes/SKILL.md"}, reports); d != "" {
		t.Error(d)
	}
}
