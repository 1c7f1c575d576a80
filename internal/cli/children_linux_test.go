package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestC8_StartingChildrenIsTriedFirst: a command that starts no child has had
// the runtime's child, so none of another command's comes when signals are
// caught already.
func TestC8_StartingChildrenIsTriedFirst(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mainEnv+"=version")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "children: false, true\n") {
		t.Errorf("%v, %s", err, out)
	}
}
