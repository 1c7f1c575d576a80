package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/sandbox"
)

// sandboxConfig is the part "sandbox" of config.yaml.
type sandboxConfig struct {
	// Writable are folders, absolute or ~/…, that commands may write besides
	// the workspace. Absent: the caches of go, npm, pip and cargo. [] means none.
	Writable []string `yaml:"writable"`
}

// writable returns the folders with ~ expanded.
func (c sandboxConfig) writable() ([]string, error) {
	if c.Writable == nil {
		return nil, nil
	}
	out := []string{}
	for _, dir := range c.Writable {
		path := dir
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, fmt.Errorf("configuration: sandbox.writable: %q: %w", dir, err)
			}
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("configuration: sandbox.writable: %q: want an absolute path or ~/…", dir)
		}
		out = append(out, path)
	}
	return out, nil
}

// confinement is how the commands of a session are confined. The zero value is
// not at all.
type confinement struct {
	kernel sandbox.Report
	box    *sandbox.Sandbox // nil: no command can be, for the reason refused; or the kernel can't
	// refused says why the workspace can't be confined; then no command runs.
	refused error
}

// confine makes the sandbox of a session whose skills lie in skillDirs.
func confine(c toolConfig, skillDirs []string) (*confinement, error) {
	out := &confinement{kernel: c.kernel}
	writable, err := c.sandbox.writable()
	if err != nil {
		return nil, usageError{err}
	}
	if !c.kernel.Holds() {
		c.notice("commands have no full sandbox here, so bash has to be allowed (--allow bash): " + c.kernel.Reason)
	}
	if !c.kernel.Usable() {
		return out, nil
	}
	own := []string{filepath.Join(c.home, "skills"), filepath.Join(c.home, "workflows")}
	if isFiles(c.home, c.workspace) {
		own = append(own, c.workspace)
	}
	out.box, err = sandbox.New(sandbox.Config{Workspace: c.workspace, Forbidden: ownFolders(c.home), Own: own, Read: skillDirs,
		Writable: writable, Environ: os.Environ(), ABI: c.kernel.ABI})
	if errors.Is(err, sandbox.ErrWorkspace) {
		out.refused, err = err, nil
	}
	if err != nil {
		return nil, usageError{err}
	}
	if out.box != nil && out.box.Limits() != "" {
		c.notice(out.box.Limits())
	}
	return out, nil
}

// within reports whether a folder is the data directory, or lies where its
// sessions are, by the real paths. Its skills are a folder like any other.
func within(home, folder string) bool {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	sessions, err := filepath.EvalSymlinks(filepath.Join(home, "sessions"))
	if err != nil {
		sessions = filepath.Join(home, "sessions")
	}
	rel, err := filepath.Rel(sessions, real)
	return slices.Contains(ownFolders(home), real) || err == nil && filepath.IsLocal(rel)
}

// ownFolders are gamma's data and, if that is a link, where its sessions lie.
func ownFolders(home string) []string {
	own := []string{home}
	for _, dir := range []string{home, filepath.Join(home, "sessions")} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(own, real) {
			own = append(own, real)
		}
	}
	return own
}

// isFiles reports whether a workspace lies in the files/ of a session.
func isFiles(home, workspace string) bool {
	sessions, err := filepath.EvalSymlinks(filepath.Join(home, "sessions"))
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(sessions, real)
	part := strings.Split(rel, string(filepath.Separator))
	return err == nil && len(part) >= 2 && part[0] != ".." && part[1] == "files"
}

// bashSandboxed reports whether bash may run without asking: each command is
// confined, or refused because it can't be.
func (c *confinement) bashSandboxed() bool { return c.kernel.Holds() }

// wrap is nil if commands run unconfined.
func (c *confinement) wrap() func(argv, env []string) ([]string, []string, error) {
	switch {
	case c.refused != nil:
		return func([]string, []string) ([]string, []string, error) { return nil, nil, c.refused }
	case c.box != nil:
		return c.box.Wrap
	}
	return nil
}

// allowRead lets commands read the session's spilled outputs.
func (c *confinement) allowRead(dir string) {
	if c.box != nil {
		c.box.AllowRead(dir)
	}
}

func (c *confinement) close() error {
	if c.box == nil {
		return nil
	}
	return c.box.Close()
}
