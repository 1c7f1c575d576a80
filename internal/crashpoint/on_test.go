//go:build crashpoints

package crashpoint

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary play the process that crashes.
func TestMain(m *testing.M) {
	if os.Getenv("GAMMA_CRASHPOINT_TEST") == "" {
		os.Exit(m.Run())
	}
	for range 3 {
		os.Stdout.WriteString("x")
		Here("append.before")
		Torn("append.torn", os.Stdout, []byte("whole"))
		Cut("append.cut", os.Stdout, []byte("one\ntwo\nthree\n"))
	}
	if os.Getenv("GAMMA_CRASHPOINT_TEST") == "unlisted" {
		Here("no such point")
	}
}

func run(t *testing.T, at, mode string) (out, said string, status syscall.WaitStatus) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "GAMMA_CRASHPOINT_TEST="+mode, Variable+"="+at)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func TestR2_KillsAtTheNamedPassing(t *testing.T) {
	for at, want := range map[string]string{
		"append.before": "x", "append.before:1": "x", "append.before:3": "xxx",
		"append.torn": "xwh", "append.torn:2": "xxwh",
		"append.cut": "xone\ntwo\n", "append.cut:2": "xxone\ntwo\n",
	} {
		out, said, status := run(t, at, "on")
		if out != want || !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: printed %q, want %q; %v, %s", at, out, want, status, said)
		}
	}
	for _, at := range []string{"", "append.before:4", "create.torn"} {
		if out, said, status := run(t, at, "on"); out != "xxx" || status.ExitStatus() != 0 {
			t.Errorf("%q: printed %q, %v, %s", at, out, status, said)
		}
	}
}

func TestR2_RefusesWhatCanNeverCrash(t *testing.T) {
	for _, at := range []string{"apend.before", ":1", "append.before:", "append.before:0", "append.before:-1", "append.before:x"} {
		if _, said, status := run(t, at, "on"); status.ExitStatus() != 2 || !strings.Contains(said, "append.before") {
			t.Errorf("%q: %v, %s", at, status, said)
		}
	}
	if _, said, status := run(t, "append.before:9", "unlisted"); status.ExitStatus() != 2 || !strings.Contains(said, "no such point") {
		t.Errorf("%v, %s", status, said)
	}
}
