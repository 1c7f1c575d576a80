package session

import (
	"crypto/sha256"
	"encoding/hex"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Replay goes through a log and calls visit for each request entry, on all
// branches, with the state that the request was made from. The state is only
// good during the call; it is nil if what the request stands on is damaged or
// contradicts itself.
func Replay(entries []transcript.Entry, visit func(transcript.Entry, *State)) {
	r := &replay{entries: entries, at: map[transcript.ID]int{}, dead: map[transcript.ID]bool{}, state: newState(entries), gaps: gapsOf(entries)}
	for i, e := range entries {
		if l, ok := e.Body.(*transcript.Leaf); ok {
			r.to(i+1, l.To)
			continue
		}
		if e.IsNode() {
			r.node(i, e)
		}
		if _, ok := e.Body.(*transcript.Request); ok {
			visit(e, r.sent(e))
		}
		r.apply(i, e)
	}
}

// sent is the state that a request was made from, or nil: what stood in a gap
// was still there before the repair.
func (r *replay) sent(e transcript.Entry) *State {
	if _, behind := r.gaps[e.ID]; behind || r.state != nil && e.ID.Seq < r.state.gapBy {
		return nil
	}
	return r.state
}

type replay struct {
	entries []transcript.Entry
	gaps    map[transcript.ID]gap
	at      map[transcript.ID]int  // nodes so far
	dead    map[transcript.ID]bool // nodes that can't be reached or applied
	state   *State                 // nil: nothing to apply entries to
}

// node brings the state to the place where a node stands.
func (r *replay) node(i int, e transcript.Entry) {
	r.at[e.ID] = i
	parent := parentOf(r.gaps, e)
	_, known := r.at[parent]
	switch {
	case r.dead[parent] || !parent.IsZero() && !known:
		r.dead[e.ID], r.state = true, nil
	case r.state == nil || r.state.Leaf != parent:
		r.to(i, parent)
	}
}

// to folds the first n entries with another leaf.
func (r *replay) to(n int, leaf transcript.ID) {
	j, ok := r.at[leaf]
	if !ok {
		j = -1
	}
	s, err := fold(newState(r.entries), r.entries[:n], pathTo(r.entries[:n], r.at, j, r.gaps))
	if err != nil || !ok && !leaf.IsZero() {
		s = nil
	}
	r.state = s
}

// apply applies entry i. A state that can't take it is given up.
func (r *replay) apply(i int, e transcript.Entry) {
	if r.state == nil {
		return
	}
	on := []bool{true}
	if _, err := fold(r.state, r.entries[i:i+1], on); err != nil {
		r.dead[e.ID], r.state = true, nil
	}
}

// Digester computes the chained digests of a session's requests, as request
// entries hold them. The zero value is ready.
type Digester struct {
	prefix string
	owners []transcript.ID
	chains []Chain // behind each message
}

// Of returns the digest of the request that s leads to, with this prefix sum.
// What two requests have in common is computed once.
func (d *Digester) Of(s *State, prefix string) Chain {
	if d.prefix != prefix {
		*d = Digester{prefix: prefix}
	}
	n := 0
	for n < len(d.owners) && n < len(s.Ctx) && d.owners[n] == s.Ctx[n].Owner {
		n++
	}
	d.owners, d.chains = d.owners[:n], d.chains[:n]
	c := Chain{Hex: prefix}
	if n > 0 {
		c = d.chains[n-1]
	}
	for _, it := range s.Ctx[n:] {
		c = c.extend(it)
		d.owners, d.chains = append(d.owners, it.Owner), append(d.chains, c)
	}
	return c
}

// extend adds a message to the digest.
func (c Chain) extend(it Item) Chain {
	b, err := jsonv2.Marshal(it.Msg, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // messages are strings and compact JSON
	}
	prev, _ := hex.DecodeString(c.Hex)
	sum := sha256.Sum256(append(prev, b...))
	return Chain{Hex: hex.EncodeToString(sum[:]), Items: c.Items + 1, Bytes: c.Bytes + len(b)}
}
