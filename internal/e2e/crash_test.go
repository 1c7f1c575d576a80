package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

const crashTurns = 3

// crashScript also changes the task list, which is written by replacing a file.
func crashScript() string {
	task := func(do string) string { return ", {name: todo, args: " + do + "}]}" }
	text := counting(crashTurns, "log: requests.jsonl\n")
	text = strings.Replace(text, "echo 1 >> log\"}}]}", "echo 1 >> log\"}}"+task(`{action: add, items: [{content: Count, status: in_progress}]}`), 1)
	return strings.Replace(text, "echo 3 >> log\"}}]}", "echo 3 >> log\"}}"+task(`{action: update, items: [{id: t1, status: complete}]}`), 1)
}

// crashing is a session that dies at named write boundaries.
type crashing struct {
	*killing
	t *testing.T
}

func newCrashing(t *testing.T) *crashing {
	p := newPlace(t)
	p.bin = crashBin
	p.script(crashScript())
	return &crashing{&killing{place: p, t: t, pids: map[int]bool{}, acked: map[string]bool{}}, t}
}

// run starts gamma with the crash point at, "" for none, and reports whether
// it died there.
func (c *crashing) run(at string, args ...string) (died bool, r *running) {
	c.t.Helper()
	env := c.env
	if at != "" {
		c.env = append(env[:len(env):len(env)], crashpoint.Variable+"="+at)
	}
	r = c.start(append([]string{"--allow", "bash"}, args...)...)
	c.env = env
	c.pids[r.cmd.Process.Pid] = true
	c.groups = append(c.groups, r)
	code := r.end()
	died = r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if !died && code != 0 {
		c.t.Fatalf("at %q: exit %d, last line %s, stderr: %s", at, code, r.last, r.stderr)
	}
	c.note(r)
	if s := c.readSession(); s != nil {
		c.remembers(s)
	} else if len(c.acked) > 0 {
		c.t.Errorf("at %q: entries were printed and there is no session", at)
	}
	return died, r
}

// recover goes on until the run is done: with --resume if the session has a
// run, with a prompt if it has none yet, else with a new session.
func (c *crashing) recover() {
	c.t.Helper()
	args := []string{"count"}
	if s := c.readSession(); s == nil {
		c.listsNothing()
		c.forget()
	} else if args = []string{"--resume", s.id}; s.last("arrive").ID == "" {
		cmd := c.cmd("exec", "--resume", s.id)
		r := c.finish(cmd)
		c.pids[cmd.Process.Pid] = true
		if r.code != 2 || !strings.Contains(r.stderr, "give a prompt") {
			c.t.Errorf("resume of a session without a run: exit %d: %s", r.code, r.stderr)
		}
		args = append(args, "count")
	}
	died, r := c.run("", args...)
	if died {
		c.t.Fatal("died without a crash point")
	}
	c.finished(r)
}

// listsNothing: what was never finished is no session.
func (c *crashing) listsNothing() {
	c.t.Helper()
	if r := c.place.run("session", "list", "--json"); r.code != 0 || r.stdout != "" {
		c.t.Errorf("session list: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// finished checks the session at its end.
func (c *crashing) finished(r *running) {
	c.t.Helper()
	for _, g := range c.groups {
		wait(c.t, "end of what a killed process started", g.gone)
	}
	s := c.readSession()
	s.ownedOnce(c.t, c.pids)
	c.remembers(s)
	c.counted(s, crashTurns)
	c.settledOnce(s, r.last)
	c.shows(s)
	extendingLog(c.t, c.place)
}

// TestR2_CrashPoints lets the binary die at each named write boundary, at each
// passing of it, and resumes.
func TestR2_CrashPoints(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tested := map[string]int{}
	t.Run("points", func(t *testing.T) {
		for _, name := range ofRuns() {
			room, _, _ := strings.Cut(name, ".")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n := 0
				if room != "open" {
					n += firstRunDies(t, name)
				}
				if room != "create" {
					n += resumeDies(t, name)
				}
				mu.Lock()
				defer mu.Unlock()
				tested[name] = n
			})
		}
	})
	for _, name := range ofRuns() {
		if tested[name] == 0 {
			t.Errorf("%s was never passed", name)
		}
	}
	t.Logf("crashes by point: %v", tested)
}

// firstRunDies lets a new session die at the 1st, 2nd, … passing of the point
// until it gets through, and returns how often it died.
func firstRunDies(t *testing.T, name string) int {
	for n := 1; ; n++ {
		c := newCrashing(t)
		died, r := c.run(fmt.Sprintf("%s:%d", name, n), "count")
		if !died {
			c.finished(r)
			return n - 1
		}
		c.recover()
		if t.Failed() {
			t.Fatalf("after a crash at %s:%d", name, n)
		}
	}
}

// resumeDies lets a session die in the middle of an append, so that it has a
// torn tail, and then its resume at the first passings of the point.
func resumeDies(t *testing.T, name string) int {
	const passings = 3
	for n := 1; n <= passings; n++ {
		c := newCrashing(t)
		if died, _ := c.run("append.torn:5", "count"); !died {
			t.Fatal("append.torn:5 was never passed")
		}
		died, r := c.run(fmt.Sprintf("%s:%d", name, n), "--resume", c.readSession().id)
		if !died {
			c.finished(r)
			return n - 1
		}
		c.recover()
		if t.Failed() {
			t.Fatalf("after a crash of the resume at %s:%d", name, n)
		}
	}
	return passings
}

// ofRuns lists the crash points that this run passes. Those of a repair and of
// a removal are met by the tests of internal/disk, those of files by
// TestR2_E44_KilledWrites, those of a fork, a rewind, the database and agent steps
// by tests of their own.
func ofRuns() []string {
	return slices.DeleteFunc(crashpoint.Names(), func(name string) bool {
		return strings.HasPrefix(name, "repair.") || strings.HasPrefix(name, "remove.") || strings.HasPrefix(name, "file.") ||
			strings.HasPrefix(name, "fork.") || strings.HasPrefix(name, "rewind.") || strings.HasPrefix(name, "store.") || strings.HasPrefix(name, "step.")
	})
}
