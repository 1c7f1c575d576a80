package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/session"
)

func contextWithCause(t *testing.T, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	return ctx, func() { cancel(cause) }
}

// child runs one call in a process of its own, which may be held to other
// limits than the tests: TOOL_TEST_CHILD is the workspace, TOOL_TEST_FSIZE
// the size up to which files may grow. Tool and arguments are on the command
// line.
func child() {
	if n, err := strconv.ParseUint(os.Getenv("TOOL_TEST_FSIZE"), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
	}
	s, err := New(Config{Workspace: os.Getenv("TOOL_TEST_CHILD")})
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	defer s.Close()
	out := s.Run(context.Background(), session.ToolCall{ID: "c1.1", Name: os.Args[1], Args: json.RawMessage(os.Args[2])}, nil)
	fmt.Printf("%s: %s\n", out.Outcome, out.Text)
}

// inChild runs a call in a process of its own that isn't root.
func (f *fixture) inChild(env []string, tool string, args any) string {
	f.t.Helper()
	// A copy of the test's program, where everybody may run it.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		f.t.Fatal(err)
	}
	base := filepath.Dir(f.ws)
	program := filepath.Join(base, "program")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		f.t.Fatal(err)
	}
	for dir := base; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(program, tool, string(raw))
	cmd.Dir = base
	cmd.Env = append([]string{"TOOL_TEST_CHILD=" + f.ws, "PATH=" + os.Getenv("PATH")}, env...)
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func toolCall(tool, args string) session.ToolCall {
	return session.ToolCall{ID: "c1.1", Name: tool, Args: json.RawMessage(args)}
}
