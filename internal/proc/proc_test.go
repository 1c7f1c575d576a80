package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bash starts a script. Its output can be read line by line.
type bash struct {
	*Process
	t     *testing.T
	lines *bufio.Scanner
}

func start(t *testing.T, ctx context.Context, script string) *bash {
	t.Helper()
	r, w := io.Pipe()
	p, err := Start(ctx, Cmd{Path: "bash", Args: []string{"-c", script}, Dir: t.TempDir(), Grace: 100 * time.Millisecond,
		Env: []string{"PATH=" + os.Getenv("PATH")}, Output: w})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		p.Close(10 * time.Millisecond)
		w.Close()
	})
	return &bash{p, t, bufio.NewScanner(r)}
}

func (b *bash) line() string {
	b.t.Helper()
	if !b.lines.Scan() {
		b.t.Fatal("no further line of output")
	}
	return b.lines.Text()
}

// pidLine reads a line that holds a process number.
func (b *bash) pidLine() member {
	b.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(b.line()))
	if err != nil {
		b.t.Fatal(err)
	}
	p, ok := process(pid)
	if !ok {
		b.t.Fatalf("process %d isn't running", pid)
	}
	return member{pid, p.start}
}

func running(m member) bool { return len(alive([]member{m})) > 0 }

// run runs a script to its end and returns its output.
func run(t *testing.T, script string) (Result, string) {
	t.Helper()
	var out bytes.Buffer
	p, err := Start(t.Context(), Cmd{Path: "bash", Args: []string{"-c", script}, Env: []string{"A=1", "PATH=" + os.Getenv("PATH")}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(0)
	return p.Wait(), out.String()
}

func TestE42_ProcessOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, script string
		code         int
		signal, out  string
	}{
		{"success", "echo hi", 0, "", "hi\n"},
		{"exit code", "exit 7", 7, "", ""},
		{"killed by a signal", "kill -SEGV $$", 139, "SIGSEGV", ""},
		{"both outputs in order", "for i in 1 2 3; do echo o$i; echo e$i >&2; done", 0, "", "o1\ne1\no2\ne2\no3\ne3\n"},
		{"empty standard input", "cat; echo end", 0, "", "end\n"},
		{"no terminal to ask", "(: </dev/tty) 2>/dev/null || echo none", 0, "", "none\n"},
		{"exactly the given environment", "echo $A; env | grep -cv '^\\(A\\|PATH\\|PWD\\|SHLVL\\|_\\)='", 1, "", "1\n0\n"},
		{"leader of its own group and session", "read -r _ _ _ _ g s _ </proc/$$/stat; [ $g = $$ ] && [ $s = $$ ] && echo leader", 0, "", "leader\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, out := run(t, c.script)
			if r.Code != c.code || r.Signal != c.signal || r.Cause != nil || r.Left || r.Lost || out != c.out {
				t.Errorf("got %+v, output %q", r, out)
			}
		})
	}
}

func TestE42_StartFails(t *testing.T) {
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("given up"))
	for _, c := range []struct {
		name string
		ctx  context.Context
		cmd  Cmd
		want string
	}{
		{"no such program", t.Context(), Cmd{Path: "/no/such/program"}, "no such file"},
		{"no such folder", t.Context(), Cmd{Path: "bash", Dir: "/no/such/folder"}, "no such file"},
		{"context has ended", gone, Cmd{Path: "bash"}, "given up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Start(c.ctx, c.cmd); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestE42_TermThenKill(t *testing.T) {
	stop := errors.New("stop")
	t.Run("TERM lets it clean up", func(t *testing.T) {
		b := start(t, t.Context(), "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do read -t 0.01 <>/dev/zero; done")
		b.line()
		b.Terminate(10*time.Second, stop)
		if got := b.line(); got != "cleaned" {
			t.Errorf("got %q", got)
		}
		if r := b.Wait(); r.Code != 3 || r.Cause != stop || r.Duration > 5*time.Second {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("KILL after the grace period", func(t *testing.T) {
		b := start(t, t.Context(), "trap '' TERM; echo ready; while :; do sleep 1; done")
		b.line()
		before := time.Now()
		b.Terminate(300*time.Millisecond, stop)
		r := b.Wait()
		if took := time.Since(before); r.Code != 137 || r.Signal != "SIGKILL" || took < 300*time.Millisecond || took > 3*time.Second {
			t.Errorf("got %+v after %s", r, took)
		}
	})
	t.Run("the context ends it", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := start(t, ctx, "echo ready; sleep 100")
		b.line()
		cancel(stop)
		if r := b.Wait(); r.Code != 143 || r.Cause != stop {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a stopped process", func(t *testing.T) {
		b := start(t, t.Context(), "trap 'exit 5' TERM; echo ready; kill -STOP $$; sleep 100")
		b.line()
		b.Terminate(10*time.Second, stop)
		if r := b.Wait(); r.Cause != stop || r.Duration > 5*time.Second {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("only the first order counts", func(t *testing.T) {
		b := start(t, t.Context(), "echo ready; sleep 100")
		b.line()
		b.Terminate(time.Second, stop)
		b.Terminate(time.Second, errors.New("other"))
		if r := b.Wait(); r.Cause != stop {
			t.Errorf("got %+v", r)
		}
	})
}

// The whole tree ends, wherever its members have gone.
func TestE42_TreeKill(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"grandchild", "bash -c 'echo $BASHPID; sleep 100; :'; :"},
		{"grandchild deaf to TERM", "trap '' TERM; bash -c 'echo $BASHPID; while :; do sleep 1; done'; :"},
		{"background child of an ended parent", "(sleep 100 & echo $!); sleep 100"},
		{"own group", "set -m; sleep 100 & echo $!; wait"},
		{"own group by timeout", "timeout 100 bash -c 'echo $BASHPID; sleep 100; :'; :"},
		{"own session, parent alive", "setsid bash -c 'echo $BASHPID; sleep 100; :'; :"},
		{"own session and deaf, parent ends at TERM", "setsid bash -c 'trap \"\" TERM; echo $BASHPID; while :; do sleep 1; done'; :"},
		{"output elsewhere", "sleep 100 >/dev/null 2>&1 & echo $!; wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, t.Context(), c.script)
			m := b.pidLine()
			b.Terminate(200*time.Millisecond, errors.New("stop"))
			r := b.Wait()
			if running(m) || r.Left {
				t.Errorf("process %d is still running: %+v", m.pid, r)
			}
		})
	}
}

// TestE42_DaemonsAreOfTheTree: with a mark, what left session, group and parent
// is found, at the end of the child, at a timeout and at Close.
func TestE42_DaemonsAreOfTheTree(t *testing.T) {
	const mark = "TREE_MARK=of this test"
	daemon := func(what string) string {
		return "(setsid bash -c '(" + what + ") & echo $!' &) ; sleep 0.05; "
	}
	for _, c := range []struct {
		name, script string
		end          bool // by us, before the child's end
	}{
		{"the child ends", daemon("exec sleep 100 >/dev/null 2>&1") + "echo end", false},
		{"a timeout", daemon("exec sleep 100 >/dev/null 2>&1") + "echo end; sleep 100", true},
		{"deaf to TERM", daemon("trap \"\" TERM; while :; do sleep 1; done") + "echo end; sleep 100", true},
		{"a daemon's daemon", daemon("setsid bash -c \"(exec sleep 100) & echo \\$!\" ; exit") + "echo end; sleep 100", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := io.Pipe()
			p, err := Start(t.Context(), Cmd{Path: "bash", Args: []string{"-c", c.script}, Env: []string{"PATH=" + os.Getenv("PATH"), mark}, Mark: mark, Output: w})
			if err != nil {
				t.Fatal(err)
			}
			b := &bash{p, t, bufio.NewScanner(r)}
			var members []member
			for line := b.line(); line != "end"; line = b.line() {
				pid, err := strconv.Atoi(line)
				if err != nil {
					t.Fatal(err)
				}
				if q, ok := process(pid); ok {
					members = append(members, member{pid, q.start})
				}
			}
			if len(members) == 0 {
				t.Fatal("no daemon was started")
			}
			go io.Copy(io.Discard, r)
			if c.end {
				p.Terminate(100*time.Millisecond, errors.New("stop"))
			}
			if got := p.Wait(); got.Left == c.end {
				t.Errorf("got %+v", got)
			}
			if running(members[len(members)-1]) == c.end {
				t.Errorf("daemon %d: running is %v", members[len(members)-1].pid, !c.end)
			}
			p.Close(100 * time.Millisecond)
			w.Close()
			for _, m := range members {
				if running(m) {
					t.Errorf("daemon %d outlives Close", m.pid)
				}
			}
		})
	}
}

func TestE42_DaemonHoldsPipe(t *testing.T) {
	for _, c := range []struct {
		name, script string
		left         bool
	}{
		{"silent child in the background", "sleep 100 & echo $!; echo end", true},
		{"chatty child in the background", "while :; do echo noise; sleep 0.02; done & echo $!; echo end", true},
		{"flood in the background", "yes & echo $!; echo end", true},
		{"child that gave up the pipe", "sleep 100 >/dev/null 2>&1 & echo $!; echo end", true},
		{"daemon with its own session", "setsid sleep 100 & echo $!; echo end", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			before := time.Now()
			p, err := Start(t.Context(), Cmd{Path: "bash", Args: []string{"-c", c.script}, Output: &out})
			if err != nil {
				t.Fatal(err)
			}
			r := p.Wait()
			if took := time.Since(before); took > DrainLimit+time.Second || r.Code != 0 {
				t.Errorf("%+v after %s", r, took)
			}
			text := out.String() // no race: nothing is handed on after Wait
			if !strings.Contains(text, "end\n") {
				t.Errorf("output before the end is missing: %q", text[:min(len(text), 200)])
			}
			pid := firstNumber(t, text)
			if r.Left != c.left || !p.Running() {
				t.Errorf("Left %v, Running %v; want %v, true", r.Left, p.Running(), c.left)
			}
			entry, ok := process(pid)
			if !ok || entry.zombie {
				t.Errorf("process %d should be running after the command", pid)
			}
			p.Close(50 * time.Millisecond)
			if m := (member{pid, entry.start}); running(m) == c.left || p.Running() {
				t.Errorf("after Close: running is %v, Running is %v", running(m), p.Running())
			}
			if !c.left {
				unixKill(t, pid)
			}
		})
	}
}

func TestE42_CloseEndsARunningChild(t *testing.T) {
	b := start(t, t.Context(), "echo $BASHPID; sleep 100; :")
	m := b.pidLine()
	b.Close(time.Second)
	if r := b.Wait(); running(m) || r.Cause != ErrClosed {
		t.Errorf("got %+v", r)
	}
	b.Close(time.Second) // again: nothing
}

// A number that the kernel gave to somebody else is left alone.
func TestE42_StrangerWithOurNumber(t *testing.T) {
	b := start(t, t.Context(), "echo $BASHPID; sleep 100; :")
	stranger := b.pidLine()
	leftTree(stranger.pid, nil, mark{}).end(0)
	leftTree(stranger.pid, []member{{stranger.pid, stranger.start - 1}}, mark{}).end(0)
	if !running(stranger) {
		t.Error("a process that isn't ours was ended")
	}
}

func TestE42_OutputThatFails(t *testing.T) {
	r, w := io.Pipe()
	r.Close() // each write fails
	p, err := Start(t.Context(), Cmd{Path: "bash", Args: []string{"-c", "head -c 1000000 /dev/zero; exit 4"}, Output: w})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(0)
	if got := p.Wait(); got.Code != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestStreamsApartAndInput(t *testing.T) {
	var out, errs bytes.Buffer
	p, err := Start(t.Context(), Cmd{Path: "bash", Args: []string{"-c", "cat; echo wrong >&2; sleep 1 & exit 3"}, Dir: t.TempDir(),
		Env: []string{"PATH=" + os.Getenv("PATH")}, Output: &out, Errors: &errs, Input: "given\n"})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Wait()
	p.Close(10 * time.Millisecond)
	if r.Code != 3 || out.String() != "given\n" || errs.String() != "wrong\n" {
		t.Errorf("%+v: %q, %q", r, out.String(), errs.String())
	}
	if p.Running() {
		t.Error("it runs after Close")
	}
	for name, c := range map[string]Cmd{
		"input that nobody reads":  {Path: "true", Input: strings.Repeat("x", 1<<20), Errors: io.Discard},
		"input held by a leftover": {Path: "bash", Args: []string{"-c", "sleep 60 <&0 & true"}, Input: strings.Repeat("x", 1<<20)},
	} {
		p, err := Start(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := p.Wait(); r.Code != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		p.Close(10 * time.Millisecond)
	}
	if _, err := Start(t.Context(), Cmd{Path: "/no/such/program", Errors: io.Discard, Input: "x"}); err == nil {
		t.Error("a missing program was started")
	}
}

// TestC8_TheTerminalsSignalIsOurs: a Ctrl-C that ends a child before it has its
// own session is the order that we get a moment later, not the child's failure.
func TestC8_TheTerminalsSignalIsOurs(t *testing.T) {
	parked := errors.New("parked")
	for _, signal := range []string{"INT", "HUP", "TERM"} {
		t.Run(signal, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := start(t, ctx, "kill -"+signal+" $$")
			<-p.Exited()
			if signal == "TERM" { // somebody's who meant the child
				<-p.Done()
			}
			cancel(parked)
			if got := p.Wait().Cause; (got == parked) != (signal != "TERM") {
				t.Errorf("the cause is %v", got)
			}
		})
	}
	if r, _ := run(t, "kill -INT $$"); r.Cause != nil || r.Signal != "SIGINT" || r.Code != 130 {
		t.Errorf("without an order: %+v", r)
	}
}
