package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/proc"
)

// updateEvery is the least time between two updates.
const updateEvery = 100 * time.Millisecond

// Run runs a command to its end. call names its spill file. update, unless
// nil, gets the newest lines of the output, at most ten times a second and
// not after Run has returned. timeout 0 means DefaultTimeout.
func (s *Shell) Run(ctx context.Context, call, command string, timeout time.Duration, update func(text string)) Result {
	if err := checkCommand(command); err != nil {
		return refuse("%v", err)
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if !s.enter() {
		return refuse("not run: %v", errClosed)
	}
	defer s.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.closed, func() { cancel(errClosed) })()

	out := s.newOutput(call)
	p, err := s.start(ctx, command, out)
	if err != nil {
		return refuse("the command couldn't be started: %v", err)
	}
	timer := time.AfterFunc(timeout, func() { p.Terminate(s.cfg.Grace, errTimeout) })
	defer timer.Stop()
	watch(p, out, update)
	res := p.Wait()
	out.end()
	s.keepLeft(p)
	return finish(res, out, timeout)
}

// enter counts a command in, unless the shell is closed.
func (s *Shell) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// watch sends updates until the command has ended.
func watch(p *proc.Process, out *output, update func(string)) {
	if update == nil {
		return
	}
	tick := time.NewTicker(updateEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.Done():
			return
		case <-tick.C:
			if text, ok := out.tail(); ok {
				update(text)
			}
		}
	}
}

// keepLeft remembers a process that has ended and left others running, and
// closes those whose others have ended since.
func (s *Shell) keepLeft(p *proc.Process) {
	s.mu.Lock()
	left := append(s.left, p)
	s.left = nil
	s.mu.Unlock()
	var keep []*proc.Process
	for _, q := range left {
		if q.Running() {
			keep = append(keep, q)
		} else {
			q.Close(0)
		}
	}
	s.mu.Lock()
	closed := s.closed.Err() != nil
	if !closed {
		s.left = append(s.left, keep...)
	}
	s.mu.Unlock()
	if closed {
		for _, q := range keep {
			q.Close(s.cfg.Grace)
		}
	}
}

// finish makes the result of a command that has ended.
func finish(res proc.Result, out *output, timeout time.Duration) Result {
	win := out.take()
	where, uri, total := out.kept()
	d := Details{ExitCode: &res.Code, Signal: res.Signal, Left: res.Left, DurationMS: res.Duration.Milliseconds(),
		Bytes: total, Truncated: win.over, Spill: uri,
		TimedOut: errors.Is(res.Cause, errTimeout)}
	d.Cancelled = res.Cause != nil && !d.TimedOut && !errors.Is(res.Cause, errKilled)
	text := shown(win, where) + ending(res, timeout)
	if res.Left {
		text += "\n[processes that the command started are still running; they end with the session, and their output is lost. For a server use background: true]"
	}
	failed := (res.Code != 0 || res.Cause != nil) && !errors.Is(res.Cause, errKilled)
	return Result{Failed: failed, Text: text, Details: d}
}

// ending says how a command ended.
func ending(res proc.Result, timeout time.Duration) string {
	code := fmt.Sprintf("exit code %d", res.Code)
	if res.Signal != "" {
		code += " (" + res.Signal + ")"
	}
	switch {
	case res.Lost:
		return fmt.Sprintf("[%v; it couldn't be killed (it is stuck in the kernel), so there is no exit code]", res.Cause)
	case errors.Is(res.Cause, errKilled):
		return "[killed, with what it started; " + code + "]"
	case res.Cause != nil && !errors.Is(res.Cause, errTimeout):
		return fmt.Sprintf("[cancelled: %v; the command and what it started were ended; %s]", res.Cause, code)
	case res.Cause != nil:
		return fmt.Sprintf("[timed out after %g s; the command and what it started were ended; %s. Give a longer timeout, or background: true]", timeout.Seconds(), code)
	}
	return "[" + code + "]"
}

// shown is the text of a window, ending with a line end.
func shown(w window, where string) string {
	var b strings.Builder
	b.Write(w.head)
	if w.over {
		newLine(&b)
		fmt.Fprintf(&b, "[… %d bytes, %d lines left out here; %s]\n", w.cutBytes, w.cutLines, where)
	}
	b.Write(w.buf)
	if b.Len() == 0 {
		return "(no output)\n"
	}
	newLine(&b)
	return b.String()
}

func newLine(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}
