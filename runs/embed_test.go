package runs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/runs"
	"github.com/gamma-harness/gamma/workflow"
)

// TestW7_AProgramOutsideGoesOnAfterAKill builds the programs of examples/embed,
// a module of its own that can import only what is public, and runs them.
func TestW7_AProgramOutsideGoesOnAfterAKill(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./...")
	build.Dir = filepath.Join("..", "examples", "embed")
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("W7 in a process of its own", func(t *testing.T) { killed(t, filepath.Join(bin, "shop")) })
	t.Run("W7 a step for a model goes to a host of the program", func(t *testing.T) { hosted(t, filepath.Join(bin, "mytool")) })
	t.Run("W7 on a command line of its own", func(t *testing.T) { commanded(t, filepath.Join(bin, "mytool")) })
}

// killed kills a release while it builds, and starts it again.
func killed(t *testing.T, shop string) {
	dir := t.TempDir()
	first := exec.CommandContext(t.Context(), shop, dir, "1.2")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	appears(t, filepath.Join(dir, "build.txt"))
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	for range 2 { // the second time it has ended already
		out, err := exec.CommandContext(t.Context(), shop, dir, "1.2").CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "1.2: released true\n") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), shop, dir, "1.3", "no").CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "1.3: released false\n") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), shop).CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || string(out) != "usage: shop DIR VERSION [yes|no]\n" {
		t.Errorf("%v\n%s", err, out)
	}
	tries, err := os.ReadFile(filepath.Join(dir, "build.txt"))
	if err != nil || string(tries) != "begun\nbegun\nbegun\n" {
		t.Errorf("the build has begun %q, %v", tries, err)
	}
}

// notes is the workflow notes of examples/embed, as another module has it.
func notes() (*workflow.Flow[release], error) {
	in := workflow.Input[release]()
	write := workflow.Agent("write", func(c *workflow.Ctx) string { return "other words " + in.Of(c).Version }, workflow.Submit[text]())
	done := workflow.Compute("done", func(c *workflow.Ctx) (text, error) { return text{"other code: " + write.Of(c).Text}, nil })
	return workflow.Define("notes", in, write, workflow.Description("Have a model write release notes."), workflow.Then(write, done))
}

type release struct {
	Version string `json:"version" jsonschema:"the version to release"`
}

type text struct {
	Text string `json:"text"`
}

const notesScript = `version: 1
steps:
  - {expect: "Write release notes for 3", tools: [{name: workflow, args: {action: submit, output: {text: "All new."}}}]}
  - {text: "Done."}
`

// hosted starts a run here, where its step for a model can't be carried out,
// and has the program's host do it.
func hosted(t *testing.T, mytool string) {
	dir, ws := t.TempDir(), t.TempDir()
	flow, err := notes()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(ws, "script.yaml")
	if err := os.WriteFile(script, []byte(notesScript), 0o600); err != nil {
		t.Fatal(err)
	}
	h := opened(t, runs.Options{Dir: dir, AgentsElsewhere: true}, flow.Definition())
	id, err := runs.Start(t.Context(), h, flow, release{"3"}, runs.Place{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	go h.Serve(t.Context())
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var other *exec.Cmd
	for run, err := range h.Watch(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == runs.Parked && other == nil {
			other = exec.Command(mytool, "host", "--model", "script:"+script)
			other.Dir, other.Env = ws, append(os.Environ(), "GAMMA_HOME="+dir)
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer other.Wait()
			defer other.Process.Signal(os.Interrupt)
		}
	}
	if out, err := runs.Output[text](t.Context(), h, id); err != nil || out.Text != "All new." {
		t.Errorf("got %v, %v", out, err)
	}
}

// commanded runs the same workflow by commands, each in a process of its own.
func commanded(t *testing.T, mytool string) {
	dir := t.TempDir()
	for _, c := range []struct {
		code int
		args string
		want []string
	}{
		{0, "run --list", []string{"deploy", "Build, ask a person, release."}},
		{0, "help", []string{"mytool demo", "Durable workflows:"}},
		{0, "runs answer --help", []string{"mytool runs answer last --choice yes"}},
		{0, "version", []string{"mytool 1.0 (gamma "}},
		{0, "completion bash", []string{"complete -F _mytool mytool"}},
		{0, "__complete run d", []string{"deploy\tBuild"}},
		{2, "run nix", []string{`mytool: there is no workflow "nix". "mytool run --list" shows what there is: deploy`}},
		{2, "run branch", []string{`there is no workflow "branch"`}},
		{3, `run deploy --input {"version":"2"}`, []string{"Release 2?", mytool + " runs answer "}},
		{0, "runs answer last --choice yes", []string{mytool + " run --resume "}},
		{0, "run --resume last", []string{`{"version":"2","released":true}`}},
	} {
		cmd := exec.CommandContext(t.Context(), mytool, strings.Split(c.args, " ")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GAMMA_HOME="+filepath.Join(dir, "home"))
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != c.code {
			t.Errorf("mytool %s: %v, want code %d\n%s", c.args, err, c.code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("mytool %s: no %q in\n%s", c.args, want, out)
			}
		}
	}
}

// appears waits for a file.
func appears(t *testing.T, file string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s didn't appear", file)
		case <-tick.C:
		}
	}
}
