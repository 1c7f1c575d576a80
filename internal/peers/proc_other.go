//go:build !linux

package peers

import (
	"errors"
	"time"
)

// Memory is the resident memory of a process, in bytes.
type Memory struct{ Peak, Now int64 }

var errLinux = errors.New("the CPU clock and the memory of another process are read on Linux only")

func cpuTime(int) (time.Duration, error) { return 0, errLinux }
func memoryOf(int) (Memory, error)       { return Memory{}, errLinux }
