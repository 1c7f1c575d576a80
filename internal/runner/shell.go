package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	out, err := w.callWith(w.ctx, n.ID, "run", nil, w.publish)
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
	result, err := w.command(w.ctx, c, w.lines())
	if err != nil {
		return w.failed(err)
	}
	receipt := toJSON(result)
	end := flow.Result{Attempt: w.effect.Attempt, Outcome: flow.OK, Receipt: receipt}
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errDeadline) || result.TimedOut:
		end.Outcome, end.Code, end.Message = flow.TimedOutAttempt, "timeout", "the command's time was up"
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

func toJSON(v any) workflow.JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // plain fields
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// The limits of a command.
const (
	maxChars   = 1_000_000 // UTF-16 units kept of a stream
	maxLine    = 64 << 10  // bytes of a line that can be an update
	maxCommand = time.Hour * 24 * 30
)

// command runs a command to its end. An error means that it wasn't started.
func (w *work) command(ctx context.Context, c workflow.Command, lines func(string)) (workflow.ShellResult, error) {
	r := workflow.ShellResult{Command: c.Command, Args: c.Args}
	if c.Command == "" {
		return r, errors.New("command: it is empty")
	}
	if c.TimeoutMs < 0 || c.TimeoutMs > maxCommand.Milliseconds() {
		return r, fmt.Errorf("command %s: a timeout of %d ms", c.Command, c.TimeoutMs)
	}
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
		return r, fmt.Errorf("command %s: there is no folder %s to run it in", c.Command, dir)
	}
	limit := maxChars
	if c.MaxChars > 0 {
		limit = min(c.MaxChars, maxChars)
	}
	stdout, stderr := &capture{limit: limit, lines: lines}, &capture{limit: limit}
	p, err := proc.Start(ctx, proc.Cmd{Path: c.Command, Args: c.Args, Dir: dir, Env: environ(w.Env, c.Env), Input: c.Stdin,
		Output: stdout, Errors: stderr, Grace: shellGrace})
	if err != nil {
		return r, err
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

// lines makes updates of the lines that a command prints; nil if nobody wants
// them.
func (w *work) lines() func(string) {
	n := w.effect.Node
	if !w.Graph.Has(n.ID + ".updates") {
		return nil
	}
	return func(line string) {
		arg, err := json.Marshal(line)
		if err != nil {
			return
		}
		out, err := w.call(n.ID, "updates", arg)
		var u *workflow.Update
		if err != nil || json.Unmarshal(out, &u) != nil || u == nil {
			return // a line that is no update
		}
		w.publish(*u) // refused ones are the author's matter, and no reason to fail the command
	}
}

// capture keeps the beginning of a stream and hands on its lines.
type capture struct {
	limit int // UTF-16 units
	kept  []byte
	cut   bool
	lines func(string)
	line  []byte
	long  bool // the present line is longer than a line can be
}

// Write never fails.
func (c *capture) Write(b []byte) (int, error) {
	if room := 4*c.limit - len(c.kept); room >= len(b) {
		c.kept = append(c.kept, b...)
	} else {
		c.kept = append(c.kept, b[:max(room, 0)]...)
		c.cut = true
	}
	if c.lines == nil {
		return len(b), nil
	}
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			c.add(rest)
			break
		}
		c.add(rest[:i])
		c.flush()
		rest = rest[i+1:]
	}
	return len(b), nil
}

func (c *capture) add(b []byte) {
	if c.long = c.long || len(c.line)+len(b) > maxLine; !c.long {
		c.line = append(c.line, b...)
	}
}

// flush hands on the present line, unless it is empty, too long or no text.
func (c *capture) flush() {
	line := bytes.TrimSuffix(c.line, []byte("\r"))
	if c.lines != nil && !c.long && len(line) > 0 && utf8.Valid(line) {
		c.lines(string(line))
	}
	c.line, c.long = c.line[:0], false
}

// text is what was kept: whole characters, limit UTF-16 units at most.
func (c *capture) text() string {
	s := strings.ReplaceAll(strings.ToValidUTF8(string(c.kept), "\uFFFD"), "\x00", "\uFFFD")
	n := 0
	for i, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
		if n > c.limit {
			c.cut = true
			return s[:i]
		}
	}
	return s
}
