package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit waits until the child has ended and leaves it unreaped.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// processes returns the process table.
func processes() ([]proc, error) {
	list := pids()
	if len(list) == 0 {
		return nil, fmt.Errorf("no process table in /proc")
	}
	var out []proc
	for _, pid := range list {
		if p, ok := process(pid); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// pids returns all process numbers, or none without a process table.
func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// process returns a line of the table: /proc/PID/stat, whose second field may
// hold blanks and brackets.
func process(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from the third field on
	if len(f) < 20 {
		return proc{}, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(string(f[i])); return v }
	start, _ := strconv.ParseInt(string(f[19]), 10, 64)
	return proc{pid: pid, ppid: n(1), group: n(2), session: n(3), start: start,
		zombie: f[0][0] == 'Z' || f[0][0] == 'X'}, true
}

// marked reports whether a process began with this variable. An environment
// that can't be read has none.
func marked(pid int, variable string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if string(v) == variable {
			return true
		}
	}
	return false
}
