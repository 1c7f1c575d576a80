package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/sandbox"
)

// TestMain makes this program the one that a sandbox starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Entry {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// fixture is a shell in a folder of its own, with spill files in another.
type fixture struct {
	*Shell
	t          *testing.T
	dir, spill string
}

func newShell(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), spill: t.TempDir()}
	cfg := Config{Dir: f.dir, Env: Environ(os.Environ(), f.dir, nil, nil), Grace: 200 * time.Millisecond,
		Create: func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(f.spill, name)) }}
	if change != nil {
		change(&cfg)
	}
	wrapIfConfined(t, &cfg)
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	f.Shell = s
	return f
}

func (f *fixture) run(command string) Result {
	return f.Run(f.t.Context(), "c1.1", command, 30*time.Second, nil)
}

func (f *fixture) spilled(name string) []byte {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.spill, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, clip(text))
		}
	}
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:300] + "\n…\n" + s[len(s)-300:]
	}
	return s
}

func TestE42_ExitCodeAlwaysTold(t *testing.T) {
	s := newShell(t, nil)
	for _, c := range []struct {
		name, command, text string
		code                int
		failed              bool
	}{
		{"success", "echo hi", "hi\n[exit code 0]", 0, false},
		{"no output", "true", "(no output)\n[exit code 0]", 0, false},
		{"failure keeps the output", "echo out; echo err >&2; exit 3", "out\nerr\n[exit code 3]", 3, true},
		{"no final line end", "printf abc", "abc\n[exit code 0]", 0, false},
		{"signal of a child", "bash -c 'kill -KILL $$'; exit $?", "[exit code 137]", 137, true},
		{"signal of the shell", "kill -TERM $$", "(no output)\n[exit code 143 (SIGTERM)]", 143, true},
		{"unknown command", "no-such-command-here", "[exit code 127]", 127, true},
		{"syntax error", "if then", "[exit code 2]", 2, true},
		{"empty standard input", "read x || echo none", "none\n[exit code 0]", 0, false},
		{"in the workspace", "pwd -P", s.dir, 0, false},
		{"escape sequences stay, NUL goes", "printf 'a\\033[31mb\\0c\\rd'", "a\x1b[31mbc\rd\n[exit code 0]", 0, false},
		{"bytes that aren't UTF-8", "printf 'a\\377\\376b\\303'", "a\ufffd\ufffdb\ufffd\n", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.run(c.command)
			if r.Failed != c.failed || r.Details.ExitCode == nil || *r.Details.ExitCode != c.code {
				t.Errorf("got %+v", r)
			}
			contains(t, r.Text, c.text)
		})
	}
}

func TestE42_RefusedCommands(t *testing.T) {
	s := newShell(t, nil)
	for _, c := range []struct{ name, command, want string }{
		{"NUL", "echo a\x00b", "NUL"},
		{"longer than the system takes", "echo " + strings.Repeat("x", 128<<10), "write it to a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []Result{s.run(c.command), s.Start("c1.1", c.command, 0)} {
				if !r.Failed {
					t.Errorf("it ran: %s", clip(r.Text))
				}
				contains(t, r.Text, c.want)
			}
		})
	}
	t.Run("the longest that is taken runs", func(t *testing.T) {
		if r := s.run("echo end #" + strings.Repeat("x", maxCommand-1-len("echo end #"))); r.Text != "end\n[exit code 0]" {
			t.Errorf("got %s", clip(r.Text))
		}
	})
}

func TestE42_Timeout(t *testing.T) {
	s := newShell(t, nil)
	before := time.Now()
	r := s.Run(t.Context(), "c1.1", "echo started; sleep 100 & echo $!; wait", 300*time.Millisecond, nil)
	if took := time.Since(before); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
	if !r.Failed || !r.Details.TimedOut || r.Details.Cancelled {
		t.Errorf("got %+v", r)
	}
	contains(t, r.Text, "started\n", "timed out after 0.3 s", "exit code 143")
	gone(t, strings.Split(r.Text, "\n")[1])
}

// gone fails if a process is running.
func gone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("process %d is running: %s", n, stat)
	}
}

func TestE42_FloodKeepsTheDeadline(t *testing.T) {
	s := newShell(t, func(c *Config) { c.MaxSpill = 1 << 20 })
	before := time.Now()
	r := s.Run(t.Context(), "c1.1", "trap '' TERM; yes flood", 300*time.Millisecond, nil)
	if took := time.Since(before); took > 4*time.Second || !r.Details.TimedOut {
		t.Errorf("took %s: %s", took, clip(r.Text))
	}
	contains(t, r.Text, "flood\n", "the first 1048576 bytes, which is as much as is kept: spill:c1.1.txt")
	if n := len(s.spilled("c1.1.txt")); n != 1<<20 {
		t.Errorf("the spill file has %d bytes", n)
	}
}

func TestE42_Cancel(t *testing.T) {
	s := newShell(t, func(c *Config) { c.Grace = 2 * time.Second })
	for _, c := range []struct{ name, command string }{
		{"at once", "echo ready; sleep 100"},
		{"deaf to TERM", "trap '' TERM; echo ready; while :; do sleep 0.1; done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var at time.Time
			r := s.Run(ctx, "c1.1", c.command, time.Minute, func(text string) {
				if strings.Contains(text, "ready") && at.IsZero() {
					at = time.Now()
					cancel(errors.New("the user pressed Escape"))
				}
			})
			if took := time.Since(at); took > 2*time.Second {
				t.Errorf("the result came after %s; the caller gives 2 s", took)
			}
			if !r.Failed || !r.Details.Cancelled {
				t.Errorf("got %+v", r)
			}
			contains(t, r.Text, "ready\n", "cancelled: the user pressed Escape")
		})
	}
}

func TestE42_Close(t *testing.T) {
	s := newShell(t, nil)
	pids := make(chan string, 3)
	first := func(text string) {
		select {
		case pids <- strings.Split(text, "\n")[0]:
		default:
		}
	}
	done := make(chan Result)
	go func() { done <- s.Run(context.Background(), "c1", "echo $$; sleep 100; :", time.Minute, first) }()
	pid := <-pids
	left := s.run("sleep 100 & echo $!").Text
	contains(t, left, "still running", "background: true")
	s.Start("c3", "echo $$ >job; sleep 100; :", 0)
	s.run("until [ -s job ]; do sleep 0.01; done")
	job, err := os.ReadFile(filepath.Join(s.dir, "job"))
	if err != nil {
		t.Fatal(err)
	}
	s.Shell.Close()
	contains(t, (<-done).Text, "cancelled: the session ends")
	gone(t, pid)
	gone(t, strings.Split(left, "\n")[0])
	gone(t, string(job))
	for _, r := range []Result{s.run("echo hi"), s.Start("c4", "echo hi", 0)} {
		if !r.Failed || !strings.Contains(r.Text, "not run") {
			t.Errorf("after Close: %+v", r)
		}
	}
}

func TestE42_DaemonDoesNotHangTheCall(t *testing.T) {
	s := newShell(t, nil)
	for _, command := range []string{
		"sleep 5 & echo hi",
		"(while sleep 0.05; do echo noise; done) & echo hi",
		"setsid sleep 5 & echo hi",
		"nohup sleep 5 2>&1 & echo hi",
	} {
		before := time.Now()
		r := s.run(command)
		if took := time.Since(before); took > 2500*time.Millisecond || r.Failed {
			t.Errorf("%s: %s after %s", command, r.Text, took)
		}
		contains(t, r.Text, "hi\n", "[exit code 0]")
	}
}

func TestE42_Updates(t *testing.T) {
	s := newShell(t, nil)
	var texts []string
	before := time.Now()
	s.Run(t.Context(), "c1.1", "for i in $(seq 40); do printf 'größe %d 🏳️‍⚧️ ' $i; sleep 0.01; done", time.Minute,
		func(text string) { texts = append(texts, text) })
	most := int(time.Since(before)/(100*time.Millisecond)) + 1
	if len(texts) < 2 || len(texts) > most {
		t.Errorf("%d updates; want 2…%d", len(texts), most)
	}
	for i, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("update %d has a split rune: %q", i, text)
		}
	}
	t.Run("bounded", func(t *testing.T) {
		s.Run(t.Context(), "c1.1", "seq 1000000; sleep 0.2", time.Minute, func(text string) {
			if len(text) > 8<<10 || strings.Count(text, "\n") > 100 {
				t.Errorf("an update of %d bytes", len(text))
			}
		})
	})
}

// heap measures what f allocates in all, which bounds what it holds.
func heap(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestE42_BC27_HugeOutput(t *testing.T) {
	for _, c := range []struct {
		name, command string
		bytes         int64
		head, tail    string
	}{
		{"many short lines", "yes | head -c 200M; echo; echo end", 200<<20 + 5, "y\ny\n", "y\ny\n\nend\n[exit code 0]"},
		{"one long line", "echo begin; head -c 50M /dev/zero | tr '\\0' x; echo; echo end", 50<<20 + 11, "begin\n[… 52428801 bytes, 1 lines left out", "]\nend\n[exit code 0]"},
		{"one long line and nothing else", "head -c 50M /dev/zero | tr '\\0' x", 50 << 20, "xxxx", "xxxx\n[exit code 0]"},
		{"bytes that aren't UTF-8", "echo begin; head -c 20M /dev/zero | tr '\\0' '\\377'; echo end", 20<<20 + 10, "begin\n", "\ufffdend\n[exit code 0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShell(t, nil)
			var r Result
			if used := heap(func() { r = s.run(c.command) }); used > 50<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
			if r.Failed || r.Details.Bytes != c.bytes || !r.Details.Truncated || r.Details.Spill != "spill:c1.1.txt" {
				t.Errorf("got %+v, %s", r.Details, clip(r.Text))
			}
			if !strings.HasPrefix(r.Text, c.head) || !strings.HasSuffix(r.Text, c.tail) || !utf8.ValidString(r.Text) {
				t.Errorf("text: %s", clip(r.Text))
			}
			if len(r.Text) > maxBytes+300 || strings.Count(r.Text, "\n") > maxLines+3 {
				t.Errorf("the text has %d bytes, %d lines", len(r.Text), strings.Count(r.Text, "\n"))
			}
			contains(t, r.Text, "whole output: spill:c1.1.txt")
			if info, err := os.Stat(filepath.Join(s.spill, "c1.1.txt")); err != nil || info.Size() != c.bytes {
				t.Errorf("spill file: %v, %v", info, err)
			}
		})
	}
}

func TestE42_SpillHoldsTheExactBytes(t *testing.T) {
	s := newShell(t, nil)
	s.run("head -c 300000 /dev/urandom >f; cat f")
	want, _ := os.ReadFile(filepath.Join(s.dir, "f"))
	if got := s.spilled("c1.1.txt"); len(want) == 0 || !bytes.Equal(got, want) {
		t.Errorf("the spill file has %d bytes, want the %d of the output", len(got), len(want))
	}
}

// failing is a spill file on a full disk.
type failing struct{ room int }

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.room {
		n := f.room
		f.room = 0
		return n, syscall.ENOSPC
	}
	f.room -= len(b)
	return len(b), nil
}

func (f *failing) Close() error { return nil }

func TestE42_SpillFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		create func(string) (io.WriteCloser, error)
		want   string
		spill  string
	}{
		{"can't be made", func(string) (io.WriteCloser, error) { return nil, syscall.EROFS }, "couldn't be kept: read-only file system", ""},
		{"disk full", func(string) (io.WriteCloser, error) { return &failing{100000}, nil }, "the first 100000 bytes: spill:c1.1.txt; then writing failed: no space left", "spill:c1.1.txt"},
		{"none", nil, "the whole output isn't kept", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShell(t, func(cfg *Config) { cfg.Create = c.create })
			r := s.run("seq 100000; echo end")
			if r.Failed || r.Details.Spill != c.spill {
				t.Errorf("got %+v", r.Details)
			}
			contains(t, r.Text, c.want, "99999\n100000\nend\n[exit code 0]")
		})
	}
	t.Run("short output makes no file", func(t *testing.T) {
		s := newShell(t, nil)
		s.run("seq 1999")
		if list, _ := os.ReadDir(s.spill); len(list) != 0 {
			t.Errorf("there is %s", list[0].Name())
		}
	})
}

func TestE42_SpillNameIsOneElement(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{"c12.1", "c12.1.txt"}, {"../../etc/x", "call.._.._etc_x.txt"}, {"", "call.txt"}, {"a\x00b/ü", "a_b___.txt"},
		{strings.Repeat("x", 300), strings.Repeat("x", 100) + ".txt"},
	} {
		if got := spillName(c.call); got != c.want {
			t.Errorf("%q: %q, want %q", c.call, got, c.want)
		}
	}
}
