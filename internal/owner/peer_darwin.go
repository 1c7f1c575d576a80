package owner

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID returns the user id of the process at the other end, as it was when
// the connection was made.
func peerUID(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Xucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); cerr != nil {
		return -1, cerr
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
