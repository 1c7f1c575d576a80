package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/proc"
)

// errKilled is the cause of a job that the action kill ended.
var errKilled = errors.New("killed")

// job is a command in the background.
type job struct {
	name    string
	command string
	started time.Time
	timeout time.Duration // 0: none
	proc    *proc.Process
	out     *output
	ended   chan struct{} // closed when the output is whole
}

// Start starts a job. timeout 0 means none.
func (s *Shell) Start(call, command string, timeout time.Duration) Result {
	if err := checkCommand(command); err != nil {
		return refuse("%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Err() != nil {
		return refuse("not run: %v", errClosed)
	}
	if !s.makeRoom() {
		return refuse("not run: %d jobs are running and no more are allowed: wait for one or kill one. %s", MaxJobs, s.listing())
	}
	out := s.newOutput(call)
	p, err := s.start(context.Background(), command, out)
	if err != nil {
		return refuse("the command couldn't be started: %v", err)
	}
	s.started++
	j := &job{name: fmt.Sprintf("j%d", s.started), command: command, started: time.Now(), timeout: timeout,
		proc: p, out: out, ended: make(chan struct{})}
	s.jobs = append(s.jobs, j)
	go s.supervise(j)
	return Result{Text: fmt.Sprintf("Started job %s. Its output: {\"job\": %q, \"action\": \"read\"}; also wait and kill.", j.name, j.name),
		Details: Details{Job: j.name, Running: true}}
}

// supervise sees the job to its end.
func (s *Shell) supervise(j *job) {
	if j.timeout > 0 {
		t := time.AfterFunc(j.timeout, func() { j.proc.Terminate(s.cfg.Grace, errTimeout) })
		defer t.Stop()
	}
	j.proc.Wait()
	j.out.end()
	s.keepLeft(j.proc)
	close(j.ended)
}

func (j *job) running() bool {
	select {
	case <-j.ended:
		return false
	default:
		return true
	}
}

// makeRoom drops the oldest ended job if there are too many.
func (s *Shell) makeRoom() bool {
	if len(s.jobs) < MaxJobs {
		return true
	}
	for i, j := range s.jobs {
		if !j.running() {
			s.jobs = append(s.jobs[:i:i], s.jobs[i+1:]...)
			return true
		}
	}
	return false
}

// Read gives what a job wrote since the last Read, Await or Kill.
func (s *Shell) Read(name string) Result {
	j, res := s.find(name)
	if j == nil {
		return res
	}
	return j.report()
}

// Await waits for a job's end, up to timeout (0: DefaultTimeout), then reads.
func (s *Shell) Await(ctx context.Context, name string, timeout time.Duration) Result {
	j, res := s.find(name)
	if j == nil {
		return res
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-j.ended:
	case <-timer.C:
	case <-ctx.Done():
		return Result{Failed: true, Details: Details{Job: name, Running: j.running(), Cancelled: true},
			Text: fmt.Sprintf("[the wait was cancelled: %v; job %s goes on]", context.Cause(ctx), name)}
	}
	return j.report()
}

// Kill ends a job with its whole tree, then reads.
func (s *Shell) Kill(ctx context.Context, name string) Result {
	j, res := s.find(name)
	if j == nil {
		return res
	}
	j.proc.Terminate(s.cfg.Grace, errKilled)
	gone := make(chan struct{})
	go func() {
		j.proc.Close(s.cfg.Grace) // also what it left running
		<-j.ended
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		return Result{Failed: true, Details: Details{Job: name, Running: j.running(), Cancelled: true},
			Text: fmt.Sprintf("[cancelled: %v; job %s is being killed]", context.Cause(ctx), name)}
	}
	res = j.report()
	res.Failed = false
	return res
}

// find returns the job, or the result that says there is none.
func (s *Shell) find(name string) (*job, Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.name == name {
			return j, Result{}
		}
	}
	return nil, refuse("no job %.40q. %s", name, s.listing())
}

// listing names the jobs.
func (s *Shell) listing() string {
	if len(s.jobs) == 0 {
		return "There are no jobs: they end with the session."
	}
	var b strings.Builder
	b.WriteString("Jobs:")
	for _, j := range s.jobs {
		state := "running"
		if !j.running() {
			state = "ended"
		}
		fmt.Fprintf(&b, "\n%s (%s): %.80q", j.name, state, j.command)
	}
	return b.String()
}

// report reads what is new.
func (j *job) report() Result {
	if !j.running() {
		res := finish(j.proc.Wait(), j.out, j.timeout)
		res.Details.Job = j.name
		res.Text += "\n[job " + j.name + " has ended]"
		return res
	}
	win := j.out.take()
	where, uri, total := j.out.kept()
	took := time.Since(j.started)
	return Result{
		Text: shown(win, where) + fmt.Sprintf("[job %s has been running for %s]", j.name, took.Round(time.Second)),
		Details: Details{Job: j.name, Running: true, DurationMS: took.Milliseconds(), Bytes: total,
			Truncated: win.over, Spill: uri},
	}
}
