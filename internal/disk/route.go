package disk

import (
	"slices"
	"sort"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// tree is how the nodes that count hang together.
type tree struct {
	parent map[transcript.ID]transcript.ID // of each node that stays, over gaps
	raw    map[transcript.ID]transcript.ID // of all nodes, as they say
	bodies map[transcript.ID]transcript.Body
	tips   []tip
	gaps   []transcript.Gap
	was    transcript.ID // the leaf, as the log says
}

// tip is the leaf behind the entry with this number.
type tip struct {
	seq  int
	leaf transcript.ID
}

// before returns the leaf as it was before the entry with this number.
func (t *tree) before(seq int) transcript.ID {
	n := sort.Search(len(t.tips), func(i int) bool { return t.tips[i].seq >= seq })
	if n == 0 {
		return transcript.ID{}
	}
	return t.tips[n-1].leaf
}

func (t *tree) has(id transcript.ID) bool {
	_, ok := t.parent[id]
	return ok || id.IsZero()
}

// grow hangs each node behind its parent or, where that is lost or left out,
// behind the node that was the leaf before it: a gap is between them.
func (p *plan) grow() *tree {
	t := &tree{parent: map[transcript.ID]transcript.ID{}, raw: map[transcript.ID]transcript.ID{}, bodies: map[transcript.ID]transcript.Body{}}
	old := map[transcript.ID]transcript.ID{} // gaps of earlier repairs
	for _, e := range p.entries {
		if o, ok := e.Body.(*transcript.Open); ok && o.Repair != nil {
			for _, g := range o.Repair.Gaps {
				old[g.Node] = g.After
			}
		}
	}
	for _, e := range p.entries {
		switch b := e.Body.(type) {
		case *transcript.Leaf:
			t.was = b.To
			t.tips = append(t.tips, tip{e.ID.Seq, p.hold(t, b.To, e.ID.Seq)})
			continue
		}
		if !e.IsNode() {
			continue
		}
		t.was = e.ID
		from := e.Parent
		if after, ok := old[e.ID]; ok {
			from = after
		}
		t.raw[e.ID], t.bodies[e.ID] = from, e.Body
		if p.broken[e.ID] || p.strict && !t.has(from) {
			continue
		}
		at := p.hold(t, from, e.ID.Seq)
		if at != from {
			t.gaps = append(t.gaps, transcript.Gap{Node: e.ID, After: at})
		}
		t.parent[e.ID] = at
		t.tips = append(t.tips, tip{e.ID.Seq, e.ID})
	}
	return t
}

// hold finds the node that stays nearest before what follows id, of which
// number seq is the next that is known.
func (p *plan) hold(t *tree, id transcript.ID, seq int) transcript.ID {
	for range len(t.raw) {
		if t.has(id) {
			return id
		}
		up, ok := t.raw[id]
		if !ok {
			break
		}
		id = up // it is there and left out
	}
	if t.has(id) {
		return id
	}
	if id.Seq < seq && !p.lost.has[id.Seq] {
		seq = id.Seq // it is lost; else the name of the parent is damaged
	}
	return t.before(seq)
}

// runBehind returns the run that a node belongs to, as the nodes behind it
// tell: zero if none does.
func (p *plan) runBehind(t *tree, node transcript.ID) transcript.ID {
	const far = 5000 // nodes; a run has seldom hundreds
	from := sort.Search(len(p.entries), func(i int) bool { return p.entries[i].ID.Seq >= node.Seq })
	for _, e := range p.entries[from:min(len(p.entries), from+far)] {
		if e.ID != node && (t.parent[e.ID] != node || !t.has(e.ID)) {
			continue
		}
		node = e.ID
		switch b := e.Body.(type) {
		case *transcript.Deliver:
			return b.Run
		case *transcript.Facts:
			return transcript.ID{}
		case *transcript.Settled:
			return b.Run
		case *transcript.Resume:
			return b.Run
		case *transcript.Ask:
			return b.Run
		}
	}
	return transcript.ID{}
}

// route finds where the branch goes on: where it stands, if nothing can be
// lost behind that and it is known what ran there; else at the newest settled
// entry before, or the root.
func (p *plan) route() {
	t := p.grow()
	good := t.before(1 << 62)
	p.leaf = good
	if good != t.was || p.unsure || p.lost.behind(good.Seq, maybeNode) {
		for n := 0; n < len(t.parent) && !good.IsZero(); n++ {
			if _, settled := t.bodies[good].(*transcript.Settled); settled {
				break
			}
			good = t.parent[good]
		}
		p.leaf = good
	}
	p.moves = p.leaf != t.was
	p.tree, p.path = t, nil
	on := map[transcript.ID]bool{}
	for id := p.leaf; !id.IsZero(); id = t.parent[id] {
		p.path, on[id] = append(p.path, id), true
	}
	slices.Reverse(p.path)
	p.gaps = nil
	for _, g := range t.gaps {
		if on[g.Node] {
			g.Run = p.runBehind(t, g.Node)
			p.gaps = append(p.gaps, g)
		}
	}
	p.left = p.leaves(t, on)
	p.lostMessages(on)
}

// leaves counts the nodes that were on the branch and no longer are.
func (p *plan) leaves(t *tree, on map[transcript.ID]bool) int {
	gone := map[transcript.ID]bool{}
	for id := range p.broken {
		if _, ok := t.raw[id]; ok {
			gone[id] = true
		}
	}
	seen := 0
	for id := t.was; !id.IsZero() && !on[id] && seen <= len(t.raw); seen++ {
		up, ok := t.raw[id]
		if !ok {
			break
		}
		gone[id] = true
		if over, stays := t.parent[id]; stays {
			up = over
		}
		id = up
	}
	return len(gone)
}

// leaveRun leaves out the run in which an entry contradicts what stands before
// it: from behind the last settle to the next run's beginning.
func (p *plan) leaveRun(id transcript.ID) {
	p.broken[id] = true
	at := slices.Index(p.path, id)
	if at < 0 {
		return
	}
	first := at
	for first > 0 {
		if _, settled := p.tree.bodies[p.path[first-1]].(*transcript.Settled); settled {
			break
		}
		first--
	}
	end := at + 1
	for end < len(p.path) && !p.begins(end) {
		end++
	}
	for _, id := range p.path[first:end] {
		p.broken[id] = true
	}
}

// begins reports whether the path's node i is the first of a run: facts that a
// delivery follows, or that delivery.
func (p *plan) begins(i int) bool {
	for ; i < len(p.path); i++ {
		switch b := p.tree.bodies[p.path[i]].(type) {
		case *transcript.Facts:
			continue
		case *transcript.Deliver:
			return b.Run.IsZero()
		}
		return false
	}
	return false
}

// lostMessages finds the arrivals that the path delivers and that are gone.
func (p *plan) lostMessages(on map[transcript.ID]bool) {
	arrived := map[transcript.ID]bool{}
	p.gone = nil
	for _, e := range p.entries {
		switch b := e.Body.(type) {
		case *transcript.Open:
			if b.Repair != nil {
				for _, id := range b.Repair.Lost {
					arrived[id] = true // known as lost already
				}
			}
		case *transcript.Arrive:
			arrived[e.ID] = true
		case *transcript.Deliver:
			for _, id := range b.Arrivals {
				// Of what was never used nothing can be lost.
				if on[e.ID] && !arrived[id] && !p.lost.has[id.Seq] && id.Seq < e.ID.Seq && !slices.Contains(p.gone, id) {
					p.gone = append(p.gone, id)
				}
			}
		}
	}
}

// prove folds the log as it will be and finds the messages that wait no
// longer: something is lost behind them that may have delivered them, and
// what was done once must not be done again unasked. They are shown in the
// first gap in which that can have been.
func (p *plan) prove(id string) error {
	p.taken = nil
	for i := range p.gaps {
		p.gaps[i].Arrivals = nil
	}
	s, err := session.Fold(p.after(id))
	if err != nil {
		return err
	}
	p.taken = p.mayBeDelivered(s)
	s, err = session.Fold(p.after(id))
	if err == nil && s.InGap() && !p.unsure {
		p.unsure = true
		p.route()
		return p.prove(id)
	}
	return err
}

// mayBeDelivered returns what waits and may have been delivered in what is
// lost, and gives it a place.
func (p *plan) mayBeDelivered(s *session.State) []session.Arrival {
	var out []session.Arrival
	for _, a := range s.Queue {
		if !p.lost.behind(a.ID.Seq, maybeDelivery) {
			continue
		}
		out = append(out, a)
		for i, g := range p.gaps {
			if g.Node.Seq > a.ID.Seq && p.lost.between(max(a.ID.Seq, g.After.Seq), g.Node.Seq, maybeDelivery) {
				p.gaps[i].Arrivals = append(p.gaps[i].Arrivals, a.ID)
				break
			}
		}
	}
	return out
}

// after returns the log with the repair's entries, as a fold sees them.
func (p *plan) after(id string) []transcript.Entry {
	at := func(n int, b transcript.Body) transcript.Entry {
		return transcript.Entry{ID: transcript.ID{Epoch: 1 << 30, Seq: n}, V: transcript.Version, Body: b}
	}
	out := append(slices.Clone(p.entries), at(p.next, &transcript.Open{Segment: 1 << 30, Why: transcript.OpenDeposit, Repair: p.repair()}))
	if p.header == nil {
		out = append(out, at(p.next+len(out), &transcript.Session{Session: id}))
	}
	if p.moves {
		out = append(out, at(p.next+len(out), &transcript.Leaf{To: p.leaf, Why: leafWhy}))
	}
	return out
}

const leafWhy = "repair"

// repair returns the part of the repair that a fold looks at.
func (p *plan) repair() *transcript.Repair {
	r := &transcript.Repair{Lost: p.gone, Gaps: p.gaps}
	for _, a := range p.taken {
		r.Taken = append(r.Taken, a.ID)
	}
	return r
}
