package owner

import "golang.org/x/sys/unix"

// socketPeer returns the user id at the other end of a socket; -1 with an
// error.
func socketPeer(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
