package repotest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestE52_BuildsAndVetsEverywhere builds the binary and vets all packages with
// their tests for each system that we support. The results are cached by go, so
// only the first time costs minutes.
func TestE52_BuildsAndVetsEverywhere(t *testing.T) {
	for _, target := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}} {
		t.Run("E52 "+target[0]+"/"+target[1], func(t *testing.T) {
			for _, args := range [][]string{{"build", "-o", os.DevNull, "./cmd/gamma"}, {"vet", "./..."}} {
				cmd := exec.Command("nice", append([]string{"-n", "10", "go"}, args...)...)
				cmd.Dir = "../.."
				cmd.Env = append(os.Environ(), "GOOS="+target[0], "GOARCH="+target[1])
				if target != [2]string{runtime.GOOS, runtime.GOARCH} { // else what was vetted before is known
					cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("go %v: %v\n%s", args, err, out)
				}
			}
		})
	}
}
