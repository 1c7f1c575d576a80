//go:build crashpoints

package crashpoint

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
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
		writeAndDie(name, w, b[:len(b)/2])
	}
}

// Cut marks the point name before the last line of b is written to w: if the
// process was asked to die here, it writes all lines before it.
func Cut(name string, w io.Writer, b []byte) {
	if due(name) {
		writeAndDie(name, w, b[:bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n')+1])
	}
}

func writeAndDie(name string, w io.Writer, b []byte) {
	if _, err := w.Write(b); err != nil {
		refuse(fmt.Sprintf("%s: the first part could not be written: %v", name, err))
	}
	die()
}

// Quick is d, divided by the number in the environment, if it has one.
func Quick(d time.Duration) time.Duration {
	text := os.Getenv(QuickVariable)
	if text == "" {
		return d
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		refuse(fmt.Sprintf("%s is %q, not a number from 1", QuickVariable, text))
	}
	return d / time.Duration(n)
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
