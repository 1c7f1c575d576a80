package tool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// beside returns the tools of another session on the same workspace.
func (f *fixture) beside(locks string) *fixture {
	f.t.Helper()
	set, err := New(Config{Workspace: f.ws, Forbidden: []string{f.home}, Locks: locks})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(set.Close)
	other := *f
	other.Set, other.seen = set, map[string]string{}
	return &other
}

// TestE43_TwoSessionsLoseNoEdit: each session adds its own lines at the same
// place of one file. An edit that was reported as made is there.
func TestE43_TwoSessionsLoseNoEdit(t *testing.T) {
	locks := filepath.Join(t.TempDir(), "locks")
	f := newSet(t, func(c *Config) { c.Locks = locks })
	f.put("x", "end\n")
	sessions := []*fixture{f, f.beside(locks), f.beside(locks)}
	made := make([][]string, len(sessions))
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() {
			for n := range 60 {
				line := fmt.Sprintf("line %d of %d", n, i)
				out := s.Run(t.Context(), toolCall("edit", fmt.Sprintf(`{"path":"x","edits":[{"oldText":"end\n","newText":"%s\nend\n"}]}`, line)), nil)
				switch {
				case out.Outcome == transcript.OutcomeOK:
					made[i] = append(made[i], line)
				case !strings.Contains(out.Text, "changed by somebody else"):
					t.Errorf("session %d: %s", i, out.Text)
				}
			}
		})
	}
	wg.Wait()
	have := strings.Split(f.get("x"), "\n")
	for i := range made {
		if len(made[i]) == 0 {
			t.Errorf("session %d made no edit", i)
		}
		for _, line := range made[i] {
			if !slices.Contains(have, line) {
				t.Errorf("lost: %s", line)
			}
		}
	}
	t.Logf("edits made: %d, %d, %d of 60 each", len(made[0]), len(made[1]), len(made[2]))
	f.noTemps()
}

// TestE43_ChangeWithinTheClocksStep: size, time and number of the file are as
// they were, and its bytes aren't.
func TestE43_ChangeWithinTheClocksStep(t *testing.T) {
	f := newSet(t, nil)
	f.put("x", "text")
	p, err := f.places.resolve("x")
	if err != nil {
		t.Fatal(err)
	}
	f.put("x", "TEXT")
	if err := os.Chtimes(f.ws+"/x", p.info.ModTime(), p.info.ModTime()); err != nil {
		t.Fatal(err)
	}
	_, err = f.replace(t.Context(), swap{arg: "x", p: p, was: []byte("text"), content: []byte("mine")})
	if err == nil || !strings.Contains(err.Error(), "changed by somebody else") || f.get("x") != "TEXT" {
		t.Errorf("got %v, %q", err, f.get("x"))
	}
}

// TestE44_TurnsOfOthers: a turn that another process has is waited for, until
// the call is cancelled.
func TestE44_TurnsOfOthers(t *testing.T) {
	locks := t.TempDir()
	f := newSet(t, func(c *Config) { c.Locks = locks })
	for i := range 256 {
		held, err := os.Create(filepath.Join(locks, fmt.Sprintf("%02x.lock", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	ctx, cancel := contextWithCause(t, stop)
	time.AfterFunc(20*time.Millisecond, cancel)
	out := f.Run(ctx, toolCall("write", `{"path":"x","content":"a"}`), nil)
	bad(t, out, "x wasn't written", "stop")
	if _, err := os.Lstat(f.ws + "/x"); err == nil {
		t.Error("it was written")
	}
	f.noTemps()
}

// TestE44_LeftTempsAreRemoved: what a killed writer left goes at the next
// opening or the next turn; what a writer at work has, and what isn't a
// temporary file, stays.
func TestE44_LeftTempsAreRemoved(t *testing.T) {
	locks := t.TempDir()
	ws := t.TempDir()
	temp := func(n int) string { return filepath.Join(ws, fmt.Sprintf(".gamma-%026d.tmp", n)) }
	note := func(lock, path string) {
		if err := os.WriteFile(filepath.Join(locks, lock), []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{temp(1), temp(2), filepath.Join(ws, "precious"), temp(3)} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note("01.lock", temp(1))
	note("02.lock", temp(2))
	note("03.lock", filepath.Join(ws, "precious"))
	note("04.lock", temp(3)[:len(temp(3))-6])
	note("05.lock", "")
	held, err := os.OpenFile(filepath.Join(locks, "02.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	openTurns(locks)
	for name, want := range map[string]bool{temp(1): false, temp(2): true, filepath.Join(ws, "precious"): true, temp(3): true} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
