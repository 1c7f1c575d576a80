package tool

import "golang.org/x/sys/unix"

// openFolder opens a folder just to go on from it; no permission to read it
// is needed.
const openFolder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
