package proc

import (
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// firstNumber returns the first line of output that is a number.
func firstNumber(t *testing.T, text string) int {
	t.Helper()
	found := regexp.MustCompile(`(?m)^[0-9]+$`).FindString(text)
	n, err := strconv.Atoi(found)
	if err != nil {
		t.Fatalf("no number in %q", text[:min(len(text), 200)])
	}
	return n
}

func unixKill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}
