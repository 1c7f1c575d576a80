// Package shell runs the commands of the tool "bash": one after the other as
// the caller asks, or in the background as jobs.
//
// # Commands
//
// A command is run by bash -c (sh -c where there is no bash) in the
// workspace, with empty standard input, no terminal, and the environment that
// Environ makes. Standard output and error are merged in their order. A
// command that takes longer than its timeout, whose context ends, or that is
// running at Close, is ended with its whole tree (package proc). A process
// that it leaves in the background goes on until Close; the call doesn't wait
// for it and its later output is lost. On Linux that holds for daemons too:
// each command has a variable of its own, GAMMA_COMMAND, by which what it
// started is found.
//
// # Confinement
//
// Config.Wrap may turn each command into another that confines it (package
// sandbox). What it starts must execute the command in its own place, without
// a parent in between: signals, exit codes and output are taken to be the
// command's. If Wrap fails, the command isn't run. Without Wrap a command can
// do what the user can.
//
// # Output
//
// Output becomes text: each byte that isn't UTF-8 is U+FFFD, NUL is dropped,
// all else stays, escape sequences too. Up to 2,000 lines and 50 KiB are shown
// whole. Of a longer output the first lines (2 KiB) and the last ones are
// shown, whole lines, together within these limits, and all its bytes are in
// a spill file named after the call, up to the limit of a spill file. Memory
// is bounded whatever comes. The last line of a result says how the command
// ended, always with its exit code.
//
// # Jobs
//
// A job is a command in the background: j1, j2, … It outlives the call that
// started it and ends by itself, at its timeout (none unless given), by the
// action kill, or at Close. The action read gives what it wrote since the
// last read, wait does so when it has ended or the wait's timeout is over,
// kill ends it and gives the rest. At most 16 jobs are kept; the oldest ended
// one makes room.
//
// # Results
//
// A result that tells an exit code other than 0, a timeout or a cancelled
// call is Failed; the text has the output all the same. So is a job's, except
// after kill, whose purpose is the end. A wait that is cancelled or runs out
// of time leaves the job running.
package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/proc"
)

// The limits.
const (
	DefaultTimeout  = 120 * time.Second
	MaxTimeout      = time.Hour
	MaxJobs         = 16
	DefaultMaxSpill = 256 << 20 // bytes
	// maxCommand is what Linux takes as one argument, with its NUL.
	maxCommand = 128<<10 - 1
)

// errClosed is the cause of a command that Close ended.
var errClosed = errors.New("the session ends")

// errTimeout is the cause of a command that took too long.
var errTimeout = errors.New("timed out")

// Config says where and how commands run.
type Config struct {
	Dir string   // the workspace, absolute
	Env []string // the whole environment, as Environ makes it
	// Create makes a spill file. nil: cut output isn't kept. The name is one
	// path element; a file that has it is replaced.
	Create   func(name string) (io.WriteCloser, error)
	MaxSpill int64         // of a spill file, bytes; 0: DefaultMaxSpill
	Grace    time.Duration // between TERM and KILL; 0: proc.DefaultGrace
	// Wrap, unless nil, gets the shell's path with its arguments and Env, and
	// returns what is started instead. It may be called at any time until Close
	// has returned, from several goroutines.
	Wrap func(argv, env []string) (wrapped, wrappedEnv []string, err error)
}

// Shell runs commands. It is safe for concurrent use.
type Shell struct {
	cfg     Config
	program string
	closed  context.Context // ends at Close
	close   context.CancelCauseFunc

	mu      sync.Mutex
	running sync.WaitGroup // commands in the foreground
	started int            // jobs
	jobs    []*job         // by age
	left    []*proc.Process
}

// New finds the shell. It fails if there is none.
func New(cfg Config) (*Shell, error) {
	program, err := exec.LookPath("bash")
	if err != nil {
		if program, err = exec.LookPath("sh"); err != nil {
			return nil, fmt.Errorf("no shell: neither bash nor sh is in PATH: %w", err)
		}
	}
	if cfg.MaxSpill <= 0 {
		cfg.MaxSpill = DefaultMaxSpill
	}
	if cfg.Grace <= 0 {
		cfg.Grace = proc.DefaultGrace
	}
	s := &Shell{cfg: cfg, program: program}
	s.closed, s.close = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends all commands, all jobs and what commands left running, and waits
// for their end. Later calls fail.
func (s *Shell) Close() {
	s.close(errClosed)
	s.mu.Lock()
	jobs, left := s.jobs, s.left
	s.jobs, s.left = nil, nil
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, j := range jobs {
		wg.Go(func() { j.proc.Close(s.cfg.Grace); <-j.ended })
	}
	for _, p := range left {
		wg.Go(func() { p.Close(s.cfg.Grace) })
	}
	wg.Wait()
	s.running.Wait()
}

// Result is what a call reports.
type Result struct {
	Failed  bool
	Text    string
	Details Details
}

// Details are the facts of a result, for people and clients.
type Details struct {
	Job        string `json:"job,omitempty"`
	Running    bool   `json:"running,omitempty"` // the job hasn't ended
	ExitCode   *int   `json:"exitCode,omitempty"`
	Signal     string `json:"signal,omitempty"` // that ended the shell: "SIGKILL"
	TimedOut   bool   `json:"timedOut,omitempty"`
	Cancelled  bool   `json:"cancelled,omitempty"`
	Left       bool   `json:"left,omitempty"` // background processes are still running
	DurationMS int64  `json:"durationMs"`
	Bytes      int64  `json:"bytes"` // of the whole output
	Truncated  bool   `json:"truncated,omitempty"`
	Spill      string `json:"spill,omitempty"` // "spill:NAME" of the whole output
}

// refuse is the result of a call that ran nothing.
func refuse(format string, args ...any) Result {
	return Result{Failed: true, Text: fmt.Sprintf(format, args...)}
}

// newOutput returns the output of a command whose spill file, if needed, is
// named after the call.
func (s *Shell) newOutput(call string) *output {
	o := &output{}
	o.spill = spiller{name: spillName(call), create: s.cfg.Create, limit: s.cfg.MaxSpill}
	return o
}

// spillName makes one path element of a call id.
func spillName(call string) string {
	clean := make([]byte, 0, len(call))
	for _, c := range []byte(call) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
			clean = append(clean, c)
		default:
			clean = append(clean, '_')
		}
	}
	if len(clean) == 0 || clean[0] == '.' {
		clean = append([]byte("call"), clean...)
	}
	return string(clean[:min(len(clean), 100)]) + ".txt"
}

// markName is the variable by which what a command started is known, daemons
// too.
const markName = "GAMMA_COMMAND"

// start starts a command; what it leaves running is closed at Close.
func (s *Shell) start(ctx context.Context, command string, out *output) (*proc.Process, error) {
	mark := markName + "=" + rand.Text()
	argv, env := []string{s.program, "-c", command}, append(slices.Clip(s.cfg.Env), mark)
	if s.cfg.Wrap != nil {
		var err error
		if argv, env, err = s.cfg.Wrap(argv, env); err != nil {
			return nil, err
		}
	}
	return proc.Start(ctx, proc.Cmd{
		Path: argv[0], Args: argv[1:], Dir: s.cfg.Dir, Env: env, Output: out, Mark: mark,
		// The caller gives a cancelled call as long as Grace; the result should
		// come before that.
		Grace: s.cfg.Grace * 3 / 4,
	})
}

// checkCommand refuses what no shell can be given.
func checkCommand(command string) error {
	for i := range len(command) {
		if command[i] == 0 {
			return errors.New("the command has a NUL character at byte " + fmt.Sprint(i))
		}
	}
	if len(command) >= maxCommand {
		return fmt.Errorf("the command has %d bytes; at most %d fit: write it to a file and run that", len(command), maxCommand-1)
	}
	return nil
}
