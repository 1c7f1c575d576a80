package peers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time that a living process has used, all threads, in
// user and kernel mode, by its own clock (man 3 clock_getcpuclockid).
func cpuTime(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED: nanoseconds, not ticks
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduler, &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory is the resident memory of a process, in bytes.
type Memory struct{ Peak, Now int64 }

// memoryOf reads the memory of a living process.
func memoryOf(pid int) (Memory, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return Memory{}, err
	}
	m, err := parseStatus(string(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return m, err
}

// parseStatus reads VmHWM and VmRSS from the text of /proc/PID/status.
func parseStatus(text string) (m Memory, err error) {
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		field := map[string]*int64{"VmHWM": &m.Peak, "VmRSS": &m.Now}[name]
		if field == nil {
			continue
		}
		kb, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
		n, err := strconv.ParseInt(strings.TrimSpace(kb), 10, 64)
		if err != nil || !ok {
			return Memory{}, fmt.Errorf("%s is %q, want a number of kB", name, strings.TrimSpace(value))
		}
		*field = n << 10
		found++
	}
	if found != 2 {
		return Memory{}, fmt.Errorf("VmHWM and VmRSS aren't both there; has the process ended?")
	}
	return m, nil
}
