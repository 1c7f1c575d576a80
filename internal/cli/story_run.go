package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// storyRun is gamma run as a process of its own.
type storyRun struct {
	Workflow string `yaml:"workflow"`
	Task     string `yaml:"task"`
	Resume   bool   `yaml:"resume"` // the story's run
	KillAt   string `yaml:"killAt"` // node: it is killed (SIGKILL) as soon as a part of that step's answer has come
	Code     int    `yaml:"code"`   // with which it must end, if it isn't killed
}

// gamma is this binary as a process in the story's workspace.
func (t *teller) gamma(args ...string) (*exec.Cmd, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.app.ctx, own, args...)
	cmd.Dir = t.app.cwd
	cmd.Env = append(os.Environ(), "GAMMA_HOME="+t.app.env("GAMMA_HOME"))
	return cmd, nil
}

// run carries the act out and shows what the process tells.
func (t *teller) run(r *storyRun) error {
	args := []string{"run", "--json", "--model", "script:" + t.file}
	if r.Resume {
		args = append(args, "--resume", "last")
		t.out.say(bold, "$ gamma run --resume last")
	} else {
		args = append(args, r.Workflow, r.Task)
		t.out.say(bold, "$ gamma run %s %q", r.Workflow, r.Task)
	}
	cmd, err := t.gamma(args...)
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	killed := false
	in := bufio.NewReader(said)
	for node := ""; ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break // what stands behind the last whole line was never told
		}
		text := ""
		if node, text = t.step(line, node); text != "" && r.KillAt != "" && node == r.KillAt && !killed {
			t.out.say(dim, "  %s…", text)
			killed = cmd.Process.Kill() == nil
		}
	}
	err = cmd.Wait()
	switch exit := (*exec.ExitError)(nil); {
	case killed:
		t.out.say(red, "✗ process %d is killed (SIGKILL)", cmd.Process.Pid)
		return nil
	case r.KillAt != "":
		return fmt.Errorf("the process ended before an answer of the step %s came", r.KillAt)
	case err != nil && !errors.As(err, &exit):
		return err
	}
	if code := cmd.ProcessState.ExitCode(); code != r.Code {
		return fmt.Errorf("gamma run ended with code %d, not %d", code, r.Code)
	}
	return nil
}

// step shows a line of gamma run --json. It returns the step that is carried
// out, and the piece of its answer that has just come.
func (t *teller) step(line []byte, node string) (at, piece string) {
	var run wire.RunEvent
	if json.Unmarshal(line, &run) == nil {
		switch run.Type {
		case "run":
			var first wire.Run
			if json.Unmarshal(line, &first) == nil {
				t.id = first.Session
			}
			return node, ""
		case "node_started":
			t.out.say(bold, "  ▶ %s", run.Node)
			return run.Node, ""
		case "node_finished":
			t.out.say(green, "  ✓ %s %s", run.Node, oneLine(string(run.Output), 60))
			return node, ""
		case "decision":
			if q, err := questionOf(run.Request, run.Choices, run.Until); err == nil {
				t.out.ofRun(q.plain())
			}
			return node, ""
		case "result":
			var last wire.RunResult
			if json.Unmarshal(line, &last) == nil {
				t.out.say(bold, "  %s", endedText(last.Status, last.Reason, last.Message))
			}
			return node, ""
		}
	}
	var e wire.Event
	switch err := json.Unmarshal(line, &e); {
	case err != nil:
	case e.Type == session.MessageUpdate && e.Delta != nil && e.Delta.Type == "text":
		return node, e.Delta.Text
	case e.Type == session.MessageEnd && e.Role == string(llm.Assistant) && e.Text != "":
		t.out.barred(e.Text)
	case e.Type == session.ToolEnd && e.Outcome != string(transcript.OutcomeOK):
		t.out.say(red, "  ✗ %s · %s", e.Tool, oneLine(strings.TrimPrefix(e.Text, "error: "), 200))
	}
	return node, ""
}

// answer gives a person's answer to the story's run.
func (t *teller) answer(choice string) error {
	t.out.say(bold, "$ gamma runs answer last --choice %s", choice)
	cmd, err := t.gamma("runs", "answer", "last", "--choice", choice)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n") // behind it stands how to go on, which comes next
	t.out.say(dim, "  %s", first)
	return err
}

// replies shows what the user was told by a step, as the transcript has it.
func (t *teller) replies(node string) error {
	home, err := t.app.home()
	if err != nil {
		return err
	}
	log, err := home.Read(t.id)
	if err != nil {
		return err
	}
	var texts []string
	prompts, segments := 0, 0
	steps, here := map[transcript.ID]bool{}, false
	for _, e := range log.Entries {
		switch b := e.Body.(type) {
		case *transcript.Open:
			segments++
		case *transcript.Arrive:
			steps[e.ID] = b.Step != nil && b.Step.Node == node
		case *transcript.Deliver:
			if len(b.Arrivals) == 1 && steps[b.Arrivals[0]] {
				prompts, here = prompts+1, true
			}
		case *transcript.Settled:
			here = false
		case *transcript.Answer:
			if text := transcript.TextOf(b.Parts); here && text != "" {
				texts = append(texts, text)
			}
		}
	}
	t.out.say(bold, "  prompts: %d, visible replies: %d, processes: %d", prompts, len(texts), segments)
	for _, text := range texts {
		t.out.barred(text)
	}
	return nil
}
