//go:build unix

package cli

import (
	"io"
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

// sizeOf returns a terminal's width and height, 80 and 24 if it doesn't tell.
func sizeOf(w io.Writer) (width, height int) {
	width, height = 80, 24
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
			width, height = int(size.Col), int(size.Row)
		}
	}
	return width, height
}
