package shell

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/sandbox"
)

// confined makes newShell confine all commands.
const confined = "SHELL_TEST_CONFINED"

// wrapIfConfined puts a shell's commands into a sandbox.
func wrapIfConfined(t *testing.T, cfg *Config) {
	if os.Getenv(confined) == "" {
		return
	}
	kernel := sandbox.Probe()
	if !kernel.Usable() {
		t.Fatal(kernel.Reason)
	}
	s, err := sandbox.New(sandbox.Config{Workspace: cfg.Dir, ABI: kernel.ABI, Environ: cfg.Env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	cfg.Wrap = s.Wrap
}

func TestE42_ConfinedCommandsBehaveTheSame(t *testing.T) {
	t.Setenv(confined, "1")
	for name, test := range map[string]func(*testing.T){
		"exit codes": TestE42_ExitCodeAlwaysTold, "refused": TestE42_RefusedCommands, "timeout": TestE42_Timeout,
		"flood": TestE42_FloodKeepsTheDeadline, "cancel": TestE42_Cancel, "close": TestE42_Close, "daemon": TestE42_DaemonDoesNotHangTheCall,
		"updates": TestE42_Updates, "spill": TestE42_SpillHoldsTheExactBytes, "jobs": TestE42_Jobs, "job kill": TestE42_JobKill,
		"jobs at once": TestE42_JobsUsedAtOnce, "keys": TestE42_X05_CommandsDontSeeKeys,
	} {
		t.Run(name, test)
	}
	t.Run("they are confined", func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "x")
		s := newShell(t, nil)
		for _, r := range []Result{s.run("echo x >" + outside), s.Start("c1", "echo x >"+outside, 0)} {
			if r.Details.Job != "" {
				r = s.Await(t.Context(), r.Details.Job, 0)
			}
			contains(t, r.Text, "Permission denied")
		}
		if _, err := os.Stat(outside); err == nil {
			t.Error("a command wrote outside")
		}
	})
}

func TestE42_CommandThatCantBeConfinedIsNotRun(t *testing.T) {
	s := newShell(t, func(c *Config) {
		c.Wrap = func([]string, []string) ([]string, []string, error) { return nil, nil, errors.New("no room for it") }
	})
	for _, r := range []Result{s.run("touch made"), s.Start("c1", "touch made", 0)} {
		if !r.Failed || !strings.Contains(r.Text, "couldn't be started: no room for it") {
			t.Errorf("got %+v", r)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err == nil {
		t.Error("it was run")
	}
}
