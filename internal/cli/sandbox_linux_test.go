package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/sandbox"
	"github.com/gamma-harness/gamma/internal/session"
)

// place is a home with gamma's data and a workspace, and what the tools of a
// session there said.
type place struct {
	home, gamma, work string
	notices           []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{home: base, gamma: filepath.Join(base, ".gamma"), work: filepath.Join(base, "work")}
	for _, dir := range []string{p.gamma + "/sessions/s1/files", p.gamma + "/skills", p.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.gamma+"/token", []byte("the token"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", p.home)
	return p
}

func (p *place) tools(t *testing.T, change func(*toolConfig)) (*toolbox, error) {
	t.Helper()
	c := toolConfig{workspace: p.work, home: p.gamma, kernel: sandbox.Probe(), notice: func(s string) { p.notices = append(p.notices, s) }}
	if change != nil {
		change(&c)
	}
	box, err := newToolbox(c)
	if err == nil {
		t.Cleanup(func() { box.close() })
	}
	return box, err
}

func (p *place) opened(t *testing.T, change func(*toolConfig)) *toolbox {
	t.Helper()
	box, err := p.tools(t, change)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func bash(t *testing.T, box *toolbox, command string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return box.Run(t.Context(), session.ToolCall{ID: "c1.1", Name: "bash", Args: args}, nil).Text
}

func TestE47_BashInTheSandboxNeedsNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		kernel  sandbox.Report
		allow   []string
		runs    bool // bash is permitted
		reads   bool // and could read the token
		notices int
	}{
		{"sandboxed", sandbox.Probe(), nil, true, false, 0},
		{"no Landlock", sandbox.Report{Reason: "this kernel has no Landlock"}, nil, false, true, 1},
		{"no Landlock, allowed by the user", sandbox.Report{Reason: "this kernel has no Landlock"}, []string{"bash"}, true, true, 1},
		{"Landlock that doesn't keep the promises", sandbox.Report{ABI: 2, Reason: "too old"}, nil, false, false, 1},
		{"the same, allowed by the user", sandbox.Report{ABI: 2, Reason: "too old"}, []string{"bash"}, true, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			box := p.opened(t, func(tc *toolConfig) { tc.kernel = c.kernel })
			permit, err := permit(permitConfig{allow: c.allow, sandboxed: box.confined.bashSandboxed(), workspace: p.work}, box.box)
			if err != nil {
				t.Fatal(err)
			}
			j := permit("bash", json.RawMessage(`{"command":"echo x"}`))
			if ok := j.Do == session.Allow; ok != c.runs || !ok && !strings.Contains(j.Nobody, "--allow 'bash") {
				t.Errorf("judged %s: %s", j.Do, j.Nobody)
			}
			if j := permit("read", json.RawMessage(`{"path":"a"}`)); j.Do != session.Allow {
				t.Error("read isn't permitted")
			}
			out := bash(t, box, "echo x >made && cat made; cat ~/.gamma/token")
			if strings.Contains(out, "the token") != c.reads || !strings.HasPrefix(out, "x\n") {
				t.Errorf("got %s", out)
			}
			if len(p.notices) != c.notices || c.notices > 0 && !strings.Contains(p.notices[0], c.kernel.Reason) {
				t.Errorf("notices: %q", p.notices)
			}
		})
	}
	t.Run("denied by the user", func(t *testing.T) {
		permit, err := permit(permitConfig{deny: []string{"bash"}, sandboxed: true}, newPlaceBox(t))
		if err != nil {
			t.Fatal(err)
		}
		if j := permit("bash", json.RawMessage(`{"command":"echo x"}`)); j.Do != session.Deny {
			t.Error("bash is permitted")
		}
	})
}

func newPlaceBox(t *testing.T) *session.Toolbox { return newPlace(t).opened(t, nil).box }

func TestE47_WorkspaceThatCantBeConfined(t *testing.T) {
	p := newPlace(t)
	for _, work := range []string{p.gamma + "/sessions/s1"} {
		box := p.opened(t, func(c *toolConfig) { c.workspace = work })
		if out := bash(t, box, "echo was run"); strings.Contains(out, "was run\n") || !strings.Contains(out, "lies in gamma's own data") {
			t.Errorf("%s: %s", work, out)
		}
	}
	for _, work := range []string{p.gamma + "/sessions/s1/files", p.gamma + "/skills"} {
		box := p.opened(t, func(c *toolConfig) { c.workspace = work })
		if out := bash(t, box, "echo x >f && cat f; cat ~/.gamma/token"); !strings.HasPrefix(out, "x\n") || strings.Contains(out, "the token") {
			t.Errorf("%s: %s", work, out)
		}
	}
}

func TestE42_WritableFromTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		bad        string
	}{
		{"absent", "version: 1\n", nil, ""},
		{"none", "sandbox: {writable: []}\n", []string{}, ""},
		{"folders", "sandbox:\n  writable: [/data/out, ~/out]\n", []string{"/data/out", "HOME/out"}, ""},
		{"relative", "sandbox: {writable: [out]}\n", nil, `sandbox.writable[0]: "out": want an absolute path or ~/…`},
		{"gamma's data", "sandbox: {writable: [~/.gamma/x]}\n", nil, "can't be made writable"},
		{"the system", "sandbox: {writable: [/usr]}\n", nil, "can't be made writable"},
		{"unknown field", "sandbox: {readable: []}\n", nil, "readable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			if err := os.WriteFile(p.gamma+"/config.yaml", []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			conf, err := loadConfig(p.gamma, p.gamma)
			var got []string
			if err == nil {
				if got, err = conf.Sandbox.writable(); err == nil {
					_, err = p.tools(t, func(tc *toolConfig) { tc.sandbox = conf.Sandbox })
				}
			}
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("want %q, got %v", c.bad, err)
				}
				var usage usageError
				if c.name != "relative" && c.name != "unknown field" && !errors.As(err, &usage) {
					t.Errorf("%v isn't an error of usage", err)
				}
				return
			}
			for i := range c.want {
				c.want[i] = strings.Replace(c.want[i], "HOME", p.home, 1)
			}
			if err != nil || !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
