package disk

import (
	"fmt"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// index knows which entries a log has, so that the next one can be judged.
// The same judgement stands before writing and behind reading: what was
// accepted for writing can be read.
type index struct {
	last   transcript.ID
	starts []transcript.ID // the first entry of each segment
	nodes  []uint64        // bit seq: the entry is a node
	repair bool            // the last entry opened a segment that repairs
}

// add judges the next entry of the segment with this number.
func (x *index) add(e transcript.Entry, token int) error {
	if err := x.judge(e, token); err != nil {
		return err
	}
	x.take(e, token)
	return nil
}

// addMended judges the next entry of a segment that a repair describes. What
// it had before it, beside it and above it may be lost.
func (x *index) addMended(e transcript.Entry, token int) error {
	if e.ID.Epoch != token || e.ID.Seq <= x.last.Seq {
		return fmt.Errorf("entry %s (%s) follows entry %s in segment %d", e.ID, e.Kind(), x.last, token)
	}
	x.take(e, token)
	return nil
}

func (x *index) take(e transcript.Entry, token int) {
	if token != x.last.Epoch {
		x.starts = append(x.starts, e.ID)
	}
	x.last = e.ID
	for len(x.nodes) <= e.ID.Seq/64 {
		x.nodes = append(x.nodes, 0)
	}
	if e.IsNode() {
		x.nodes[e.ID.Seq/64] |= 1 << (e.ID.Seq % 64)
	}
	open, ok := e.Body.(*transcript.Open)
	x.repair = ok && open.Repair != nil
}

func (x *index) judge(e transcript.Entry, token int) error {
	open, isOpen := e.Body.(*transcript.Open)
	repairs := isOpen && open.Repair != nil // its number leaves room for lost ones
	switch want := x.last.Seq + 1; {
	case e.ID.Epoch != token:
		return fmt.Errorf("entry %s (%s) stands in segment %d", e.ID, e.Kind(), token)
	case e.ID.Seq > want && !repairs:
		return fmt.Errorf("entry %s (%s) follows number %d: entries are missing", e.ID, e.Kind(), x.last.Seq)
	case e.ID.Seq < want:
		return fmt.Errorf("entry %s (%s) follows number %d: its number was used before", e.ID, e.Kind(), x.last.Seq)
	}
	if first := token != x.last.Epoch; first != isOpen {
		return fmt.Errorf("entry %s (%s): the first line of a segment, and no other, is an open entry", e.ID, e.Kind())
	}
	if _, isHeader := e.Body.(*transcript.Session); isHeader != (e.ID.Seq == 2) && !(isHeader && x.repair) {
		return fmt.Errorf("entry %s (%s): the second entry of a session, and no other, is the session header", e.ID, e.Kind())
	}
	if !e.Parent.IsZero() && !x.node(e.Parent) {
		return fmt.Errorf("entry %s (%s): its parent %s is no node before it", e.ID, e.Kind(), e.Parent)
	}
	return nil
}

// node reports whether id is a node of the log.
func (x *index) node(id transcript.ID) bool {
	if id.Seq > x.last.Seq || x.nodes[id.Seq/64]&(1<<(id.Seq%64)) == 0 {
		return false
	}
	i := len(x.starts) - 1 // parents are mostly of the newest segment
	for x.starts[i].Seq > id.Seq {
		i--
	}
	return x.starts[i].Epoch == id.Epoch
}
