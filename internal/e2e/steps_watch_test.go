package e2e

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestW12_ARunThatIsRemovedWhileItIsWatched: its watcher is told which run went,
// and who reads JSON gets a result.
func TestW12_ARunThatIsRemovedWhileItIsWatched(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"words": nil, "json": {"--json"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			run := strings.TrimSpace(p.ok("run", "delay-retry", "--input", `{"seconds":3600}`, "--detach").stdout)
			from, to, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			watch := p.cmd(append([]string{"runs", "watch", run}, flags...)...)
			watch.Stdout, watch.Stderr = to, to
			err = watch.Start()
			to.Close()
			if err != nil {
				t.Fatal(err)
			}
			says := bufio.NewReader(from)
			if _, err := says.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			_ = watch.Process.Signal(syscall.SIGSTOP) // else it may see the end before the removal
			p.ok("runs", "cancel", run)
			p.ok("runs", "rm", run)
			_ = watch.Process.Signal(syscall.SIGCONT)
			rest, _ := io.ReadAll(says)
			_ = watch.Wait()
			text := string(rest)
			if watch.ProcessState.ExitCode() != 1 || !strings.Contains(text, "run "+run+" was removed while it was watched") {
				t.Errorf("code %d: %s", watch.ProcessState.ExitCode(), text)
			}
			if result := strings.Contains(text, `"type":"result","run":"`+run+`"`); result != (flags != nil) {
				t.Errorf("a result: %t: %s", result, text)
			}
		})
	}
}

// TestC8_ResumeTakesNoSession: a run that goes on has its session.
func TestC8_ResumeTakesNoSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	run := strings.TrimSpace(p.ok("run", "human-decision", "tea", "--detach").stdout)
	p.run("run", "--resume", run, "--session", "nonsense").has(t, 2, "leave out --session")
}
