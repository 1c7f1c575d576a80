package proc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// awaitExit waits until the child has ended and leaves it unreaped.
func awaitExit(pid int) {
	const byPID = 1
	var info [16]uint64 // a siginfo_t and more; its content isn't used
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info[0])),
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}

// processes returns the process table.
func processes() ([]proc, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var out []proc
	for i := range list {
		out = append(out, fromKernel(&list[i]))
	}
	return out, nil
}

// pids returns all process numbers, or none without a process table.
func pids() []int {
	list, _ := processes()
	var out []int
	for _, p := range list {
		out = append(out, p.pid)
	}
	return out
}

// process returns a line of the table.
func process(pid int) (proc, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return proc{}, false
	}
	return fromKernel(k), true
}

func fromKernel(k *unix.KinfoProc) proc {
	const zombie = 5 // SZOMB
	pid := int(k.Proc.P_pid)
	session, err := unix.Getsid(pid)
	if err != nil {
		session = -1
	}
	return proc{pid: pid, ppid: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid), session: session,
		start: k.Proc.P_starttime.Nano(), zombie: k.Proc.P_stat == zombie}
}

// marked: the system doesn't tell the environment of its own shells.
func marked(int, string) bool { return false }
