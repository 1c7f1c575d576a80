package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The binaries, built once by TestMain.
var (
	gammaBin string // as released
	crashBin string // with the tag crashpoints
)

func TestMain(m *testing.M) {
	if file := os.Getenv(measureEnv); file != "" {
		_ = os.Unsetenv(measureEnv)
		os.Exit(measured(file, os.Args[1:]))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gamma-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	gammaBin, crashBin = filepath.Join(dir, "gamma"), filepath.Join(dir, "gamma-crashpoints")
	for _, args := range [][]string{{"-o", gammaBin}, {"-o", crashBin, "-tags", "crashpoints"}} {
		cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"}, args...), "../../cmd/gamma")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build of gamma: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}
