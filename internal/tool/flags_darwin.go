package tool

import "golang.org/x/sys/unix"

// openFolder opens a folder just to go on from it.
const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
