//go:build crashpoints

package crashpoint

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled reports whether this build crashes on request.
const Enabled = true

// passed counts how often the chosen point was passed. It belongs to the
// process, as the environment variable does.
var passed atomic.Int64

// Here marks the point name: the process dies here if it was asked to.
func Here(name string) {
	if due(name) {
		die()
	}
}

// Torn marks the point name in the middle of writing b to w: if the process
// was asked to die here, it writes the first half of b before.
func Torn(name string, w io.Writer, b []byte) {
	if due(name) {
		if _, err := w.Write(b[:len(b)/2]); err != nil {
			refuse(fmt.Sprintf("%s: the first half could not be written: %v", name, err))
		}
		die()
	}
}

// due counts a passing of name and reports whether it is the one asked for.
func due(name string) bool {
	asked := os.Getenv(Variable)
	if asked == "" {
		return false
	}
	point, count, counted := strings.Cut(asked, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if !counted {
		n, err = 1, nil
	}
	if err != nil || n < 1 || !slices.Contains(Names(), point) {
		refuse(fmt.Sprintf("%q: want NAME or NAME:N with N from 1 and NAME one of %s", asked, strings.Join(Names(), ", ")))
	}
	if !slices.Contains(Names(), name) {
		refuse(fmt.Sprintf("the point %q is passed but not listed in package crashpoint", name))
	}
	return name == point && passed.Add(1) == n
}

// refuse ends the process: the test that set the variable is wrong.
func refuse(why string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", Variable, why)
	os.Exit(2)
}

// die kills the process and doesn't return.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		refuse(fmt.Sprintf("kill: %v", err))
	}
	select {} // the signal is on its way
}
