package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a real terminal in which gamma runs.
type terminal struct {
	t    testing.TB
	ptmx *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  strings.Builder
	done chan struct{}
}

// terminal runs gamma in a terminal with so many columns.
func (p *place) terminal(columns uint16, args ...string) *terminal {
	p.t.Helper()
	check := func(err error) {
		p.t.Helper()
		if err != nil {
			p.t.Fatal(err)
		}
	}
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	check(err)
	fd := int(ptmx.Fd())
	check(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(err)
	check(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: columns}))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	check(err)
	defer tty.Close()
	x := &terminal{t: p.t, ptmx: ptmx, cmd: p.cmd(args...), done: make(chan struct{})}
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
	x.cmd.Env = append(x.cmd.Env, "TERM=xterm")
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check(x.cmd.Start())
	go x.read()
	p.t.Cleanup(func() { ptmx.Close(); <-x.done })
	return x
}

func (x *terminal) read() {
	defer close(x.done)
	b := make([]byte, 4096)
	for {
		n, err := x.ptmx.Read(b)
		x.mu.Lock()
		x.out.Write(b[:n])
		x.mu.Unlock()
		if err != nil {
			return // the terminal is gone
		}
	}
}

// text is what was printed so far, without colours.
func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(strings.ReplaceAll(x.out.String(), "\r\n", "\n"), "")
}

// see waits until a text was printed.
func (x *terminal) see(text string) {
	x.t.Helper()
	eventually(x.t, "the terminal shows "+text, func() bool { return strings.Contains(x.text(), text) })
}

func (x *terminal) keys(s string) {
	x.t.Helper()
	if _, err := x.ptmx.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for gamma's end, which has this exit code.
func (x *terminal) ends(code int) {
	x.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = x.cmd.Process.Kill() })
	defer timer.Stop()
	_ = x.cmd.Wait()
	if got := x.cmd.ProcessState; got.ExitCode() != code {
		x.t.Errorf("gamma ended with %s, want exit code %d\n%s", got, code, x.text())
	}
}

func TestW41_ARunIsFollowedAndAnsweredInATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.terminal(60, "run", "human-decision", "first, then second")
	x.see("│  3  Plan again – What should change?    replan │")
	x.see("Your choice, 1-3: ")
	x.keys("3\n")
	x.see("What should change? ")
	x.keys("shorter\n")
	x.see("│ You asked for: shorter ")
	x.see("  ☑ replan (terminal:user): shorter\n")
	x.keys("1\n")
	x.ends(0)
	x.see("✓ completed · 5 steps · ")
	for _, want := range []string{"  ✓ plan ↻2 ", "  \"notes\": \"shorter\"\n"} {
		if !strings.Contains(x.text(), want) {
			t.Errorf("%q is missing:\n%s", want, x.text())
		}
	}
}

func TestC8_CtrlCInATerminalParksTheRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.terminal(60, "run", "progress", "--input", `{"files":600}`)
	x.see("/600 files")
	x.see("Ctrl-C parks it")
	x.keys("\x03")
	x.ends(130)
	x.see("⏸ parked (host)\nGo on with:\n")
	x = p.terminal(60, "run", "--resume", "last")
	x.see("check ↻2")
	x.keys("\x03")
	x.ends(130)
	if strings.Contains(x.text(), " before\n") {
		t.Errorf("a step that was broken off counts as done:\n%s", x.text())
	}
}

// TestC8_AnEndedRunIsToldAsSuch: resuming it does nothing, and says so.
func TestC8_AnEndedRunIsToldAsSuch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("run", "branch", "--input", `{"path": "nosuch"}`)
	x := p.terminal(60, "run", "--resume", "last")
	x.ends(0)
	x.see("✓ completed · it had ended before; nothing was done\n")
	if strings.Contains(x.text(), "resumed") {
		t.Errorf("nothing was resumed:\n%s", x.text())
	}
}

// TestC8_ARunShowsWhatTheModelDoesInAStep: the open call below its step, how
// each ended, and the model's words, broken at words and behind the bar.
func TestC8_ARunShowsWhatTheModelDoesInAStep(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" +
		"  - text: \"I look at what is there first, since nothing that stands in a folder should be answered from memory.\"\n" +
		"    tools: [{name: bash, args: {command: \"until [ -e go ]; do sleep 0.1; done\"}}]\n" +
		"  - tools: [{name: workflow, args: {action: submit, output: {answer: 7}}}]\n" +
		"  - tools: [{name: workflow, args: {action: submit, output: {answer: seven}}}]\n" +
		"  - text: Done.\n")
	x := p.terminal(60, "run", "echo", "how many?")
	x.see("  │ I look at what is there first, since nothing that\n  │ stands in a folder should be answered from memory.\n")
	x.see("      bash until [ -e go ]; do sleep 0.1; done  ")
	p.touch("go")
	x.see("    ✓ bash until [ -e go ]; do sleep 0.1; done  ")
	x.see("    ✗ submit · not accepted: the submission doesn't fit:\n    │ /answer: got number, want string\n")
	x.ends(0)
	r := p.run("run", "echo", "how many?")
	for _, want := range []string{"\n    … bash until [ -e go ]; do sleep 0.1; done\n", "\n    ✗ submit · not accepted: the submission doesn't fit: /answer: got number, want string\n"} {
		if strings.Count(r.stderr, want) != 1 {
			t.Errorf("%q isn't told once:\n%s", want, r.stderr)
		}
	}
}

// TestW31_AStepsQuestionIsAnsweredInATerminal: the words go into the step's
// session, also after the run was parked meanwhile.
func TestW31_AStepsQuestionIsAnsweredInATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" +
		"  - tools: [{name: message_user, args: {message: \"Which one?\", blockOnUser: true, reason: input}}]\n" +
		"  - expect: \"^The red\"\n    tools: [{name: message_user, args: {message: \"Dark or light?\", blockOnUser: true, reason: input}}]\n" +
		"  - expect: \"^Dark\"\n    tools: [{name: workflow, args: {action: submit, output: {answer: dark red}}}]\n" +
		"  - text: thanks\n")
	x := p.terminal(80, "run", "echo", "Which colour?")
	x.see("│ Which one?")
	x.see("  > ")
	x.keys("\nThe red one\n")
	x.see("│ Dark or light?")
	x.keys("\x03")
	x.ends(130)
	x = p.terminal(80, "run", "--resume", "last")
	x.see("│ Dark or light?")
	x.keys("\x04")
	x.ends(3) // without an answer
	x.see("The step waits for you. Answer with:")
	x = p.terminal(80, "run", "--resume", "last")
	x.see("│ Dark or light?")
	x.keys("Dark\n")
	x.ends(0)
	x.see(`"answer": "dark red"`)
	if n := strings.Count(x.text(), "Dark or light?"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
