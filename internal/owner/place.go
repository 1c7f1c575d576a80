package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// pathLimit is the length of the longest socket path, in bytes. Linux takes
// 107 and macOS 103; bindSuffix comes on top.
const pathLimit = 100

// bindSuffix is the end of the name that a socket has until it is ready.
const bindSuffix = "~"

// place is where a session's socket is.
type place struct {
	home string // absolute, links resolved
	dir  string
	path string
}

// placeOf returns the place of a session's socket. Home must exist.
func placeOf(home, id string) (place, error) {
	if err := checkSession(id); err != nil {
		return place{}, err
	}
	p := place{}
	abs, err := filepath.Abs(home)
	if err == nil {
		p.home, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return place{}, fmt.Errorf("data directory: %w", err)
	}
	shared := fmt.Sprintf("/tmp/gamma-%d", os.Geteuid())
	for _, c := range [][2]string{
		{filepath.Join(p.home, "run"), id},
		{filepath.Join(p.home, "run"), "_" + digest(id)[:16]},
		{shared, "_" + digest(p.home + "\x00" + id)[:32]},
	} {
		p.dir, p.path = c[0], filepath.Join(c[0], c[1]+".sock")
		if len(p.path) <= pathLimit {
			break
		}
	}
	return p, nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// checkSession accepts the ids of sessions, which become file names.
func checkSession(id string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	if id == "" || len(id) > 64 || id[0] == '-' || strings.Trim(id, letters) != "" {
		return fmt.Errorf("session id %q: want 1 to 64 of a-z, 0-9 and -, not beginning with -", id)
	}
	return nil
}

// make makes the directory, if it is missing, and checks it.
func (p place) make() error {
	if err := os.Mkdir(p.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("socket directory: %w", err)
	}
	return p.check()
}

// check wants a directory that nobody else can enter.
func (p place) check() error {
	fi, err := os.Lstat(p.dir)
	if err != nil {
		return fmt.Errorf("socket directory: %w", err)
	}
	switch {
	case !fi.IsDir():
		return fmt.Errorf("socket directory %s is no directory: remove it", p.dir)
	case !mine(fi):
		return fmt.Errorf("socket directory %s belongs to another user: remove it or choose a shorter data directory (GAMMA_HOME)", p.dir)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("socket directory %s is open to other users (mode %04o): chmod 700 %s", p.dir, fi.Mode().Perm(), p.dir)
	}
	return nil
}

// mine reports whether a file belongs to this process's user.
func mine(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
