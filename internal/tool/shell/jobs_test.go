package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// job starts a job and waits until it has made the file "ready".
func (f *fixture) job(command string) string {
	f.t.Helper()
	r := f.Start("c1.1", command, 0)
	if r.Failed || !r.Details.Running {
		f.t.Fatalf("got %+v", r)
	}
	if strings.Contains(command, "ready") {
		f.await("[ -e ready ]")
	}
	return r.Details.Job
}

// await waits for a condition, which is a command.
func (f *fixture) await(condition string) {
	f.t.Helper()
	if r := f.run("until " + condition + "; do sleep 0.01; done; rm -f ready"); r.Failed {
		f.t.Fatal(r.Text)
	}
}

// readUntil reads a job until want has come, and returns all that came and the
// last result. What a job wrote is there a moment later.
func (f *fixture) readUntil(job, want string) (string, Result) {
	f.t.Helper()
	got := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		r := f.Await(f.t.Context(), job, 5*time.Millisecond)
		text, _, _ := strings.Cut(r.Text, "[job")
		got += strings.TrimSuffix(strings.TrimSuffix(text, "(no output)\n"), "\n")
		if strings.Contains(got, want) {
			return got, r
		}
	}
	f.t.Fatalf("%q didn't come: %q", want, got)
	return "", Result{}
}

func TestE42_Jobs(t *testing.T) {
	t.Run("start answers at once with the name", func(t *testing.T) {
		s := newShell(t, nil)
		before := time.Now()
		r := s.Start("c1.1", "sleep 100", 0)
		if r.Details.Job != "j1" || !r.Details.Running || r.Failed || time.Since(before) > time.Second {
			t.Errorf("got %+v", r)
		}
		contains(t, r.Text, "j1", `"action": "read"`)
		if r := s.Start("c1.2", "sleep 100", 0); r.Details.Job != "j2" {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("read gives what is new", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("echo one; until [ -e go ]; do sleep 0.01; done; echo two; sleep 100")
		if got, r := s.readUntil(j, "one"); got != "one" || r.Details.ExitCode != nil || !r.Details.Running {
			t.Errorf("got %q, %+v", got, r)
		}
		contains(t, s.Read(j).Text, "(no output)\n[job j1 has been running for ")
		s.run("touch go")
		if got, _ := s.readUntil(j, "two"); got != "two" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("read at a rune's middle", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job(`printf 'a\xe4\xbd'; until [ -e go ]; do sleep 0.01; done; printf '\x9cb'; sleep 100`)
		if got, _ := s.readUntil(j, "a"); got != "a" {
			t.Errorf("got %q", got)
		}
		s.run("touch go")
		if got, _ := s.readUntil(j, "b"); got != "作b" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("wait", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("echo out; sleep 0.1; exit 4")
		r := s.Await(t.Context(), j, time.Minute)
		if !r.Failed || *r.Details.ExitCode != 4 || r.Details.Running {
			t.Errorf("got %+v", r)
		}
		contains(t, r.Text, "out\n[exit code 4]\n[job j1 has ended]")
		contains(t, s.Read(j).Text, "(no output)\n[exit code 4]")
	})
	t.Run("wait runs out of time", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("echo out; sleep 100")
		if got, r := s.readUntil(j, "out"); r.Failed || !r.Details.Running || got != "out" {
			t.Errorf("got %q, %+v", got, r)
		}
	})
	t.Run("a cancelled wait leaves the job", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("touch ready; sleep 100")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("stop"))
		r := s.Await(ctx, j, time.Minute)
		if !r.Failed || !r.Details.Running || !s.Read(j).Details.Running {
			t.Errorf("got %+v", r)
		}
		contains(t, r.Text, "cancelled: stop; job j1 goes on")
	})
	t.Run("the end of a call doesn't end the job", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("touch ready; sleep 100")
		if r := s.Read(j); !r.Details.Running {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		s := newShell(t, nil)
		s.Start("c1.1", "echo out; sleep 100", 200*time.Millisecond)
		r := s.Await(t.Context(), "j1", time.Minute)
		if !r.Failed || !r.Details.TimedOut {
			t.Errorf("got %+v", r)
		}
		contains(t, r.Text, "out\n[timed out after 0.2 s")
	})
	t.Run("can't be started", func(t *testing.T) {
		s := newShell(t, func(c *Config) { c.Dir = "/no/such/folder" })
		if r := s.Start("c1.1", "true", 0); !r.Failed || !strings.Contains(r.Text, "couldn't be started") {
			t.Errorf("got %+v", r)
		}
	})
}

func TestE42_JobKill(t *testing.T) {
	t.Run("ends the tree and gives the rest", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("sleep 100 & echo $!; touch ready; wait")
		r := s.Kill(t.Context(), j)
		if r.Failed || r.Details.Running || r.Details.Cancelled || *r.Details.ExitCode != 143 {
			t.Errorf("got %+v", r)
		}
		contains(t, r.Text, "[killed, with what it started; exit code 143 (SIGTERM)]")
		gone(t, strings.Split(r.Text, "\n")[0])
	})
	t.Run("ends what an ended job left running", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("sleep 100 & echo $!")
		first := s.Await(t.Context(), j, time.Minute)
		contains(t, first.Text, "[exit code 0]", "still running")
		s.Kill(t.Context(), j)
		gone(t, strings.Split(first.Text, "\n")[0])
	})
	t.Run("deaf to TERM", func(t *testing.T) {
		s := newShell(t, nil)
		j := s.job("trap '' TERM; touch ready; while :; do sleep 0.1; done")
		if r := s.Kill(t.Context(), j); *r.Details.ExitCode != 137 {
			t.Errorf("got %+v", r)
		}
	})
}

func TestE42_JobsAreLimited(t *testing.T) {
	s := newShell(t, nil)
	for range MaxJobs {
		s.Start("c1.1", "sleep 100", 0)
	}
	r := s.Start("c1.1", "sleep 100", 0)
	if !r.Failed {
		t.Fatalf("got %+v", r)
	}
	contains(t, r.Text, "16 jobs are running", "\nj16 (running): \"sleep 100\"")
	s.Kill(t.Context(), "j3")
	if r := s.Start("c1.1", "sleep 100", 0); r.Details.Job != "j17" {
		t.Errorf("an ended job should make room: %+v", r)
	}
	r = s.Read("j3")
	if !r.Failed {
		t.Errorf("got %+v", r)
	}
	contains(t, r.Text, `no job "j3"`, "Jobs:\nj1 (running)", "j17")
	t.Run("no jobs at all", func(t *testing.T) {
		contains(t, newShell(t, nil).Read("j1").Text, "There are no jobs")
	})
}

func TestE42_BC27_JobOutputIsBounded(t *testing.T) {
	s := newShell(t, nil)
	var r Result
	if used := heap(func() {
		s.Start("c7.2", "yes | head -c 100M; echo; echo end", 0)
		r = s.Await(t.Context(), "j1", time.Minute)
	}); used > 50<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
	contains(t, r.Text, "whole output: spill:c7.2.txt", "\nend\n[exit code 0]")
	if n := int64(len(s.spilled("c7.2.txt"))); n != r.Details.Bytes || n != 100<<20+5 {
		t.Errorf("the spill file has %d bytes, the output %d", n, r.Details.Bytes)
	}
}

func TestE42_JobsUsedAtOnce(t *testing.T) {
	s := newShell(t, nil)
	done := make(chan string)
	for i := range 8 {
		go func() {
			j := s.Start(fmt.Sprintf("c%d", i), fmt.Sprintf("echo out%d", i), 0).Details.Job
			done <- s.Await(context.Background(), j, time.Minute).Text
		}()
	}
	got := map[string]bool{}
	for range 8 {
		got[strings.Split(<-done, "\n")[0]] = true
	}
	if len(got) != 8 {
		t.Errorf("got %v", got)
	}
}
