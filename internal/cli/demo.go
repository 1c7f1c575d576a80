package cli

import (
	"context"
	_ "embed" // the demo's script is a file that people can read
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// demoCmd is gamma demo.
type demoCmd struct {
	Story string `placeholder:"NAME" help:"Tell a story instead: forgery (who is believed), yield (who may go on), skills (a contract that is kept), compaction (what must not be forgotten), undo (the way back), crash (a kill in the middle), workflow (a run that survives)."`
	Dir   string `placeholder:"DIR" help:"Make the sample folder here (must not exist). Default: a new temporary folder."`
}

// Help is the long help.
func (demoCmd) Help() string {
	return `Runs a scripted session on a small sample repository: the model's words come from a file, and everything else is real, as in gamma exec. It shows a skill with its checklist, a task list, parallel tools, a progress message, words from a second process that arrive in the middle of the run, and a yield that waits for your answer. The sample folder and the session stay, so that you can look at them and answer.

Example:
  gamma demo
  gamma demo --story forgery`
}

//go:embed demo/script.yaml
var demoScript string

// demoPrompt is what the demo's user asks.
const demoPrompt = "Write release notes for everything since the last tag."

// Run is gamma demo.
func (c demoCmd) Run(a *app) error {
	if c.Story != "" {
		return c.tell(a)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("the demo works on a sample repository, so it needs git, which isn't on PATH: install it, or begin with: " + program() + " exec")
	}
	dir, err := c.folder()
	if err != nil {
		return err
	}
	commits, err := sampleRepository(dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir)) // it was made just now
	}
	script := demoScript
	for i, id := range commits {
		script = strings.ReplaceAll(script, fmt.Sprintf("{{c%d}}", i+1), id)
	}
	file := filepath.Join(dir, ".git", "gamma-demo.yaml") // out of the way of git status
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return err
	}
	out := newTextOutput(a.stdout, a.stderr)
	out.noHint = true
	a.out = out
	out.say(bold, "A scripted session: the model's words come from a file; everything else is real.")
	out.say(dim, "Sample folder: %s\n", dir)
	out.say(bold, "User: %s", demoPrompt)
	inside := *a
	inside.cwd = dir
	run := &execCmd{Prompt: []string{demoPrompt}, Model: "script:" + file, Variant: "base", Label: "demo", Allow: []string{"bash"},
		around: func(m llm.Model) llm.Model { return &visited{Model: m, at: 3, visit: c.visit(a, out, dir)} }}
	code, err := run.exec(&inside, out)
	a.hurry = inside.hurry
	if err != nil || code == exitInterrupt {
		a.code = code
		return err
	}
	c.closing(out, dir, file, code)
	return nil
}

// visited is a model during whose answer number at something happens: before
// it begins, so that what arrives is delivered with the next request.
type visited struct {
	llm.Model
	at    int
	calls int // a session has one model call at a time
	visit func(context.Context)
}

// Stream implements llm.Model.
func (v *visited) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if v.calls++; v.calls == v.at {
		v.visit(ctx)
	}
	return v.Model.Stream(ctx, req, emit)
}

// visit returns what other people do during the run: one changes a file and
// its editor tells the session, the user speaks from a second terminal. Both
// are processes of their own, which reach the session by its owner's socket.
func (c demoCmd) visit(a *app, out *textOutput, dir string) func(context.Context) {
	return func(ctx context.Context) {
		id := out.sessionID()
		if err := appendTo(filepath.Join(dir, "README.md"), "- `mean(list)`\n"); err != nil {
			out.notice(err.Error())
			return
		}
		for _, args := range [][]string{
			{"inject", id, "--kind", "artifact_update", "--from", "README.md", "mean was added"},
			{"exec", "--resume", id, "--steer", "Callers must change: say so first."},
		} {
			out.aside(args)
			if err := c.second(ctx, a.cwd, args); err != nil && ctx.Err() == nil {
				out.notice("the second process failed: " + err.Error())
			}
		}
	}
}

// second runs gamma as a process of its own. GAMMA_HOME may be relative to
// our folder, so it starts there.
func (c demoCmd) second(ctx context.Context, folder string, args []string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, own, args...)
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// appendTo adds to the end of a file.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (c demoCmd) closing(out *textOutput, dir, file string, code int) {
	if code != exitHuman {
		out.say(yellow, "! the demo ended with code %d instead of a question", code)
	}
	out.say(dim, "")
	out.say(bold, "What now")
	gamma := program()
	for _, line := range [][2]string{
		{"answer it", gamma + " exec --resume " + out.id + " --allow bash \"2.0.0\""},
		{"the session", gamma + " session show " + out.id},
		{"the notes", filepath.Join(dir, "RELEASE_NOTES.md")},
		{"the script", file},
		{"a real model", "OPENAI_API_KEY=… " + gamma + " exec --allow bash \"…\""},
	} {
		out.line(dim, fmt.Sprintf("  %-13s %s", line[0], line[1])) // to be copied: not wrapped
	}
}

// program is what to type to run this binary again.
func program() string {
	own, err := os.Executable()
	if err != nil {
		return "gamma"
	}
	name := filepath.Base(own)
	if found, err := exec.LookPath(name); err == nil {
		if same, err := filepath.EvalSymlinks(found); err == nil && same == own {
			return name
		}
	}
	return own
}

func (c demoCmd) folder() (string, error) {
	if c.Dir == "" {
		return os.MkdirTemp("", "gamma-demo-")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("sample folder: %w: choose one that doesn't exist yet", err)
	}
	return dir, nil
}

// sampleRepository makes a repository with a tag and three commits behind it,
// and returns the short ids of the three.
func sampleRepository(dir string) ([]string, error) {
	history := []struct{ file, text, message, tag string }{
		{"README.md", "# abacus\n\nA tiny library that counts.\n\n- `sum(list)`\n", "First release", "v1.0.0"},
		{"mean.txt", "mean(list) = sum(list) / len(list)\n", "Add mean\n\nReturns the average of a list.", ""},
		{"sum.txt", "sum(list): 64 bits\n", "Fix the overflow of sum\n\nThe total is kept in 64 bits.", ""},
		{"sum.txt", "sum(list): 64 bits; fails on an empty list\n", "Fail on an empty list\n\nsum returned 0. Callers must check the list first.", ""},
	}
	git := func(args ...string) (string, error) { return runGit(dir, args...) }
	if _, err := git("init", "-q"); err != nil {
		return nil, err
	}
	var ids []string
	for _, h := range history {
		if err := os.WriteFile(filepath.Join(dir, h.file), []byte(h.text), 0o644); err != nil {
			return nil, err
		}
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", h.message}} {
			if _, err := git(args...); err != nil {
				return nil, err
			}
		}
		if h.tag != "" {
			if _, err := git("tag", h.tag); err != nil {
				return nil, err
			}
			continue
		}
		id, err := git("rev-parse", "--short", "HEAD")
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// runGit runs git without the user's own configuration.
func runGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }) // GIT_DIR would be the user's
	cmd.Env = append(env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@example.com", "GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the demo makes a sample repository with git: git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}
