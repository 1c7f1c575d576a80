package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// systemDirs can be read. What lies there is protected by its owner and mode;
// root reads all of it.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/proc", "/sys",
		// Where /etc/resolv.conf leads to with the usual resolvers: the network is open.
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"}
}

// devices can be read and written.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}

// secretVariables name secrets that lie elsewhere.
func secretVariables() []string {
	return strings.Fields(`KUBECONFIG AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG
		AZURE_CONFIG_DIR DOCKER_CONFIG GNUPGHOME NETRC NPM_CONFIG_USERCONFIG PASSWORD_STORE_DIR GH_CONFIG_DIR PGPASSFILE
		CLAUDE_CONFIG_DIR CODEX_HOME HISTFILE`)
}

// secrets lists the secrets of a user, each as named and with symlinks
// resolved.
func secrets(home string, env map[string]string) []string {
	var out []string
	if home != "" {
		for _, name := range SecretNames() {
			out = append(out, filepath.Join(home, name))
		}
	}
	for _, name := range secretVariables() {
		for _, path := range filepath.SplitList(env[name]) {
			if filepath.IsAbs(path) {
				out = append(out, filepath.Clean(path))
			}
		}
	}
	return withReal(out)
}

// cache is a tool chain's cache: the folders that the user has, and the
// variable that leads it elsewhere.
type cache struct {
	dirs     []string // all are needed but those that don't exist; the first must exist
	variable string
	below    string // in the temporary folder
}

// caches lists the caches of go, npm, pip and cargo.
func caches(home string, env map[string]string) []cache {
	given := func(name, or string) string {
		if v := env[name]; filepath.IsAbs(v) {
			return v
		}
		return or
	}
	at := func(dir string, more ...string) string {
		if !filepath.IsAbs(dir) {
			return ""
		}
		return filepath.Join(append([]string{dir}, more...)...)
	}
	general := given("XDG_CACHE_HOME", at(home, ".cache"))
	gopath := at(home, "go")
	if list := filepath.SplitList(env["GOPATH"]); len(list) > 0 && filepath.IsAbs(list[0]) {
		gopath = list[0]
	}
	cargo := given("CARGO_HOME", at(home, ".cargo"))
	return []cache{
		{[]string{given("GOCACHE", at(general, "go-build"))}, "GOCACHE", "go-build"},
		{[]string{given("GOMODCACHE", at(gopath, "pkg", "mod"))}, "GOMODCACHE", "go/pkg/mod"},
		{[]string{at(gopath, "pkg")}, "GOPATH", "go"}, // go keeps the log of checksums there
		{[]string{given("NPM_CONFIG_CACHE", at(home, ".npm"))}, "NPM_CONFIG_CACHE", "npm"},
		{[]string{given("PIP_CACHE_DIR", at(general, "pip"))}, "PIP_CACHE_DIR", "pip"},
		{[]string{at(cargo, "registry"), at(cargo, "git")}, "CARGO_HOME", "cargo"},
	}
}

// under reports whether path is dir or lies in it. Both are clean.
func under(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// inAny reports whether path is one of dirs or lies in one.
func inAny(dirs []string, path string) bool {
	for _, d := range dirs {
		if under(d, path) {
			return true
		}
	}
	return false
}

// realPath resolves the symlinks of the part of a path that exists.
func realPath(abs string) string { return realPaths{}.of(filepath.Clean(abs)) }

// realPaths are the real paths of clean absolute ones. Each folder on the way
// is looked at once, however many paths lead through it.
type realPaths map[string]string

func (m realPaths) of(abs string) string {
	if real, ok := m[abs]; ok {
		return real
	}
	dir := filepath.Dir(abs)
	if dir == abs {
		return abs
	}
	real := filepath.Join(m.of(dir), filepath.Base(abs))
	if info, err := os.Lstat(real); err == nil && info.Mode().Type() == os.ModeSymlink {
		if target, err := filepath.EvalSymlinks(real); err == nil {
			real = target
		}
	}
	m[abs] = real
	return real
}

// withReal adds to each path the one with symlinks resolved, if it differs.
func withReal(paths []string) []string {
	var out []string
	reals := realPaths{}
	for _, p := range paths {
		p = filepath.Clean(p)
		out = append(out, p)
		if real := reals.of(p); real != p {
			out = append(out, real)
		}
	}
	return out
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
