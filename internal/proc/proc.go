// Package proc runs a child process together with everything that it starts,
// and ends all of it: TERM first, KILL after a grace period.
//
// # The tree
//
// A child is made the leader of its own session and process group, so it has
// no terminal to ask a password from and no signal meant for us reaches it.
// Its standard input is what Input says, else empty. The tree of a child is the child, the members
// of its session and group, and their descendants while their chain of
// parents is whole; a process that was seen in the tree stays in it. With
// Cmd.Mark, on Linux, so are those whose environment has the mark: a daemon,
// which has a new session and whose parent has ended, still has the
// environment that it began with. One that wipes its environment, or forbids
// that others look at it (ssh-agent), is on its own and isn't ended; nor is any
// daemon where there is no mark.
//
// Process numbers are used again by the kernel. No signal goes to a number
// that isn't pinned: the child isn't reaped before the signals are out, and
// members that outlive it are known by number and start time.
//
// # Output
//
// Standard output and standard error are one pipe, so their order is the
// order of the writes, unless Errors is set: then each has its own, and what
// is said here holds for both. Output gets each piece as it is read, from one
// goroutine at a time. When the child has ended, the pipe may still be held
// open by what it left running: reading goes on until the pipe is silent for
// DrainSilence, at most DrainLimit, and then Output gets nothing more; what
// is written later is read and thrown away until Close, so that the writer
// neither blocks nor fails.
//
// # Outcomes
//
// Start fails if the program can't be started; nothing runs then. Else Wait
// returns one Result:
//
//	Cause nil, Code 0…255              the child ended by itself
//	Cause nil, Signal set              somebody else's signal ended it; Code is 128 + its number
//	Cause set                          we ended the tree: the context's cause, or what Terminate was given; also
//	                                   when INT or HUP ended the child and the order came just after
//	Lost                               the child was still there after KILL (stuck in the kernel); Code is -1
//
// Left says that members of the tree are still running. Close ends them and
// frees what the Process holds; each Process is closed.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrClosed is the cause of a process that Close ended.
var ErrClosed = errors.New("closed")

// The bounds of reading on after the child's end.
const (
	DrainSilence = 200 * time.Millisecond
	DrainLimit   = time.Second
)

// hearing is how much later than a child we may take up a signal that both got.
const hearing = 500 * time.Millisecond

// DefaultGrace is the time between TERM and KILL where none is given.
const DefaultGrace = 2 * time.Second

// Cmd says what to run.
type Cmd struct {
	Path string   // the program; without a slash it is looked up in our PATH
	Args []string // without the program's name
	Dir  string
	Env  []string // the whole environment, NAME=VALUE
	// Output gets the merged output; nil throws it away. Its errors are
	// ignored.
	Output io.Writer
	// Mark is a variable of Env, NAME=VALUE, that no other process has. On Linux
	// what has it belongs to the tree.
	Mark string
	// Errors gets the standard error; nil: it goes to Output.
	Errors io.Writer
	// Input is the standard input. What the child doesn't read is dropped.
	Input string
	// Grace is the time between TERM and KILL when the context ends; 0 means
	// DefaultGrace.
	Grace time.Duration
}

// Result says how a process ended.
type Result struct {
	Code     int    // exit code; 128+n when signal n ended it; -1 when Lost
	Signal   string // "SIGTERM", … when a signal ended it
	Cause    error  // why we ended it; nil if we didn't
	Left     bool   // members of the tree are still running
	Lost     bool   // KILL didn't end the child
	Duration time.Duration
}

// Process is a started child with its tree. Its methods may be called from
// several goroutines.
type Process struct {
	cmd     *exec.Cmd
	pid     int
	tree    *tree // supervise's, then Close's mark
	started time.Time
	pipe    *os.File // of Output
	out     *sink
	errPipe *os.File // of Errors; nil: there is none
	errs    *sink
	in      *os.File      // of Input; nil: there is none
	exited  chan struct{} // closed when the child has ended; it isn't reaped yet
	order   chan order    // the first order to end the tree
	done    chan struct{} // closed when result is set
	result  Result

	mu   sync.Mutex
	left []member // still running after the child's end
}

// order to end the tree.
type order struct {
	grace time.Duration
	cause error
}

// TryFirst makes the runtime find out now how it can start children. A process
// that catches signals calls it before that.
//
// Else Linux's runtime does it at the first child, by a child of its own that
// shares our memory and, unlike those that execute something, blocks no
// signals. A Ctrl-C in a terminal reaches that one too: it runs our handler, in
// our memory. Where we have stopped to catch the signal meanwhile, the handler
// ends it in its midst, and our thread goes on as if it were in the handler:
// the runtime crashes with "morestack on gsignal". While no signal is caught,
// what ends that child ends us as well.
func TryFirst() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release() // looking for a process is what makes the runtime try
	}
}

// Start starts the child. When ctx ends before the child, the tree is ended.
func Start(ctx context.Context, c Cmd) (*Process, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, context.Cause(ctx))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: pipe: %w", c.Path, err)
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // never nil: that would hand on our own
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p := &Process{
		cmd: cmd, pipe: r, out: newSink(c.Output),
		exited: make(chan struct{}), order: make(chan order, 1), done: make(chan struct{}),
	}
	ends, err := p.connect(c)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range append(ends, w) {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	p.pid, p.started, p.tree = cmd.Process.Pid, time.Now(), newTree(cmd.Process.Pid, c.Mark)
	grace := c.Grace
	if grace <= 0 {
		grace = DefaultGrace
	}
	go p.out.copy(r)
	if p.errs != nil {
		go p.errs.copy(p.errPipe)
	}
	if p.in != nil {
		go func() {
			io.WriteString(p.in, c.Input) // a child that doesn't read it is fine
			p.in.Close()
		}()
	}
	go func() {
		awaitExit(p.pid)
		close(p.exited)
	}()
	go p.supervise(ctx, grace)
	return p, nil
}

// connect makes the pipes that not every child has, and returns the child's
// ends.
func (p *Process) connect(c Cmd) (ends []*os.File, err error) {
	if c.Errors != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("pipe: %w", err)
		}
		p.cmd.Stderr, p.errPipe, p.errs = w, r, newSink(c.Errors)
		ends = append(ends, w)
	}
	if c.Input != "" {
		r, w, err := os.Pipe()
		if err != nil {
			return ends, fmt.Errorf("pipe: %w", err)
		}
		p.cmd.Stdin, p.in = r, w
		ends = append(ends, r)
	}
	return ends, nil
}

// closePipes closes our ends.
func (p *Process) closePipes() {
	for _, f := range []*os.File{p.pipe, p.errPipe, p.in} {
		if f != nil {
			f.Close()
		}
	}
}

// PID returns the child's process number, which is its group's number too.
func (p *Process) PID() int { return p.pid }

// Done is closed when Wait returns at once.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited is closed when the child has ended. Its output may not be read yet.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Wait waits until the child has ended and its output is read.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

// Terminate orders the end of the tree: TERM now, KILL after grace. It
// doesn't wait. Only the first order counts, and none after the child's end.
func (p *Process) Terminate(grace time.Duration, cause error) {
	select {
	case p.order <- order{grace, cause}:
	default:
	}
}

// supervise sees the child through to its Result.
func (p *Process) supervise(ctx context.Context, grace time.Duration) {
	t := p.tree
	select {
	case <-p.exited:
	case o := <-p.order:
		p.result.Cause = o.cause
		t.end(o.grace)
	case <-ctx.Done():
		p.result.Cause = context.Cause(ctx)
		t.end(grace)
	}
	if p.result.Cause != nil && !p.exitedWithin(killPatience) {
		p.result.Lost, p.result.Code = true, -1
		go func() { // the kernel may let go of it one day
			<-p.exited
			p.cmd.Wait()
		}()
	}
	p.out.drain()
	if p.errs != nil {
		p.errs.drain()
	}
	left := t.left()
	if !p.result.Lost {
		p.reap()
	}
	if p.result.Cause == nil && fromTerminal(p.result.Signal) {
		p.result.Cause = p.causeSoon(ctx)
	}
	p.result.Left = len(left) > 0
	p.result.Duration = time.Since(p.started)
	p.mu.Lock()
	p.left = left
	p.mu.Unlock()
	close(p.done)
}

// fromTerminal reports whether it is a signal that a terminal sends to a whole
// group and that gamma catches.
func fromTerminal(signal string) bool { return signal == "SIGINT" || signal == "SIGHUP" }

// causeSoon waits a moment for an order to end the tree. A child is of our
// group until it has a session of its own; a Ctrl-C in that moment ends it
// before it executes anything, and before we have heard of it ourselves.
func (p *Process) causeSoon(ctx context.Context) error {
	timer := time.NewTimer(hearing)
	defer timer.Stop()
	select {
	case o := <-p.order:
		return o.cause
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func (p *Process) exitedWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// reap takes the exit status; from here on the child's number isn't ours.
func (p *Process) reap() {
	p.cmd.Wait() // its error says what the state says
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		p.result.Code = p.cmd.ProcessState.ExitCode()
	case status.Signaled():
		p.result.Code = 128 + int(status.Signal())
		p.result.Signal = unix.SignalName(status.Signal())
	default:
		p.result.Code = status.ExitStatus()
	}
}

// Running reports whether the child, a member that it left, or anybody who
// holds the pipe is running.
func (p *Process) Running() bool {
	select {
	case <-p.done:
	default:
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = alive(p.left)
	for _, s := range []*sink{p.out, p.errs} {
		if s == nil {
			continue
		}
		select {
		case <-s.eof:
		default:
			return true
		}
	}
	return len(p.left) > 0
}

// Close ends what still runs of the tree, TERM first and KILL after grace,
// waits for that, and frees the pipe.
func (p *Process) Close(grace time.Duration) {
	p.Terminate(grace, ErrClosed)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left = alive(p.left); len(p.left) > 0 {
		leftTree(p.pid, p.left, p.tree.mark).end(grace)
		p.left = nil
	}
	p.closePipes()
	<-p.out.eof
	if p.errs != nil {
		<-p.errs.eof
	}
}
