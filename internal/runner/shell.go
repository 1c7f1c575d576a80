package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/proc"
	"github.com/gamma-harness/gamma/workflow"
)

// shellGrace is the time between TERM and KILL.
const shellGrace = time.Second

// action carries out a node with effects.
func (w *work) action() (flow.Event, error) {
	n := w.effect.Node
	switch {
	case n.Shell:
		return w.shell()
	case n.Batch:
		return w.batch()
	}
	out, err := w.callWith(w.ctx, n.ID, "run", nil, func(u workflow.Update) error { return w.publish(w.ctx, "", u) })
	if err != nil {
		return w.failed(err)
	}
	return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.OK, Output: out}, nil
}

// shell runs a command and makes the node's output of its result.
func (w *work) shell() (flow.Event, error) {
	n := w.effect.Node
	raw, err := w.call(n.ID, "exec", nil)
	if err != nil {
		return w.failed(err)
	}
	var c workflow.Command
	if err := json.Unmarshal(raw, &c); err != nil {
		return w.failed(fmt.Errorf("command: %w", err))
	}
	result, err := w.command(c, maxStream, w.lines())
	if err != nil {
		return w.unstarted(err)
	}
	receipt := flow.ToJSON(result)
	end := flow.Result{Attempt: w.effect.Attempt, Outcome: flow.OK, Receipt: receipt}
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errDeadline) || result.TimedOut:
		end.Outcome, end.Code, end.Message = flow.TimedOutAttempt, flow.CauseTimeout, "the command's time was up"
		return end, nil
	case cause != nil:
		return nil, nil // nobody waits for it
	case result.ExitCode != 0 && !c.AllowNonZero:
		end.Outcome, end.Code, end.Message = flow.FailedAttempt, "exit", exitMessage(result)
		return end, nil
	}
	out := receipt
	if w.Graph.Has(n.ID + ".parse") {
		if out, err = w.call(n.ID, "parse", receipt); err != nil {
			ev, fault := w.failed(err)
			if failed, ok := ev.(flow.Result); ok {
				failed.Receipt = receipt
				return failed, fault
			}
			return ev, fault
		}
	}
	end.Output = out
	return end, nil
}

// goneError: the run's workspace isn't there, so nothing could be started.
type goneError struct{ err error }

func (e *goneError) Error() string { return e.err.Error() }

// CheckWorkspace says why nothing can be carried out in a folder.
func CheckWorkspace(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its workspace %s is gone: put it back, then resume the run", dir)
	case err != nil:
		return fmt.Errorf("its workspace can't be used: %w: mend it, then resume the run", err)
	case !fi.IsDir():
		return fmt.Errorf("its workspace %s is no folder any more: put it back, then resume the run", dir)
	}
	return nil
}

// noFolder says whether a command that couldn't be started has no workspace.
func (w *work) noFolder(err error) error {
	if gone := CheckWorkspace(w.Workspace); gone != nil {
		return &goneError{gone}
	}
	return err
}

// unstarted is the event of a command that couldn't be started.
func (w *work) unstarted(err error) (flow.Event, error) {
	var gone *goneError
	if errors.As(err, &gone) {
		return w.parked(gone, true, nil), nil
	}
	return w.failed(err)
}

// parked is the event of an effect that needs a person first.
func (w *work) parked(why error, unbegun bool, receipt workflow.JSON) flow.Event {
	return flow.Park{For: flow.ForOperator, Message: "node " + w.effect.Node.ID + ": " + text(why), Unbegun: unbegun, Receipt: receipt}
}

// exitMessage says how a command failed, with the end of what it printed.
func exitMessage(r workflow.ShellResult) string {
	said := strings.TrimSpace(r.Stderr)
	if said == "" {
		said = strings.TrimSpace(r.Stdout)
	}
	if len(said) > 500 {
		said = "…" + strings.ToValidUTF8(said[len(said)-500:], "")
	}
	if said != "" {
		said = ": " + said
	}
	return fmt.Sprintf("%s ended with exit code %d%s", filepath.Base(r.Command), r.ExitCode, said)
}

// The limits of a command.
const (
	maxChars   = 1_000_000 // UTF-16 units kept of a stream
	maxStream  = 12 << 20  // bytes of a stream as JSON; more than maxChars can be
	maxLine    = 64 << 10  // bytes of a line that can be an update
	maxCommand = time.Hour * 24 * 30
)

// command runs a command to its end and keeps as much of each stream as share
// bytes of JSON hold. An error means that it wasn't started.
func (w *work) command(c workflow.Command, share int, lines func(context.Context, string)) (workflow.ShellResult, error) {
	r := workflow.ShellResult{Command: c.Command, Args: c.Args}
	if c.Command == "" {
		return r, errors.New("command: it is empty")
	}
	if c.TimeoutMs < 0 || c.TimeoutMs > maxCommand.Milliseconds() {
		return r, fmt.Errorf("command %s: a timeout of %d ms", c.Command, c.TimeoutMs)
	}
	ctx := w.ctx
	if c.TimeoutMs > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(c.TimeoutMs)*time.Millisecond)
		defer stop()
	}
	dir := c.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(w.Workspace, dir)
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return r, w.noFolder(fmt.Errorf("command %s: there is no folder %s to run it in", c.Command, dir))
	}
	limit := maxChars
	if c.MaxChars > 0 {
		limit = min(c.MaxChars, maxChars)
	}
	stdout, stderr := &capture{limit: limit, bytes: share}, &capture{limit: limit, bytes: share}
	if lines != nil {
		stdout.lines = newLineQueue(ctx, lines)
		defer stdout.lines.end()
	}
	p, err := proc.Start(ctx, proc.Cmd{Path: c.Command, Args: c.Args, Dir: dir, Env: environ(w.Env, c.Env), Input: c.Stdin,
		Output: stdout, Errors: stderr, Grace: shellGrace})
	if err != nil {
		return r, w.noFolder(err)
	}
	if lines != nil {
		stdout.lines.exits(p.Exited())
	}
	end := p.Wait()
	p.Close(shellGrace)
	stdout.flush()
	r.ExitCode, r.Signal, r.DurationMs = end.Code, end.Signal, end.Duration.Milliseconds()
	r.TimedOut = errors.Is(end.Cause, context.DeadlineExceeded)
	r.Stdout, r.Stderr = stdout.text(), stderr.text()
	r.Truncated = stdout.cut || stderr.cut
	return r, nil
}

// environ is the environment with a command's own over it.
func environ(base []string, own map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, over := own[name]
		return over
	})
	for name, value := range own {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
