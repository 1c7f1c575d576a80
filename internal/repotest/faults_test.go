package repotest

import (
	"maps"
	"strings"
	"testing"
)

// sound is a small tree in which no check finds anything.
func sound() map[string][]byte {
	doc := "// Package session holds\n// some state. " + strings.Repeat("It says a lot. ", 15) + "\n// And ends.\n"
	return map[string][]byte{
		"go.mod":                      []byte("module example.com/m\n"),
		"internal/session/session.go": []byte(doc + "package session\n\n// F is f.\nfunc F() {}\n\nvar chosen string\n"),
	}
}

// fault is a change to the sound tree: one file, and what a check finds then.
type fault struct {
	check string
	file  string
	text  string
	want  []string // a part of each finding, in order; empty: nothing is found
}

const (
	inSession = "internal/session/x.go"
	inTest    = "internal/session/x_test.go"
)

func importFaults() []fault {
	const c = "imports"
	return []fault{
		{c, inSession, `package session; import "example.com/m/llm"`, nil},
		{c, inSession, `package session; import "example.com/m/internal/disk"`, []string{"x.go:1: internal/session may not import internal/disk"}},
		{c, inSession, `package session; import "example.com/m"`, []string{"may not import ."}},
		{c, inTest, `package session_test; import "example.com/m/internal/disk"`, nil},
		{c, inTest, `package session_test; import "example.com/m/internal/flow"`, []string{"never import each other"}},
		{c, "internal/flow/x_test.go", `package flow; import "example.com/m/internal/session"`, []string{"never import each other"}},
		{c, "internal/session/deep/x.go", `package deep`, []string{"internal/session/deep: the package has no row"}},
		{c, "internal/session/testdata/deep/x.go", `package deep`, nil},
		{c, "internal/disk/x.go", `package disk; import "example.com/m/internal/crashpoint"`, nil},
		{c, inSession, `package session; import "example.com/m/internal/crashpoint"`, []string{"may not import internal/crashpoint"}},
		{c, "internal/cli/x.go", `package cli; import "example.com/m/internal/disk"`, nil},
	}
}

func purityFaults() []fault {
	const c = "purity"
	out := []fault{
		{c, inSession, "package session\nimport t \"time\"\nfunc f() t.Time {\nreturn t.Now() }", []string{"x.go:4: internal/session is pure and may not use time.Now"}},
		{c, inSession, "package session\nimport \"time\"\nvar f = time.Since", []string{"time.Since"}},
		{c, inSession, "package session\nimport \"time\"\nfunc f(a time.Time) bool { return a.After(a) }", nil},
		{c, inSession, "package session; func f() { go f() }", []string{"a goroutine"}},
		{c, inSession, "package session; type c chan int", []string{"a channel"}},
		{c, inSession, "package session; func f() { <-g() }", []string{"a channel"}},
		{c, inSession, "package session; func f() { g() <- 1 }", []string{"a channel"}},
		{c, inSession, "package session; func f() { select {} }", []string{"a channel"}},
		{c, inSession, "package session; import \"fmt\"; func f() { fmt.Println(fmt.Sprint(1)) }", []string{"fmt.Println"}},
		{c, inTest, "package session; import _ \"os\"", nil},
		{c, "internal/disk/x.go", "package disk; import _ \"os\"", nil},
	}
	for _, imp := range []string{"os", "os/exec", "net", "net/http", "database/sql", "database/sql/driver",
		"math/rand", "math/rand/v2", "crypto/rand", "context", "sync", "sync/atomic", "io/ioutil",
		"path/filepath", "syscall", "log", "log/slog", "runtime", "golang.org/x/sys/unix", "github.com/google/uuid"} {
		out = append(out, fault{c, inSession, `package session; import _ "` + imp + `"`, []string{"may not import " + imp + ":"}})
	}
	for _, imp := range []string{"math", "crypto/sha256", "encoding/json", "strings", "time"} {
		out = append(out, fault{c, inSession, `package session; import _ "` + imp + `"`, nil})
	}
	return out
}

func docFaults() []fault {
	const p, e = "package docs", "exported docs"
	return []fault{
		{p, "llm/x.go", "package llm", []string{"llm: the package has no package comment"}},
		{p, "llm/x.go", "// Package llm is short.\npackage llm", []string{"1 lines and 21 characters"}},
		{p, "llm/x.go", "// Package llm\n// is\n// short.\npackage llm", []string{"3 lines and 21 characters"}},
		{p, "llm/x.go", "// Package llm " + strings.Repeat("x", 200) + "\n// is long.\npackage llm", []string{"2 lines and 221 characters"}},
		{p, "llm/x_test.go", "// Package llm has only a test.\npackage llm", []string{"llm: the package has no package comment"}},
		{p, "cmd/gamma/main.go", "// Gamma runs agents.\npackage main", nil},
		{p, "cmd/gamma/main.go", "package main", []string{"no package comment"}},
		{p, inSession, "// Package session again.\npackage session", []string{"a second package comment"}},
		{e, inSession, "package session; func G() {}", []string{"G is exported"}},
		{e, inSession, "package session\n//go:noinline\nfunc G() {}", []string{"G is exported"}},
		{e, inSession, "package session; type g int; func (g) G() {}", nil},
		{e, inSession, "package session\n// T is t.\ntype T[A any] int\nfunc (*T[A]) G() {}", []string{"G is exported"}},
		{e, inSession, "package session; type T int", []string{"T is exported"}},
		{e, inSession, "package session\n// Kinds.\ntype (\nT int\n)", []string{"T is exported"}},
		{e, inSession, "package session; const A, b, C = 1, 2, 3", []string{"A is exported", "C is exported"}},
		{e, inSession, "package session\n// Kinds.\nconst (\nA = 1\n)\nconst B = 2 // B too", nil},
		{e, inSession, "package session\n// E is e.\ntype E int\nfunc (E) Error() string { return \"\" }\nfunc Error() {}", []string{"x.go:5: Error is exported"}},
		{e, inTest, "package session; func G() {}", nil},
	}
}

func sizeFaults() []fault {
	const f, n = "file length", "function length"
	body := func(lines int) string {
		return "package session\nfunc f() {" + strings.Repeat("\n", lines-1) + "}\n"
	}
	return []fault{
		{f, inSession, body(499), nil},
		{f, inSession, body(500), []string{"501 lines; a file over 500"}},
		{f, "tools/x.go", body(999), []string{"1000 lines; no file"}},
		{f, inTest, body(799), []string{"800 lines; a file over 500"}},
		{f, inTest, body(800), []string{"801 lines; no file"}},
		{n, inSession, body(40), nil},
		{n, inSession, body(41), []string{"1 of 2 functions have over 40 lines"}},
		{n, inSession, body(101), []string{"f has 101 lines", "1 of 2"}},
		{n, inTest, body(101), nil},
		{"package names", "internal/util/x.go", "package util", []string{"package util in internal/util"}},
		{"package names", "internal/base/x.go", "package b", []string{"package b in internal/base"}},
		{"package names", "internal/b/x_test.go", "package helpers_test", []string{"package helpers"}},
	}
}

func stateFaults() []fault {
	const c = "package state"
	return []fault{
		{c, inSession, "package session; func init() {}", []string{"init functions"}},
		{c, inTest, "package session; func init() {}", []string{"init functions"}},
		{c, inSession, "package session; type t int; func (t) init() {}", nil},
		{c, inSession, "package session; var a, b = 1, 2", []string{"variable a", "variable b"}},
		{c, inSession, "package session; var ErrA error", []string{"variable ErrA"}},
		{c, inSession, `package session; import "errors"; var errA = errors.New("a"); var ErrB = t{}`, nil},
		{c, inSession, "package session; var _ i = t{}", nil},
		{c, inSession, "package session\nimport _ \"embed\"\n//go:embed x\nvar x string", nil},
		{c, inSession, "package session\nimport _ \"embed\"\nvar (\n//go:embed x\nx string\n)", nil},
		{c, inTest, "package session; var a = 1", nil},
		{c, inSession, `package session; import _ "image/png"`, []string{`image/png as "_"`}},
		{c, inSession, `package session; import . "strings"`, []string{`strings as "."`}},
		{c, "internal/transcript/x.go", "package transcript; var writing = 1", nil},
		{c, "internal/transcript/x.go", "package transcript", []string{"no such variable"}},
	}
}

func textFaults() []fault {
	const x, u, s, l = "forbidden text", "unfinished", "R5 sleeps and skips", "R5 goroutine leaks"
	return []fault{
		{x, "README.md", "a\nb /wo" + "rk/main", []string{"README.md:2:"}},
		{x, "README.md", "/tmp/bash" + "_jobs.0", []string{"path of one machine"}},
		{x, "README.md", "/far" + "m/x", []string{"path of one machine"}},
		{x, "web/package-lock.json", "https://registry." + "npmjs.org/yjs", []string{"registry's host"}},
		{x, "x.sh", "GOPROXY=https://proxy." + "golang.org", []string{"registry's host"}},
		{x, "Dockerfile", "http://deb." + "debian.org", []string{"registry's host"}},
		{u, inSession, "package session\n// TO" + "DO: more", []string{"x.go:2: TO" + "DO"}},
		{u, inTest, "package session // FIX" + "ME XX" + "X", []string{"FIX" + "ME", "XX" + "X"}},
		{u, inSession, "package session // mktemp XX" + "XX, todo", nil},
		{s, inTest, "package session\nimport \"time\"\nfunc f() { time.Sleep(1) }", []string{"x_test.go:3: time.Sleep"}},
		{s, inTest, "package session\nimport \"time\"\nvar f = time.Sleep", []string{"time.Sleep"}},
		{s, inSession, "package session\nimport \"time\"\nfunc f() { time.Sleep(1) }", nil},
		{s, inTest, "package session\nimport \"testing\"\nfunc f(x *testing.T) { x.Skip() }", []string{"x.Skip"}},
		{s, inTest, "package session\nimport \"testing\"\nfunc f(tb testing.TB) { func() { tb.SkipNow() }() }", []string{"tb.SkipNow"}},
		{s, inTest, "package session\nimport \"testing\"\nfunc f(t *testing.F) { t.Skipf(\"\") }", []string{"t.Skipf"}},
		{s, inTest, "package session\nfunc f(d decoder) { d.Skip() }", nil},
		{l, "internal/disk/x.go", "package disk\nfunc f() { go f() }", []string{"x.go:2: internal/disk starts a goroutine"}},
		{l, inTest, "package session\nfunc f() { go f() }", nil},
	}
}

func threatFaults() []fault {
	const c = "R20 threat model"
	head := "| threat | what holds it | test |\n|---|---|---|\n"
	return []fault{
		{c, threatFile, head + "| a | b | `TestRepository` |", []string{"threat-model.md:3: there is no test TestRepository"}},
		{c, threatFile, head + "| a | b | seen by eye |", []string{"names no test"}},
		{c, threatFile, head + "| a | `TestA` |", []string{"the row has 2 cells"}},
		{c, threatFile, "Some text about `TestA`.\n", nil},
	}
}

func TestEachCheckFindsItsFaults(t *testing.T) {
	byName := map[string]check{}
	for _, c := range checks() {
		byName[c.name] = c
		for _, finding := range c.run(mustParse(t, sound())) {
			t.Errorf("%s, sound tree: %s", c.name, finding)
		}
	}
	shown := map[string]bool{"spec index": true} // by the tests of spec_test.go
	for _, list := range [][]fault{importFaults(), purityFaults(), docFaults(), sizeFaults(), stateFaults(), textFaults(), threatFaults()} {
		for _, f := range list {
			files := sound()
			files[f.file] = []byte(f.text)
			got := byName[f.check].run(mustParse(t, files))
			shown[f.check] = shown[f.check] || len(got) > 0
			if len(got) != len(f.want) {
				t.Errorf("%s, %s: %.80q: got findings %q, want %q", f.check, f.file, f.text, got, f.want)
				continue
			}
			for i, want := range f.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%s, %s: %.80q: got %q, want %q in it", f.check, f.file, f.text, got[i], want)
				}
			}
		}
	}
	for name := range byName {
		if !shown[name] {
			t.Errorf("no fault shows that the check %q can fail", name)
		}
	}
}

func TestLongFilesAreListedWithAReason(t *testing.T) {
	files := sound()
	files["internal/session/long.go"] = []byte("package session" + strings.Repeat("\n", 600))
	files["internal/session/longest.go"] = []byte("package session" + strings.Repeat("\n", 900))
	listed := map[string]string{
		"internal/session/long.go":    "one table",
		"internal/session/longest.go": "no reason is enough",
		"internal/session/session.go": "was long",
		"internal/session/gone.go":    "was long",
		"b.go":                        "was long",
		"c.go":                        "was long",
	}
	want := []string{"6 long files are listed", "b.go: there is no", "c.go: there is no", "gone.go: there is no",
		"longest.go:1: 900 lines; no file", "session.go:1: 9 lines: drop it"}
	got := fileLengths(mustParse(t, files), listed)
	if len(got) != len(want) {
		t.Fatalf("got findings %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("got %q, want %q in it", got[i], want[i])
		}
	}
}

func TestOtherModulesAreNoCodeOfOurs(t *testing.T) {
	files := sound()
	files["tools/go.mod"] = []byte("module example.com/m/tools\n")
	files["tools/deep/x.go"] = []byte("not Go at all")
	if got := mustParse(t, files).packages(); len(got) != 1 {
		t.Errorf("got packages %q, want only internal/session", got)
	}
}

func TestR5_LeakCheckIsSeenInAnyTestFile(t *testing.T) {
	files := sound()
	files["internal/disk/x.go"] = []byte("package disk\nfunc f() { go f() }")
	files["internal/disk/a_test.go"] = []byte(`package disk_test; import "go.uber.org/goleak"`)
	files["internal/disk/b_test.go"] = []byte("package disk")
	if got := checkLeaks(mustParse(t, files)); len(got) != 0 {
		t.Errorf("got findings %q", got)
	}
}

func TestSpecIndex(t *testing.T) {
	title := func(rule string) string { return `"` + rule + ` clause"` }
	files := maps.Clone(sound())
	files[inTest] = []byte("package session\nfunc TestE10_B() { t.Run(" + title("S3") + ") }\nfunc TestE9_A() {}\nfunc TestE10_A() {}\nfunc TestOther() {}\nfunc BenchmarkP4_Open() {}\nfunc (x) TestE7_Method() {}\n" +
		"var x = `Z9 no rule` + `S4 two\nlines` + `S5 a|b` + `S5 a|b`\n")
	files["internal/session/testdata/deep/K4_body.txtar"] = nil
	files["internal/session/K5_elsewhere.txt"] = nil
	files["web/test/ui.spec.ts"] = []byte("test(" + title("U10") + ", async () => {})\nlog('U11 no test')")
	files[specFile] = []byte(specHead + "| D7 | reviewed: one page |\n| E9 | reviewed: not any more |\n| E8 | TestE8_Gone (x_test.go) |\n")

	tr := mustParse(t, files)
	if got := checkSpec(tr); len(got) != 1 || !strings.Contains(got[0], "out of date") {
		t.Errorf("stale text: got findings %q", got)
	}
	want := specHead + `| D7 | reviewed: one page |
| E9 | TestE9_A (internal/session/x_test.go) |
| E10 | TestE10_A, TestE10_B (internal/session/x_test.go) |
| K4 | K4_body.txtar (internal/session/testdata/deep) |
| P4 | BenchmarkP4_Open (internal/session/x_test.go) |
| S3 | ` + title("S3") + ` (internal/session/x_test.go) |
| S5 | "S5 a\|b" (internal/session/x_test.go) |
| U10 | ` + title("U10") + ` (web/test/ui.spec.ts) |
`
	got := tr.specText()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	tr.files[specFile] = []byte(got)
	if findings := checkSpec(tr); len(findings) != 0 || tr.specText() != got {
		t.Errorf("its own text: got findings %q", findings)
	}
}

func mustParse(t *testing.T, files map[string][]byte) *tree {
	t.Helper()
	tr, err := parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
