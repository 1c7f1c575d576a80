package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock, as we give them.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// No MAKE_CHAR and MAKE_BLOCK: a device of its own would give root the disk.
	writeRights = readRights | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// fileRights are those that a rule for something else than a folder may have.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// handled returns the file rights and scopes that a version knows: all of
// them are taken away.
func handled(abi int) (rights, scopes uint64) {
	rights = unix.LANDLOCK_ACCESS_FS_REFER - 1
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 {
		rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return rights, scopes
}

// kernelABI asks for Landlock's version.
func kernelABI() (int, error) {
	n, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case e == unix.ENOSYS:
		return 0, errors.New("this kernel has no Landlock (Linux 5.13 or newer built with it), or it is blocked here")
	case e == unix.EOPNOTSUPP:
		return 0, errors.New("this kernel has Landlock switched off; \"landlock\" in the kernel's lsm= parameter switches it on")
	case e != 0:
		return 0, fmt.Errorf("use of Landlock is blocked here: %w", e)
	}
	return int(n), nil
}

// Main confines this process by the policy args[0] and executes the command
// args[1:] in its place, with the environment of the process. It returns only
// if that fails: the exit code.
func Main(args []string) int {
	// The restriction is the thread's, and the thread that executes hands its
	// own on.
	runtime.LockOSThread()
	err := enter(args)
	fmt.Fprintf(os.Stderr, "gamma: the command wasn't run: sandbox: %v\n", err)
	return exitRefused
}

func enter(args []string) error {
	if len(args) < 2 {
		return errors.New("want a policy and a command")
	}
	var p policy
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	abi, err := kernelABI()
	if err != nil {
		return err
	}
	if p.ABI < 1 || abi < p.ABI {
		return fmt.Errorf("version %d of Landlock is wanted, the kernel has %d", p.ABI, abi)
	}
	if err := restrict(p); err != nil {
		return err
	}
	// Nothing is inherited that the caller didn't mean to hand on.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("file descriptors: %w", err)
	}
	if err := syscall.Exec(args[1], args[1:], os.Environ()); err != nil {
		return fmt.Errorf("execute %s: %w", args[1], err)
	}
	return nil
}

// restrict confines the calling thread.
func restrict(p policy) error {
	rights, scopes := handled(p.ABI)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights, Scoped: scopes}
	// Older kernels refuse fields that they don't know.
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if scopes != 0 {
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return fmt.Errorf("ruleset: %w", e)
	}
	defer unix.Close(int(fd))
	if err := newPlanner(p, int(fd), rights).all(); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("core dumps: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return fmt.Errorf("restrict: %w", e)
	}
	return nil
}

// dropCapabilities takes from root what leads past Landlock: loading code into
// the kernel, raw devices, other namespaces, files by handle. Other users have
// none of it.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, c := range []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_ADMIN, unix.CAP_SYS_BOOT, unix.CAP_SYS_PTRACE,
		unix.CAP_SYS_TIME, unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH, unix.CAP_LINUX_IMMUTABLE, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
		unix.CAP_SYSLOG, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE} {
		have, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil || have == 0 {
			continue // the kernel doesn't know it, or it is gone already
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			// Root of a user namespace may lack CAP_SETPCAP, but has no power
			// over the system either.
			if errors.Is(err, unix.EPERM) {
				return nil
			}
			return fmt.Errorf("capability %d: %w", c, err)
		}
	}
	return nil
}
