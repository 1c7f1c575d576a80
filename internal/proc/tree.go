package proc

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPatience is how long KILL is repeated and the child's end awaited.
	killPatience = time.Second
	// pollEvery is how often the tree is looked at while it is being ended.
	pollEvery = 10 * time.Millisecond
)

// proc is a line of the kernel's process table.
type proc struct {
	pid, ppid, group, session int
	start                     int64 // in the kernel's units; tells two holders of a number apart
	zombie                    bool
}

// member is a process of the tree, known beyond its number.
type member struct {
	pid   int
	start int64
}

// tree is the processes that belong to a child. It may be used only while the
// child isn't reaped, or while a member that it left is running: then the
// number of the group and session is pinned.
type tree struct {
	id    int // of the child, its group and its session
	known []member
}

func newTree(pid int) *tree { return &tree{id: pid} }

// leftTree is the tree of a child that was reaped; known are members that are
// running.
func leftTree(pid int, known []member) *tree { return &tree{id: pid, known: known} }

// end sends TERM to the tree, waits up to grace for it to be gone, and sends
// KILL until it is. CONT goes with TERM: a stopped process can't obey.
func (t *tree) end(grace time.Duration) {
	t.signal(unix.SIGTERM)
	t.signal(unix.SIGCONT)
	if t.goneWithin(grace, func() {}) {
		return
	}
	t.goneWithin(killPatience, func() { t.signal(unix.SIGKILL) })
}

// goneWithin polls until the tree is empty; each calls f first.
func (t *tree) goneWithin(d time.Duration, f func()) bool {
	deadline := time.Now().Add(d)
	for {
		f()
		if !t.refresh() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pollEvery)
	}
}

// signal sends sig to the group at once, then to the members outside of it.
func (t *tree) signal(sig unix.Signal) {
	t.refresh()
	unix.Kill(-t.id, sig)
	for _, m := range t.known {
		if g, err := unix.Getpgid(m.pid); err == nil && g != t.id {
			unix.Kill(m.pid, sig)
		}
	}
}

// refresh looks at the process table again and reports whether any member is
// running. Without a table it goes by the group alone.
func (t *tree) refresh() bool {
	table, err := processes()
	if err != nil {
		return unix.Kill(-t.id, 0) == nil
	}
	in := map[int]bool{}
	for _, p := range table {
		in[p.pid] = p.session == t.id || p.group == t.id || slices.Contains(t.known, member{p.pid, p.start})
	}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.pid] && in[p.ppid] {
				in[p.pid], grown = true, true
			}
		}
	}
	t.known = t.known[:0]
	for _, p := range table {
		if in[p.pid] && !p.zombie {
			t.known = append(t.known, member{p.pid, p.start})
		}
	}
	return len(t.known) > 0
}

// left returns the members that run although the child has ended. What is
// just ending is given a moment.
func (t *tree) left() []member {
	for range 3 {
		if t.known = alive(inSession(t.id, t.known)); len(t.known) == 0 {
			return nil
		}
		time.Sleep(pollEvery)
	}
	return t.known
}

// inSession returns known and the members of the session.
func inSession(id int, known []member) []member {
	out := slices.Clone(known)
	for _, pid := range pids() {
		if s, err := unix.Getsid(pid); err != nil || s != id {
			continue
		}
		if p, ok := process(pid); ok && !slices.Contains(out, member{p.pid, p.start}) {
			out = append(out, member{p.pid, p.start})
		}
	}
	return out
}

// alive returns those of list that are running.
func alive(list []member) []member {
	var out []member
	for _, m := range list {
		if p, ok := process(m.pid); ok && p.start == m.start && !p.zombie {
			out = append(out, m)
		}
	}
	return out
}
