package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// child plays another process: it does what role says on the session in
// GAMMA_DISK_TEST_HOME and tells on stdout.
func child(role string) int {
	h, err := OpenHome(os.Getenv("GAMMA_DISK_TEST_HOME"))
	if err != nil {
		fmt.Println("home:", err)
		return 1
	}
	switch role {
	case "own": // open, say so, append for each line on stdin
		return childOwns(h)
	case "race": // wait for a line on stdin, then try to open and hold
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return childOwns(h)
	case "full": // append until the file size limit, then raise it and go on
		return childRunsFull(h)
	case "work": // create, append, close, open, append: passes every crash point
		return childWorks(h)
	case "mend": // repair
		_, err := h.Mend(sessionID, mender())
		fmt.Println("end", err)
		return 0
	case "remove":
		_, err := h.Remove(sessionID, os.Getpid(), time.Now(), false)
		fmt.Println("end", err)
		return 0
	}
	return 2
}

func childOwns(h *Home) int {
	s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", time.Now())
	if locked := (*LockedError)(nil); errors.As(err, &locked) {
		fmt.Println("locked by", locked.PID)
		return 0
	}
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	fmt.Println("owner", s.Token)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		err := s.Append(following(s, prompt(in.Text()), &transcript.Deliver{}, &transcript.Intent{Call: "c1.1", Tool: "bash"}))
		fmt.Println("appended", err)
	}
	return 0
}

// childWorks passes every crash point and prints what was acknowledged.
func childWorks(h *Home) int {
	s, err := h.Create(header(sessionID), owner(), "test", time.Now())
	for round := 0; err == nil; round++ {
		fmt.Println("ack", s.index.last.Seq)
		for range 2 {
			if err = s.Append(following(s, prompt("作成しました"), facts("x"))); err != nil {
				break
			}
			fmt.Println("ack", s.index.last.Seq)
		}
		if err == nil {
			err = s.WriteTodo([]byte("{}"))
		}
		if err = errors.Join(err, s.Close()); err != nil || round == 2 {
			break
		}
		if round == 1 { // a torn tail, as a former crash left it
			cut, _ := os.ReadFile(s.path)
			_ = os.WriteFile(s.path, append(cut, "{"...), 0o600)
		}
		s, err = h.Open(sessionID, transcript.OpenWake, owner(), "test", time.Now())
	}
	fmt.Println("end", err)
	return 0
}

// process is a child.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start begins a child on a home.
func start(t *testing.T, h *Home, role string, env ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "GAMMA_DISK_TEST_ROLE="+role, "GAMMA_DISK_TEST_HOME="+h.Dir())
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() { p.kill() })
	return p
}

// line returns the next line that the child prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child: %v after %q", err, s)
	}
	return strings.TrimSpace(s)
}

func (p *process) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.in, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

// kill ends the child with SIGKILL and waits for its end.
func (p *process) kill() {
	if p.ProcessState == nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

func TestE23_BC35_TwoProcessesOneWriter(t *testing.T) {
	h := newHome(t)
	shut(t, create(t, h, sessionID))
	one, two := start(t, h, "race"), start(t, h, "race")
	one.say(t, "go")
	two.say(t, "go")
	said := map[string]*process{one.line(t): one, two.line(t): two}
	winner := said["owner 2"]
	if winner == nil {
		t.Fatalf("said %v", said)
	}
	if refusal := fmt.Sprintf("locked by %d", winner.Process.Pid); said[refusal] == nil {
		t.Errorf("nobody said %q: %v", refusal, said)
	}
	_, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
	e := asError[*LockedError](t, err)
	if e.PID != winner.Process.Pid || e.Host != "here" || e.ID != sessionID || e.Since.IsZero() {
		t.Errorf("locked by %+v", e)
	}
	winner.say(t, "hello")
	if got := winner.line(t); got != "appended <nil>" {
		t.Error(got)
	}
	winner.kill()
	log, err := h.Read(sessionID)
	if err != nil || len(log.Entries) != 6 {
		t.Errorf("%d entries, %v", len(log.Entries), err)
	}
}

// After kill -9 in the middle of a tool the next owner gets everything that
// was acknowledged, under a new epoch: by that the core knows that the call
// has no owner any more.
func TestE23_BC32_KilledOwnerIsSucceeded(t *testing.T) {
	h := newHome(t)
	shut(t, create(t, h, sessionID))
	p := start(t, h, "own")
	if got := p.line(t); got != "owner 2" {
		t.Fatal(got)
	}
	p.say(t, "run it")
	if got := p.line(t); got != "appended <nil>" {
		t.Fatal(got)
	}
	p.kill()
	list, err := h.List()
	if err != nil || len(list) != 1 || list[0].Locked != nil {
		t.Errorf("a dead owner is shown: %+v, %v", list, err)
	}
	s := open(t, h, sessionID)
	if n := len(s.Entries); n != 7 || s.Entries[5].Kind() != "intent" || s.Entries[5].ID.Epoch != 2 ||
		s.Entries[6].ID != (transcript.ID{Epoch: 3, Seq: 7}) || s.Torn != nil {
		t.Errorf("entries %v, torn %v", s.Entries, s.Torn)
	}
	add(t, s, prompt("on we go"))
}

// The file size limit makes the kernel write short, as a full disk does.
func childRunsFull(h *Home) int {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", time.Now())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	limit := before
	limit.Cur = 4000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		return 1
	}
	n := 0
	for err == nil && n < 100 {
		if err = s.Append(following(s, prompt(fmt.Sprintf("prompt %d", n)), facts("x"))); err == nil {
			n++
		}
	}
	fmt.Println(n, err)
	fmt.Println(s.Append(following(s, prompt("again"))))
	fmt.Println(s.Close())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		fmt.Println(err)
		return 1
	}
	s, err = h.Open(sessionID, transcript.OpenWake, owner(), "test", time.Now())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(len(s.Entries), s.Torn != nil, s.Append(following(s, prompt("room again"))))
	return 0
}

func TestR6_FullFileStopsTheSessionAndRoomLetsItGoOn(t *testing.T) {
	h := newHome(t)
	shut(t, create(t, h, sessionID))
	p := start(t, h, "full")
	var n int
	first := p.line(t)
	if _, err := fmt.Sscanf(first, "%d", &n); err != nil || n < 3 || n > 50 {
		t.Fatalf("child said %q", first)
	}
	for _, want := range []string{"has stopped", dirOf(h, sessionID).segment(2), "file too large", "ulimit"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q doesn't say %q", first, want)
		}
	}
	if again := p.line(t); again != strings.TrimPrefix(first, fmt.Sprint(n, " ")) {
		t.Errorf("the second append said %q", again)
	}
	if got := p.line(t); got != "<nil>" {
		t.Errorf("close: %s", got)
	}
	got := p.line(t)
	// 3 entries before the appends, 2 an append, perhaps one whole record of
	// the append that failed, 1 for the new owner.
	if got != fmt.Sprintf("%d true <nil>", 2*n+4) && got != fmt.Sprintf("%d true <nil>", 2*n+5) {
		t.Errorf("after %d appends the next owner found %s", n, got)
	}
	p.kill()
}
