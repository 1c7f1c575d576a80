package e2e

import (
	"database/sql"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

// acts is an answer that comes late and leaves something behind.
func acts(delay string) string {
	return "  - {delayMs: " + delay + ", tools: [{name: bash, args: {command: \"echo RAN >> effect.txt\"}}]}\n"
}

// asked starts gamma and returns when the model was asked so many times.
func (p *place) asked(n int, args ...string) *exec.Cmd {
	p.t.Helper()
	cmd, _ := p.begin(args...)
	eventually(p.t, "the model is asked", func() bool {
		asked, _ := p.replies()
		return asked == n
	})
	return cmd
}

// die kills a process.
func die(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// closed checks that nothing came of the step, and that it was closed.
func (p *place) closed() {
	p.t.Helper()
	if exists(filepath.Join(p.ws, "effect.txt")) {
		p.t.Error("the step had an effect after its run was cancelled")
	}
	settled := ""
	for _, e := range p.readSession().branch() {
		if e.Kind == "settled" && e.Body.Attempt != "" {
			settled = string(e.Body.Reason)
		}
	}
	if settled != "aborted" || p.runStatus() != "cancelled cancelled" && p.runStatus() != "cancelled " {
		p.t.Errorf("the step has settled as %q, the run is %q", settled, p.runStatus())
	}
}

// TestW32_AStepOfAnEndedRunIsClosed: whoever opens the session of a run that was
// cancelled meanwhile doesn't go on with its step.
func TestW32_AStepOfAnEndedRunIsClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workflow, slow, fast string }{
		"submit":    {"two-turn", acts("60000"), acts("0") + says("more")},
		"assistant": {"assistant-reply", "  - {delayMs: 60000, text: said}\n", says("said")},
	} {
		for _, words := range [][]string{nil, {"Something else."}} {
			t.Run(name+strings.Join(words, ""), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.script("version: 1\nsteps:\n" + c.slow)
				die(p.asked(1, "run", c.workflow, "tea"))
				p.script("version: 1\nsteps:\n" + c.fast)
				p.ok("runs", "cancel", "last")
				if words != nil {
					p.script("version: 1\ndefault: {text: Else.}\n")
				}
				r := p.run(append([]string{"exec", "--allow", "bash", "--resume", p.readSession().id}, words...)...)
				if words == nil && (r.code != 1 || r.stdout != "") || words != nil && (r.code != 0 || r.stdout != "Else.\n") || strings.Contains(r.stderr, "by you") {
					t.Errorf("%+v", r)
				}
				p.closed()
			})
		}
	}
	t.Run("a prompt that waits", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script("version: 1\nsteps:\n  - {tools: [{name: workflow, args: {action: start, workflow: two-turn, input: {task: tea}}}]}\n" +
			"  - {delayMs: 60000, text: never}\n")
		cmd := p.asked(2, "exec", "Start it.")
		eventually(t, "the prompt waits", func() bool {
			for _, e := range p.readSession().entries() {
				if e.Kind == "arrive" && e.Body.Step != nil {
					return true
				}
			}
			return false
		})
		die(cmd)
		p.ok("runs", "cancel", "last")
		p.script("version: 1\nsteps:\n" + says("place") + says("The turn's end.") + acts("0") + says("more"))
		if r := p.run("exec", "--allow", "bash", "--resume", "last"); r.code != 0 || r.stdout != "The turn's end.\n" {
			t.Errorf("%+v", r)
		}
		if steps, _ := p.readSession().prompts(); len(steps) != 0 || exists(filepath.Join(p.ws, "effect.txt")) {
			t.Errorf("%d prompts of a cancelled run began", len(steps))
		}
	})
}

// expired waits until nobody's claim holds.
func (p *place) expired() {
	p.t.Helper()
	db, err := store.OpenSQLite(p.t.Context(), filepath.Join(p.home, "gamma.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	eventually(p.t, "the lease runs out", func() bool {
		list, err := db.Runs(p.t.Context(), 0)
		return err == nil && len(list) == 1 && list[0].LeaseUntil < time.Now().UnixMilli()
	})
}

// suspended starts gamma with short leases and stops its process when the model
// was asked so many times.
func suspended(t *testing.T, n int, script string, args ...string) (*place, *exec.Cmd) {
	t.Helper()
	p := newPlace(t)
	p.bin = crashBin
	p.env = append(p.env, crashpoint.QuickVariable+"=10")
	p.script(script)
	cmd := p.asked(n, args...)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return p, cmd
}

// goesOnNow lets a stopped process go on, and returns how it ended.
func goesOnNow(cmd *exec.Cmd) int {
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// startsTurn is what the model says in a session in which it starts two-turn.
const startsTurn = "version: 1\nsteps:\n  - {tools: [{name: workflow, args: {action: start, workflow: two-turn, input: {task: tea}}}]}\n  - {text: started}\n"

// TestW32_ASuspendedOwnerHearsOfACancel: while a process was suspended its run
// was cancelled. Nothing of the step goes on when it wakes up.
func TestW32_ASuspendedOwnerHearsOfACancel(t *testing.T) {
	t.Parallel()
	t.Run("gamma run", func(t *testing.T) {
		t.Parallel()
		p, cmd := suspended(t, 1, "version: 1\nsteps:\n"+acts("1500")+says("more"), "run", "two-turn", "tea", "--allow", "bash")
		p.ok("runs", "cancel", "last")
		goesOnNow(cmd)
		p.closed()
	})
	t.Run("gamma exec", func(t *testing.T) {
		t.Parallel()
		p, cmd := suspended(t, 3, startsTurn+acts("1500")+says("more"), "exec", "Start it.", "--allow", "bash")
		p.ok("runs", "cancel", "last")
		if code := goesOnNow(cmd); code != 1 {
			t.Errorf("exit %d", code)
		}
		p.closed()
	})
}

// TestW31_ASubmissionAfterASuspension: a process whose claim ran out takes the
// run up again, and what its model submits meanwhile isn't refused for that.
func TestW31_ASubmissionAfterASuspension(t *testing.T) {
	t.Parallel()
	slow := func(output string) string {
		return "  - {delayMs: 1500, tools: [{name: workflow, args: {action: submit, output: " + output + "}}]}\n" + says("Submitted.")
	}
	body := slow(`{title: Tea, body: Tea is drunk.}`) + submits(`{title: Tea, body: Drink it.}`)
	for name, c := range map[string]struct {
		asked  int
		script string
		args   []string
	}{
		"gamma run":  {1, "version: 1\nsteps:\n" + body, []string{"run", "two-turn", "tea"}},
		"gamma exec": {3, startsTurn + body + says("It is done."), []string{"exec", "Start it."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, cmd := suspended(t, c.asked, c.script, c.args...)
			p.expired()
			if code := goesOnNow(cmd); code != 0 || p.history().Status != flow.Completed {
				t.Errorf("exit %d, the run is %s", code, p.runStatus())
			}
			for _, e := range p.readSession().branch() {
				if strings.Contains(e.Body.Text, "not accepted") {
					t.Errorf("refused: %s", e.Body.Text)
				}
			}
		})
	}
}

// TestW7_AStepWhoseRunStands: the step is interrupted and its run is parked for
// the operator. gamma exec ends and says what to do.
func TestW7_AStepWhoseRunStands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + acts("60000"))
	die(p.asked(1, "run", "two-turn", "tea"))
	db, err := sql.Open("sqlite", filepath.Join(p.home, "gamma.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE definition SET identity = replace(identity, 'two-turn', 'another')`); err != nil {
		t.Fatal(err)
	}
	p.script("version: 1\nsteps:\n" + acts("0"))
	id := p.readSession().id
	r := p.run("exec", "--json", "--allow", "bash", "--resume", id)
	if res := r.result(t); r.code != 3 || res.Status != "needs_human" || !strings.Contains(res.Detail, "runs resume "+p.runID()) || !strings.Contains(res.Detail, "runs cancel "+p.runID()) {
		t.Errorf("%+v", r)
	}
	if p.runStatus() != "parked operator" || exists(filepath.Join(p.ws, "effect.txt")) {
		t.Errorf("the run is %s", p.runStatus())
	}
	p.ok("runs", "cancel", "last")
	if r := p.run("exec", "--resume", id); r.code != 1 {
		t.Errorf("%+v", r)
	}
	p.closed()
}

// TestW41_AModelCancelsItsOwnRun: the end of the step ends the call that asked
// for it, and nobody is told that a person did that, or what didn't happen.
func TestW41_AModelCancelsItsOwnRun(t *testing.T) {
	t.Parallel()
	cancel := "{name: workflow, args: {action: cancel}}"
	for name, c := range map[string]struct {
		calls, status string
		code          int
	}{
		"alone":                {cancel, "cancelled", 1},
		"after its submission": {"{name: workflow, args: {action: submit, output: {title: Tea, body: Tea is drunk.}}}, " + cancel, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.script(startsTurn + "  - {tools: [" + c.calls + "]}\n  - {delayMs: 60000, text: never}\n")
			r := p.run("exec", "Start it.", "--allow", "workflow")
			if r.code != c.code || strings.Contains(r.stderr, "by you") {
				t.Errorf("%+v", r)
			}
			if status := p.history().Status; status != flow.Cancelled {
				t.Errorf("the run is %s", status)
			}
			told := false
			for _, e := range p.readSession().branch() {
				told = told || strings.Contains(e.Body.Text, "is asked to end, and this step with it")
				if strings.Contains(e.Body.Text, "hasn't taken it") {
					t.Errorf("told: %s", e.Body.Text)
				}
			}
			if !told {
				t.Error("the model wasn't told")
			}
		})
	}
}
