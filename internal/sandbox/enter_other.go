//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// kernelABI says that there is no Landlock.
func kernelABI() (int, error) {
	return 0, errors.New("commands can't be confined on " + runtime.GOOS + ": Landlock is part of Linux")
}

// Main refuses to run the command.
func Main([]string) int {
	_, err := kernelABI()
	fmt.Fprintf(os.Stderr, "gamma: the command wasn't run: sandbox: %v\n", err)
	return exitRefused
}
