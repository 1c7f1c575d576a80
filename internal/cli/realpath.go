package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symlinks of one path are followed; kernels give up
// earlier.
const maxLinks = 255

// realPath follows the symlinks of an absolute path one by one, as the kernel
// does: "x/.." is the parent of what x leads to, and a symlink counts whether
// or not its target exists. From the first name that doesn't exist on, the
// path stays as it is. It is "" if it can't be told.
func realPath(abs string) string {
	if !filepath.IsAbs(abs) {
		return ""
	}
	done, rest := "/", strings.Split(abs, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		target, err := linkOf(next)
		if err != nil {
			return ""
		}
		if target == "" {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done
}

// linkOf is where a symlink leads to, "" for what is none or doesn't exist.
func linkOf(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return "", nil
	}
	return os.Readlink(path)
}
