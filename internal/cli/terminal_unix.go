//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns returns the width of a terminal, 0 if f isn't one.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return 80
	}
	return int(size.Col)
}
