package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestC12_AWrongCallSaysWhatIsWanted: the field or the word that is wrong, what
// there is, and what fits.
func TestC12_AWrongCallSaysWhatIsWanted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fits := `run echo --input '{"task":"…"}'`
	for _, c := range []struct {
		args  []string
		wants []string
	}{
		{[]string{"run", "echo"}, []string{"missing property 'task'", "task (string, required)", fits}},
		{[]string{"run", "echo", "--input", "{}"}, []string{"missing property 'task'", fits}},
		{[]string{"run", "echo", "--input", "nope"}, []string{"--input: nope is no JSON", fits}},
		{[]string{"run", "echo", "--input", ""}, []string{"--input: it is no JSON (it is empty)", fits}},
		{[]string{"run", "echo", "--input", `{"tsak":"x"}`}, []string{"'tsak' not allowed", `"tsak": did you mean "task"?`, fits}},
		{[]string{"run", "fix-loop", "--input", `{"lines":"many"}`}, []string{"/lines: got string, want integer", "lines (integer)", "run fix-loop --input"}},
		{[]string{"run", "echo", "--input-file", "none.json"}, []string{"--input-file: ", "none.json: no such file"}},
		{[]string{"run", "ecko", "x"}, []string{`no workflow "ecko", did you mean "echo"?`, "assistant-reply, branch"}},
		{[]string{"runs", "lsit"}, []string{`no command "gamma runs lsit", did you mean "list"?`, "list, show, watch"}},
		{[]string{"runs", "bogus"}, []string{`no command "gamma runs bogus". There are: list`}},
		{[]string{"seesion", "list"}, []string{`did you mean "session"?`}},
		{[]string{"runs"}, []string{`"gamma runs" needs a command: list`}},
		{[]string{"runs", "show"}, []string{`"gamma runs show" needs <run>`}},
		{[]string{"runs", "answer", "last", "--json", "yes, please"}, []string{"it is no JSON", "--text"}},
	} {
		r := p.run(c.args...)
		r.shows(t, c.wants...)
		if r.code != 2 || r.stdout != "" || !strings.HasPrefix(r.stderr, "gamma: ") {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}

// TestC8_AnIdOfTheOtherKindNamesTheRightCommand: three commands resume.
func TestC8_AnIdOfTheOtherKindNamesTheRightCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + submits(`{"answer": "blue"}`))
	p.ok("run", "echo", "Paint it.")
	run, session := p.runID(), p.readSession().id
	p.run("exec", "--resume", run).shows(t, "is a workflow run and no session", "runs show "+run, session)
	for _, args := range [][]string{{"run", "--resume", session}, {"runs", "resume", session}} {
		p.run(args...).shows(t, "is a session and no run", "exec --resume "+session)
	}
	p.ok("run", "human-decision", "Paint it.", "--detach")
	id := p.runID()
	p.run("runs", "resume", id).shows(t, "isn't paused: it is queued", "run --resume "+id)
	p.run("exec", "--resume", id).shows(t, "is a workflow run and no session", "run --resume "+id)
	p.run("run", "--resume", id)
	p.run("runs", "resume", id).shows(t, "isn't paused: it is waiting", "runs answer "+id+" --choice yes|no|replan")
}

// TestC8_ExportsWriteAlike: to a file, over one that is there, through a link,
// to standard output, and not into a folder.
func TestC8_ExportsWriteAlike(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + submits(`{"answer": "blue"}`))
	p.ok("run", "echo", "Paint it.")
	for what, id := range map[string]string{"runs": p.runID(), "session": p.readSession().id} {
		dir := t.TempDir()
		whole := p.ok(what, "export", id).stdout
		if got := p.ok(what, "export", id, "-o", "-").stdout; got != whole || whole == "" {
			t.Errorf("%s: -o - prints %d bytes, without it there are %d", what, len(got), len(whole))
		}
		file, link := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "link")
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{file, file, link} {
			p.ok(what, "export", id, "-o", name)
			if b, err := os.ReadFile(file); err != nil || string(b) != whole {
				t.Errorf("%s: %s has %d bytes, want %d (%v)", what, name, len(b), len(whole), err)
			}
		}
		if r := p.run(what, "export", id, "-o", dir); r.code != 2 || !strings.Contains(r.stderr, "it is a folder: name a file in it") {
			t.Errorf("%s: %+v", what, r)
		}
		if r := p.run(what, "export", id, "-o", filepath.Join(dir, "none", "a")); r.code != 1 || !strings.Contains(r.stderr, "no such file or directory") {
			t.Errorf("%s: %+v", what, r)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 2 {
			t.Errorf("%s: the folder has %v (%v)", what, left, err)
		}
	}
}
