package disk

import (
	"slices"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// route finds where the branch goes on: where it stands, if everything on its
// path is there and nothing can be lost behind that; else at the newest
// settled entry, or the root, before the loss.
func (p *plan) route() {
	whole := map[transcript.ID]bool{{}: true} // nodes whose path to the root is all there
	parent := map[transcript.ID]transcript.ID{}
	settled := map[transcript.ID]bool{{}: true}
	nodes := 0
	var now, good transcript.ID // the leaf, and the newest one with a whole path
	for _, e := range p.entries {
		if l, ok := e.Body.(*transcript.Leaf); ok {
			now = l.To
		} else if e.IsNode() {
			now, nodes = e.ID, nodes+1
			parent[e.ID] = e.Parent
			whole[e.ID] = whole[e.Parent] && !p.broken[e.ID]
			_, settled[e.ID] = e.Body.(*transcript.Settled)
		} else {
			continue
		}
		if whole[now] {
			good = now
		}
	}
	p.leaf, p.moves = now, false
	if good != now || p.lost.behind(now.Seq, maybeNode) {
		for !settled[good] {
			good = parent[good]
		}
		p.leaf, p.moves = good, good != now
	}
	p.left = left(parent, now, p.leaf, nodes)
	p.lostMessages(parent)
}

// left counts the nodes that are no longer on the path.
func left(parent map[transcript.ID]transcript.ID, was, is transcript.ID, nodes int) int {
	n := 0
	for id := was; !id.IsZero() && id != is && n < nodes; id = parent[id] {
		n++
	}
	return n
}

// lostMessages finds the arrivals that the path delivers and that are gone.
func (p *plan) lostMessages(parent map[transcript.ID]transcript.ID) {
	arrived := map[transcript.ID]bool{}
	onPath := map[transcript.ID]bool{}
	for id := p.leaf; !id.IsZero() && !onPath[id]; id = parent[id] {
		onPath[id] = true
	}
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
				if onPath[e.ID] && !arrived[id] && !p.lost.has[id.Seq] && id.Seq < e.ID.Seq && !slices.Contains(p.gone, id) {
					p.gone = append(p.gone, id)
				}
			}
		}
	}
}

// prove folds the log as it will be and finds the messages that wait no
// longer: something is lost behind them that may have delivered them, and
// what was done once must not be done again unasked.
func (p *plan) prove(id string) error {
	p.taken = nil
	s, err := session.Fold(p.after(id))
	if err != nil {
		return err
	}
	for _, a := range s.Queue {
		if p.lost.behind(a.ID.Seq, maybeDelivery) {
			p.taken = append(p.taken, a)
		}
	}
	_, err = session.Fold(p.after(id))
	return err
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
	r := &transcript.Repair{Lost: p.gone}
	for _, a := range p.taken {
		r.Taken = append(r.Taken, a.ID)
	}
	return r
}
