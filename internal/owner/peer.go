package owner

import "net"

// peerUID returns the user id of the process at the other end, as it was when
// the connection was made.
func peerUID(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	if cerr := raw.Control(func(fd uintptr) { uid, err = socketPeer(int(fd)) }); cerr != nil {
		return -1, cerr
	}
	return uid, err
}
