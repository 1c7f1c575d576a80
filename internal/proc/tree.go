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

// tree is the processes that belong to a child.
type tree struct {
	id int // of the child, its group and its session
	// pinned: the child isn't reaped, so nobody else can have its number. Else
	// the number counts only while a known member holds the session.
	pinned bool
	known  []member
	mark   mark
}

// mark is a variable of the child's environment that nobody else's has. What
// has it is of the tree, whatever its session and its parent are.
type mark struct {
	text  string // NAME=VALUE; "" marks nothing
	since int64  // the child's start: nothing older can have it
}

// newTree is the tree of a child that isn't reaped before the tree's last use.
func newTree(pid int, text string) *tree {
	t := &tree{id: pid, pinned: true, mark: mark{text: text}}
	if p, ok := process(pid); ok {
		t.mark.since = p.start
	}
	return t
}

// leftTree is what a reaped child left running.
func leftTree(pid int, known []member, m mark) *tree { return &tree{id: pid, known: known, mark: m} }

// on reports whether a process has the mark.
func (m mark) on(p proc) bool {
	return m.text != "" && p.start >= m.since && !p.zombie && marked(p.pid, m.text)
}

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
		if _, running := t.refresh(); !running {
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
	ours, _ := t.refresh()
	if ours {
		unix.Kill(-t.id, sig)
	}
	for _, m := range t.known {
		if g, err := unix.Getpgid(m.pid); err == nil && (g != t.id || !ours) {
			unix.Kill(m.pid, sig)
		}
	}
}

// refresh looks at the process table again. It reports whether the child's
// number is still ours, and whether any member is running; without a table
// the group alone tells.
func (t *tree) refresh() (ours, running bool) {
	table, err := processes()
	if err != nil {
		return t.pinned, t.pinned && unix.Kill(-t.id, 0) == nil
	}
	ours = t.pinned
	in := map[int]bool{}
	for _, p := range table {
		if slices.Contains(t.known, member{p.pid, p.start}) {
			in[p.pid] = true
			ours = ours || p.session == t.id && !p.zombie
		}
	}
	for _, p := range table {
		if ours && (p.session == t.id || p.group == t.id) || !in[p.pid] && t.mark.on(p) {
			in[p.pid] = true
		}
	}
	addDescendants(in, table)
	t.known = t.known[:0]
	for _, p := range table {
		if in[p.pid] && !p.zombie {
			t.known = append(t.known, member{p.pid, p.start})
		}
	}
	return ours, len(t.known) > 0
}

// addDescendants adds to in the children of its members, and theirs.
func addDescendants(in map[int]bool, table []proc) {
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.pid] && in[p.ppid] {
				in[p.pid], grown = true, true
			}
		}
	}
}

// left returns the members that run although the child has ended. What is
// just ending is given a moment.
func (t *tree) left() []member {
	for range 3 {
		if t.known = alive(t.mark.add(inSession(t.id, t.known))); len(t.known) == 0 {
			return nil
		}
		time.Sleep(pollEvery)
	}
	return t.known
}

// add returns known and the processes that have the mark.
func (m mark) add(known []member) []member {
	if m.text == "" {
		return known
	}
	for _, pid := range pids() {
		if p, ok := process(pid); ok && !slices.Contains(known, member{p.pid, p.start}) && m.on(p) {
			known = append(known, member{p.pid, p.start})
		}
	}
	return known
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
