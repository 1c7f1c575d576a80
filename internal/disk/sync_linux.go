package disk

import (
	"os"
	"syscall"
)

// syncData writes a file's bytes and length to the disk.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
