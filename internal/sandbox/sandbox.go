package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Entry is the first argument of a program that has to call Main with the
// others.
const Entry = "__sandbox"

// Config says what commands may reach. All paths are absolute.
type Config struct {
	Workspace string
	Forbidden []string // never reachable
	Own       []string // folders within forbidden ones that may be roots all the same
	Read      []string // further folders to read; those that don't exist are left out
	// Writable are further folders to read and write. nil: the caches of go,
	// npm, pip and cargo.
	Writable []string
	Environ  []string // our environment: where the user's home and caches are
	ABI      int      // of Probe's report
	Program  string   // calls Main; "": this program
}

// Sandbox makes commands into confined ones. It is safe for concurrent use.
type Sandbox struct {
	program string
	policy  policy
	own     []string
	caches  []cache

	mu     sync.Mutex
	temp   string // "" until the first command
	closed bool
}

// policy is what Main gets, as JSON; both sides are the same build. Paths have
// no symlinks.
type policy struct {
	ABI       int      `json:"abi"`
	Workspace string   `json:"workspace"`
	Temp      string   `json:"temp"`
	Read      []string `json:"read"`
	Write     []string `json:"write"`
	Home      string   `json:"home,omitempty"` // its entries are read
	Forbidden []string `json:"forbidden"`
	Secrets   []string `json:"secrets"`
}

// ErrWorkspace is a workspace that can't be confined: no command may be run
// there.
var ErrWorkspace = errors.New("commands can't be confined to this workspace")

// New resolves the folders. It fails if the workspace can't be confined
// (ErrWorkspace), or a path isn't fit.
func New(cfg Config) (*Sandbox, error) {
	for _, p := range slices.Concat([]string{cfg.Workspace}, cfg.Forbidden, cfg.Own, cfg.Read, cfg.Writable) {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("sandbox: %q isn't an absolute path", p)
		}
	}
	env := map[string]string{}
	for _, kv := range cfg.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	s := &Sandbox{program: cfg.Program, own: withReal(cfg.Own)}
	if s.program == "" {
		s.program = "/proc/self/exe"
	}
	s.policy = policy{ABI: cfg.ABI, Workspace: realPath(cfg.Workspace), Forbidden: withReal(cfg.Forbidden)}
	if err := s.checkWorkspace(); err != nil {
		return nil, err
	}
	home := ""
	if filepath.IsAbs(env["HOME"]) {
		home = realPath(env["HOME"])
	}
	s.policy.Secrets = secrets(home, env)
	if home != "" && !inAny(s.policy.Forbidden, home) && !holdsSystem(home) {
		s.policy.Home = home
	}
	for _, dir := range cfg.Read {
		s.read(dir)
	}
	s.caches = caches(home, env)
	return s, s.write(cfg.Writable)
}

// checkWorkspace refuses a workspace that can't be confined.
func (s *Sandbox) checkWorkspace() error {
	w := s.policy.Workspace
	switch {
	case inAny(s.policy.Forbidden, w) && !inAny(s.own, w):
		return fmt.Errorf("%w: %s lies in gamma's own data; choose another folder", ErrWorkspace, w)
	case w == "/" || inAny([]string{"/proc", "/sys", "/dev"}, w):
		return fmt.Errorf("%w: %s is part of the system; choose another folder", ErrWorkspace, w)
	}
	return nil
}

// holdsSystem reports whether a folder has a system directory in it.
func holdsSystem(dir string) bool {
	return slices.ContainsFunc(systemDirs(), func(sys string) bool { return under(dir, sys) })
}

// read adds a folder to read, unless it is allowed anyway or forbidden.
func (s *Sandbox) read(dir string) {
	real := realPath(dir)
	covered := under(s.policy.Workspace, filepath.Clean(dir)) || under(s.policy.Workspace, real)
	closed := inAny(s.policy.Forbidden, real) && !inAny(s.own, real) || inAny(s.policy.Secrets, real) && !inAny(s.own, real)
	if !covered && !closed && !holdsSystem(real) {
		s.policy.Read = append(s.policy.Read, real)
	}
}

// write adds the writable folders: the given ones, or the caches that exist.
func (s *Sandbox) write(given []string) error {
	for _, dir := range given {
		real := realPath(dir)
		if inAny(s.policy.Forbidden, real) || holdsSystem(real) || inAny([]string{"/proc", "/sys", "/dev"}, real) {
			return fmt.Errorf("sandbox: %s can't be made writable: it is part of gamma's own data or of the system", dir)
		}
		if !under(s.policy.Workspace, filepath.Clean(dir)) && !under(s.policy.Workspace, real) {
			s.policy.Write = append(s.policy.Write, real)
		}
	}
	if given != nil {
		return nil
	}
	for _, c := range s.caches {
		for _, dir := range c.dirs {
			real := realPath(dir)
			inWork := under(s.policy.Workspace, filepath.Clean(dir)) || under(s.policy.Workspace, real)
			if dir != "" && isDir(dir) && !inWork && !inAny(s.policy.Forbidden, real) && !inAny(s.policy.Secrets, real) && !holdsSystem(real) {
				s.policy.Write = append(s.policy.Write, real)
			}
		}
	}
	return nil
}

// Limits says what commands can't do in the workspace itself, for people; ""
// if there is nothing to say.
func (s *Sandbox) Limits() string {
	w := s.policy.Workspace
	for _, f := range slices.Concat(s.policy.Forbidden, s.policy.Secrets) {
		if _, err := os.Lstat(f); err == nil && f != w && under(w, f) {
			return fmt.Sprintf("%s lies in the workspace %s, so commands can't list or add entries in the folders from the one to the other; below the other entries they can", f, w)
		}
	}
	return ""
}

// AllowRead lets later commands read a folder, also one within a forbidden
// folder: the session's spilled outputs.
func (s *Sandbox) AllowRead(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy.Read = append(s.policy.Read, realPath(dir))
}

// Wrap makes a command, given as the program's path and its arguments, and its
// environment into those to start instead.
func (s *Sandbox) Wrap(argv, env []string) (wrapped, wrappedEnv []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.makeTemp(); err != nil {
		return nil, nil, err
	}
	p, err := json.Marshal(s.policy)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: policy: %w", err)
	}
	return append([]string{s.program, Entry, string(p)}, argv...), s.environ(env), nil
}

// environ leads temporary files, and the caches that can't be written, into
// the temporary folder.
func (s *Sandbox) environ(env []string) []string {
	set := map[string]string{"TMPDIR": s.temp, "GOTMPDIR": ""}
	roots := append([]string{s.policy.Workspace}, s.policy.Write...)
	for _, c := range s.caches {
		if dir := c.dirs[0]; dir == "" || !isDir(dir) || !inAny(roots, realPath(dir)) {
			set[c.variable] = filepath.Join(s.temp, c.below)
		}
	}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// makeTemp makes the temporary folder, once.
func (s *Sandbox) makeTemp() error {
	if s.closed {
		return errors.New("sandbox: closed")
	}
	if s.temp != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "gamma-tmp-")
	if err != nil {
		return fmt.Errorf("sandbox: temporary folder: %w", err)
	}
	s.temp = realPath(dir)
	s.policy.Temp = s.temp
	return nil
}

// Close removes the temporary folder. All commands have ended. Later calls of
// Wrap fail.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.temp == "" {
		return nil
	}
	if err := removeAll(s.temp); err != nil {
		return fmt.Errorf("sandbox: temporary folder %s: %w", s.temp, err)
	}
	s.temp = ""
	return nil
}

// removeAll removes a folder with what commands left there. Folders without
// write permission (go's modules) get it first, never outside of dir.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var open func(name string)
	open = func(name string) {
		root.Chmod(name, 0o700) // what can't be changed can't be removed either, which is told then
		list, _ := fs.ReadDir(root.FS(), name)
		for _, e := range list {
			if e.IsDir() {
				open(filepath.Join(name, e.Name()))
			}
		}
	}
	open(".")
	return os.RemoveAll(dir)
}
