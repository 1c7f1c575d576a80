package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// planner adds the rules of a policy to a ruleset.
type planner struct {
	policy
	ruleset int
	handled uint64
	mounts  []mount
	other   []string // other names of what is forbidden or secret
	kernel  []string // the kernel's own file systems
	ways    map[inode]bool
	rules   int
}

// inode is a folder whatever its name is.
type inode struct{ device, number uint64 }

func newPlanner(p policy, ruleset int, rights uint64) *planner {
	return &planner{policy: p, ruleset: ruleset, handled: rights}
}

// all adds the rules.
func (p *planner) all() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	p.mounts = parseMounts(string(text))
	p.kernel = kernelMounts(p.mounts)
	for _, f := range slices.Concat(p.Forbidden, p.Secrets) {
		p.other = append(p.other, otherNames(p.mounts, f)...)
	}
	p.markWays()
	for _, root := range []string{p.Workspace, p.Temp} {
		if inAny(p.other, root) {
			return fmt.Errorf("%s lies, by a bind mount, in gamma's own data or in a secret; choose another folder", root)
		}
		if err := p.root(root, writeRights); err != nil {
			return err
		}
	}
	for _, dir := range p.Write {
		if err := p.optional(dir, writeRights); err != nil {
			return err
		}
	}
	for _, dir := range p.Read {
		if err := p.optional(dir, readRights); err != nil {
			return err
		}
	}
	if p.Home != "" {
		if err := p.entries(p.Home, readRights); err != nil && !gone(err) {
			return err
		}
	}
	return p.system()
}

// markWays remembers the forbidden folders, and all folders on the ways to
// what is forbidden or secret. A rule is for a folder under all of its names,
// so none of these ever gets one: a bind mount of a folder above would open
// the way again.
func (p *planner) markWays() {
	p.ways = map[inode]bool{}
	mark := func(path string) {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			p.ways[inode{uint64(st.Dev), st.Ino}] = true
		}
	}
	for _, f := range p.Forbidden {
		mark(f)
	}
	for _, f := range slices.Concat(p.Forbidden, p.Secrets, p.other) {
		if _, err := os.Lstat(f); err != nil && !slices.Contains(p.Forbidden, f) {
			continue
		}
		for dir := filepath.Dir(f); ; dir = filepath.Dir(dir) {
			mark(dir)
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
}

// system adds the system directories and devices.
func (p *planner) system() error {
	for _, dir := range systemDirs() {
		if err := p.optional(realPath(dir), readRights); err != nil {
			return err
		}
	}
	for _, dev := range devices() {
		if err := p.optional(dev, deviceRights); err != nil {
			return err
		}
	}
	return nil
}

// optional adds a root that may be missing, or have become a symlink.
func (p *planner) optional(path string, rights uint64) error {
	if inAny(p.other, path) {
		return nil
	}
	if err := p.root(path, rights); !gone(err) {
		return err
	}
	return nil
}

// gone reports whether a path can't be used now, for whatever reason (removed,
// a symlink, a mount whose server has gone): no right is given then.
func gone(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path)
}

// root adds a path, or its entries beside what is forbidden in it.
func (p *planner) root(path string, rights uint64) error {
	if p.holdsForbidden(path, rights) {
		return p.entries(path, rights)
	}
	return p.rule(path, rights)
}

// holdsForbidden reports whether something forbidden lies below a path. What
// doesn't exist counts only if it is forbidden, not if it is a secret.
func (p *planner) holdsForbidden(path string, rights uint64) bool {
	below := func(f string) bool { return f != path && under(path, f) }
	there := func(f string) bool {
		if !below(f) {
			return false // first, since there are many names
		}
		_, err := os.Lstat(f)
		return err == nil
	}
	return slices.ContainsFunc(p.Forbidden, below) || slices.ContainsFunc(p.Secrets, there) || slices.ContainsFunc(p.other, there) ||
		rights == writeRights && slices.ContainsFunc(p.kernel, below)
}

// entries adds the entries of a folder that are not forbidden. Symlinks count
// by where they lead, so they need no rule.
func (p *planner) entries(dir string, rights uint64) error {
	fd, err := openExactly(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), dir)
	list, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 || slices.Contains(p.Forbidden, path) || slices.Contains(p.Secrets, path) ||
			slices.Contains(p.other, path) || rights == writeRights && slices.Contains(p.kernel, path) {
			continue
		}
		if err := p.root(path, rights); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// openExactly opens a path without following any symlink.
func openExactly(path string, flags uint64) (int, error) {
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}

// rule gives rights to what a path names and to all below.
func (p *planner) rule(path string, rights uint64) error {
	if p.rules++; p.rules > maxRules {
		return fmt.Errorf("more than %d entries lie beside gamma's own data and secrets, at last %s; choose a workspace that doesn't hold them", maxRules, path)
	}
	fd, err := openExactly(path, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	case unix.S_IFDIR:
		if p.ways[inode{uint64(st.Dev), st.Ino}] {
			return &fs.PathError{Op: "allow", Path: path, Err: errors.New("by another name it is gamma's own data, or a folder above that or above a secret")}
		}
	default:
		rights &= fileRights
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & p.handled, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(p.ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("rule for %s: %w", path, e)
	}
	return nil
}
