package sandbox

import (
	"path/filepath"
	"strings"
)

// mount is a line of /proc/self/mountinfo.
type mount struct {
	device string // MAJOR:MINOR
	root   string // the folder of the file system that is mounted
	point  string
	kind   string
}

// parseMounts reads mountinfo. Lines that it doesn't understand are left out.
func parseMounts(text string) []mount {
	unquote := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var out []mount
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if ok && len(f) >= 5 && len(g) >= 1 {
			out = append(out, mount{device: f[2], root: filepath.Clean(unquote.Replace(f[3])), point: filepath.Clean(unquote.Replace(f[4])), kind: g[0]})
		}
	}
	return out
}

// otherNames returns the names that bind mounts give to a folder or to parts
// of it.
func otherNames(mounts []mount, path string) []string {
	var home mount // that path lies on: the innermost; of two on one point, the upper
	for _, m := range mounts {
		if under(m.point, path) && len(m.point) >= len(home.point) {
			home = m
		}
	}
	inside := filepath.Join(home.root, strings.TrimPrefix(path, home.point))
	var out []string
	for _, m := range mounts {
		if m.device != home.device {
			continue
		}
		name := ""
		switch {
		case under(m.root, inside):
			name = filepath.Join(m.point, strings.TrimPrefix(inside, m.root))
		case under(inside, m.root):
			name = m.point
		}
		if name != "" && !under(path, name) {
			out = append(out, name)
		}
	}
	return out
}

// kernelMounts returns where the kernel's own file systems are mounted:
// writing to them changes the system.
func kernelMounts(mounts []mount) []string {
	var out []string
	for _, m := range mounts {
		switch m.kind {
		case "proc", "sysfs", "devtmpfs", "devpts", "debugfs", "tracefs", "securityfs", "configfs", "efivarfs", "cgroup", "cgroup2", "bpf":
			out = append(out, m.point)
		}
	}
	return out
}
