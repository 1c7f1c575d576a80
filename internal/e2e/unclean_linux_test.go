package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestR4_HostileNames: files whose names try to be something else. They are
// read, written, edited and listed like others; no output holds their control
// characters; what can't be a name is refused, and the session goes on.
func TestR4_HostileNames(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("é", 127) + "x" // 255 bytes
	names := []string{"-rf", "--", "a\nb", "\x1b[2Jcleared", "a\tb", " lead", "trail ", "$(touch made)", "`touch made`", "'\"", "</data>", "*", "\u202egnp.exe", "...", longest, "spill:x", "~", "a\\b", "\u0085\u2028"}
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.ws, "bad\xff\xfename"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n")
	for _, n := range names {
		path := "./" + n
		b.WriteString("  - {tools: [" + call(t, "write", args{"path": path, "content": "one\r\ntwo\n"}) + "]}\n")
		b.WriteString("  - {tools: [" + call(t, "edit", args{"path": path, "edits": []args{{"oldText": "two", "newText": "three"}}}) + "]}\n")
		b.WriteString("  - {tools: [" + call(t, "read", args{"path": path}) + "]}\n")
	}
	for _, bad := range []string{longest + "y", "a\x00b", "", ".", "..", strings.Repeat("d/", 3000)} {
		b.WriteString("  - {tools: [" + call(t, "write", args{"path": bad, "content": "x"}) + "]}\n")
	}
	b.WriteString("  - {tools: [" + call(t, "read", args{"path": "."}) + ", " + call(t, "bash", args{"command": "ls -la; find . -type f -exec cat {} + > /dev/null || exit 3"}) + "]}\ndefault: {text: Over.}\n")
	p.script(b.String())
	for i, extra := range [][]string{{"--json"}, {"--continue"}} {
		r := p.run(append([]string{"exec", "--allow", "bash", "--max-turns", "0"}, append(extra, "go")...)...)
		if r.code != 0 || i == 0 && r.result(t).Text != "Over." {
			t.Fatalf("exit %d, %.2000s\n%s", r.code, r.stdout, r.stderr)
		}
		if strings.ContainsAny(r.stdout+r.stderr, "\x1b\x00") || !utf8.ValidString(r.stdout+r.stderr) {
			t.Errorf("%v: control characters are printed: %.500q", extra, r.stdout+r.stderr)
		}
	}
	for _, n := range names {
		if got, err := os.ReadFile(filepath.Join(p.ws, n)); err != nil || string(got) != "one\r\nthree\n" {
			t.Errorf("%q holds %q, %v", n, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.ws, "made")); err == nil {
		t.Error("a name was run")
	}
	results := p.readSession().results()
	for i, r := range results {
		if want := map[bool]string{true: "ok", false: "error"}[i < 3*len(names) || i >= 3*len(names)+6]; !strings.HasPrefix(r, want+": ") {
			t.Errorf("result %d: %.300q", i, r)
		}
	}
	if list := results[3*len(names)+6]; !strings.Contains(list, `bad\xff\xfename`) || strings.Contains(list, "\x1b") {
		t.Errorf("the list: %q", list)
	}
	for _, a := range [][]string{{"session", "show", "last"}, {"session", "show", "last", "--full"}, {"session", "list"}} {
		if r := p.run(a...); r.code != 0 || strings.ContainsAny(r.stdout, "\x1b\x00") {
			t.Errorf("%v: exit %d, %.300q", a, r.code, r.stdout)
		}
	}
}

// TestR4_BrokenDisks: a workspace whose files can't be read (EIO), or can't be
// written: errors of the calls, and the run goes on.
func TestR4_BrokenDisks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.Mkdir(filepath.Join(p.ws, "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, c := range []string{
		call(t, "read", args{"path": "broken/self/mem"}), // its first page isn't there: EIO
		call(t, "edit", args{"path": "broken/self/mem", "edits": []args{{"oldText": "a", "newText": "b"}}}),
		call(t, "write", args{"path": "broken/made", "content": "x"}),
		call(t, "write", args{"path": "broken/self/comm", "content": "x"}),
		call(t, "bash", args{"command": "cat broken/self/mem"}),
	} {
		steps = append(steps, "  - {tools: ["+c+"]}\n")
	}
	p.script("version: 1\nsteps:\n" + strings.Join(steps, "") + "default: {text: Over.}\n")
	out := p.apart(run + `
		mount --rbind /proc broken
		run broken exec --json --allow bash go`)
	r := told(t, out, "broken")
	if r.code != 0 || r.result(t).Text != "Over." {
		t.Fatalf("exit %d, %s\n%s", r.code, r.stdout, r.stderr)
	}
	results := p.readSession().results()
	if len(results) != len(steps) || !strings.Contains(results[0], "input/output error") {
		t.Errorf("results: %q", results)
	}
	for _, got := range results {
		if !strings.HasPrefix(got, "error: ") {
			t.Errorf("it worked: %s", got)
		}
	}
}

// TestE42_DaemonsEndWithTheSession: a command that forks twice into a session
// of its own leaves nothing behind, neither at its timeout nor at the end.
func TestE42_DaemonsEndWithTheSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	daemon := func(name string) string {
		return "setsid -f sh -c 'echo $$ > " + name + "; exec sleep 300' > /dev/null 2>&1; until [ -s " + name + " ]; do sleep 0.01; done"
	}
	p.script("version: 1\nsteps:\n  - {tools: [" + call(t, "bash", args{"command": daemon("one") + "; sleep 300", "timeout": 0.5}) + "]}\n" +
		"  - {tools: [" + call(t, "bash", args{"command": "" + daemon("two")}) + "]}\ndefault: {text: Over.}\n")
	r := p.run("exec", "--json", "--allow", "bash", "go")
	if r.code != 0 {
		t.Fatalf("exit %d, %s\n%s", r.code, r.stdout, r.stderr)
	}
	if results := p.readSession().results(); len(results) != 2 || !strings.Contains(results[0], "timed out") || !strings.HasPrefix(results[1], "ok: ") || !strings.Contains(results[1], "still running; they end with the session") {
		t.Errorf("results: %q", results)
	}
	for _, name := range []string{"one", "two"} {
		var pid int
		if err := json.Unmarshal(read(t, filepath.Join(p.ws, name)), &pid); err != nil {
			t.Fatal(err)
		}
		if stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat"); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			t.Errorf("the daemon %s, process %d, outlives the session", name, pid)
		}
	}
}
