//go:build !linux

package disk

import "os"

// syncData writes a file's bytes and length to the disk.
func syncData(f *os.File) error { return f.Sync() }
