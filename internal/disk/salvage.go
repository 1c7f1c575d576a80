package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// salvage reads a damaged log line by line and plans its repair. why is what
// a reader of the log was told.
func (d directory) salvage(why error) (*scan, error) {
	s, err := d.scan()
	if err != nil {
		return nil, err
	}
	s.choose()
	s.gaps()
	if err := s.design(); err != nil {
		return nil, err
	}
	s.told(why)
	return s, nil
}

// told adds what a reader of the log was told, if the doctor's own reading
// has named nothing at that place.
func (s *scan) told(why error) {
	var f Fault
	damage, contradiction := (*DamageError)(nil), (*session.BrokenError)(nil)
	switch {
	case errors.As(why, &damage):
		f = Fault{Kind: Other, File: damage.File, Line: damage.Line, Offset: damage.Offset, Reason: damage.Reason}
	case errors.As(why, &contradiction):
		f = s.recordOf(contradiction.Entry).fault(Contradiction, contradiction.Reason)
	default: // a number that is too new in a segment that was changed
		return
	}
	if !slices.ContainsFunc(s.faults, func(g Fault) bool { return g.File == f.File && g.Line == f.Line }) {
		s.faults = slices.Insert(s.faults, 0, f)
	}
}

// all returns the records that are entries, in file order.
func (s *scan) all() []*found {
	var out []*found
	for _, f := range s.files {
		for _, r := range f.records {
			if r.bad == "" {
				out = append(out, r)
			}
		}
	}
	return out
}

// choose decides which entries count: as many as stand in the order of their
// numbers, and those of the others whose number is free within their segment.
func (s *scan) choose() {
	all := s.all()
	s.plausible(all)
	all = slices.DeleteFunc(all, func(r *found) bool { return !r.ok() })
	chosen := longest(all)
	used := map[int]*found{}
	for _, r := range chosen {
		used[r.entry.ID.Seq] = r
	}
	low, high := bounds(chosen, s.files, len(all))
	for _, r := range all {
		seq := r.entry.ID.Seq
		if used[seq] == r {
			continue
		}
		switch other := used[seq]; {
		case other != nil && string(other.text) == string(r.text):
			r.skip = fmt.Sprintf("it stands in line %d of segment %d, too", other.line, other.file.token)
		case other != nil:
			r.skip = fmt.Sprintf("number %d was used by another entry", seq)
		case seq > low[r.file.token] && seq < high[r.file.token]:
			r.moved = true
			used[seq] = r
			s.fault(r.fault(OutOfOrder, "it stands between entries of other numbers; it counts in its place"))
			continue
		default:
			r.skip = fmt.Sprintf("number %d doesn't fit between the entries around it", seq)
		}
		s.fault(r.fault(DoubledSeq, r.skip))
	}
}

// plausible drops numbers that so small a log can't have reached, and what a
// former owner wrote too late.
func (s *scan) plausible(all []*found) {
	most := 1 << 20
	for _, f := range s.files {
		most += len(f.data)
	}
	for _, r := range all {
		if r.entry.ID.Seq > most {
			r.bad = fmt.Sprintf("the log can't have reached number %d", r.entry.ID.Seq)
			s.fault(r.fault(BadLine, r.bad))
		}
		if f := r.file; !f.sealed && f.taken > 0 && r.offset >= f.late && r.entry.ID.Seq >= f.taken {
			r.skip = "it was written after another owner had taken over"
		}
	}
}

// neighbours counts the records beside one that have the numbers beside its
// own: of two with one number the one that fits better is the real one.
func neighbours(all []*found, i int) int {
	n, seq := 0, all[i].entry.ID.Seq
	if i > 0 && all[i-1].entry.ID.Seq == seq-1 {
		n++
	}
	if i+1 < len(all) && all[i+1].entry.ID.Seq == seq+1 {
		n++
	}
	return n
}

// longest returns the longest part of the records whose numbers rise.
func longest(all []*found) []*found {
	var tails []int // index of the record that ends the best rise of each length
	before := make([]int, len(all))
	for i, r := range all {
		n := sort.Search(len(tails), func(k int) bool { return all[tails[k]].entry.ID.Seq >= r.entry.ID.Seq })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else if old := all[tails[n]].entry.ID.Seq; old > r.entry.ID.Seq || neighbours(all, i) > neighbours(all, tails[n]) {
			tails[n] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	var out []*found
	for i := tails[len(tails)-1]; i >= 0; i = before[i] {
		out = append(out, all[i])
	}
	slices.Reverse(out)
	return out
}

// bounds returns, for each segment, between which numbers its entries lie by
// those that were chosen of the others. most is how many entries there are.
func bounds(chosen []*found, files []*scanned, most int) (low, high map[int]int) {
	low, high = map[int]int{}, map[int]int{}
	first, last := map[int]int{}, map[int]int{}
	for _, r := range chosen {
		t := r.file.token
		if first[t] == 0 {
			first[t] = r.entry.ID.Seq
		}
		last[t] = r.entry.ID.Seq
	}
	below := 0
	for _, f := range files {
		low[f.token] = below
		below = max(below, last[f.token])
	}
	above := below + most + 1 // the last entries may stand before others
	for _, f := range slices.Backward(files) {
		high[f.token] = above
		if first[f.token] > 0 {
			above = first[f.token]
		}
	}
	return low, high
}

// kept returns the records that count, in the order of their numbers.
func (s *scan) kept() []*found {
	out := slices.DeleteFunc(s.all(), func(r *found) bool { return !r.ok() })
	slices.SortStableFunc(out, func(a, b *found) int { return cmp.Compare(a.entry.ID.Seq, b.entry.ID.Seq) })
	return out
}

// gaps tells where entries are missing that no bad line accounts for.
func (s *scan) gaps() {
	bad := 0
	last := 0
	for _, f := range s.files {
		for _, r := range f.records {
			if !r.ok() || r.moved {
				bad++
				continue
			}
			seq := r.entry.ID.Seq
			open, isOpen := r.entry.Body.(*transcript.Open)
			known := f.mended != nil || isOpen && open.Repair != nil
			if missing := seq - last - 1; missing > bad && !known {
				what := fmt.Sprintf("entries %d to %d are missing before it", last+1, seq-1)
				if missing == 1 {
					what = fmt.Sprintf("entry %d is missing before it", seq-1)
				}
				s.fault(r.fault(MissingSeq, what))
			}
			bad, last = 0, max(last, seq)
		}
	}
}

// plan is how a log will go on.
type plan struct {
	records []*found           // that count, in the order of their numbers
	entries []transcript.Entry // of them
	next    int                // number of the repair's open entry
	lost    losses
	header  *found // nil: a new one is needed
	broken  map[transcript.ID]bool
	leaf    transcript.ID // where the branch goes on
	moves   bool          // a leaf record is needed for that
	gone    []transcript.ID
	taken   []session.Arrival
	gaps    []transcript.Gap // on the path to the leaf
	tree    *tree
	path    []transcript.ID // from the root to the leaf
	unsure  bool            // where the branch stood it isn't known what ran
	strict  bool            // no gap is crossed
	left    int             // nodes that leave the conversation
}

// losses says which numbers have no entry.
type losses struct {
	kinds map[int]transcript.Kind // what a damaged line says of itself, by number
	has   map[int]bool
	most  int  // the highest number known to have been used
	open  bool // something is lost behind all numbers
}

// behind reports whether an entry that may be of a kind that fits is lost
// with a higher number.
func (l *losses) behind(seq int, fits func(transcript.Kind) bool) bool {
	if l.open {
		return true
	}
	for n := l.most; n > seq; n-- {
		if !l.has[n] && fits(l.kinds[n]) {
			return true
		}
	}
	return false
}

// between reports the same of the numbers between two others.
func (l *losses) between(low, high int, fits func(transcript.Kind) bool) bool {
	for n := high - 1; n > low; n-- {
		if !l.has[n] && fits(l.kinds[n]) {
			return true
		}
	}
	return false
}

func maybeNode(k transcript.Kind) bool {
	switch k {
	case "open", "session", "arrive", "withdraw", "leaf", "label", "close":
		return false
	}
	return true
}

// maybeDelivery: a withdrawal takes out of the queue as a delivery does.
func maybeDelivery(k transcript.Kind) bool { return k == "deliver" || k == "withdraw" || k == "" }

// manyRounds is how many runs may be left out one by one, each after a fold of
// the whole log, before all behind the first loss is given up.
const manyRounds = 50

// design plans the repair: it finds the newest place from which the
// conversation can go on, and proves by a fold that it can.
func (s *scan) design() error {
	p := &plan{records: s.kept(), broken: map[transcript.ID]bool{}}
	s.plan = p
	for _, r := range p.records {
		p.entries = append(p.entries, r.entry)
		if _, ok := r.entry.Body.(*transcript.Session); ok {
			p.header = r
		}
	}
	s.lose()
	s.orphans()
	rounds := 0
	for {
		p.route()
		err := p.prove(s.dir.id)
		b := (*session.BrokenError)(nil)
		if err == nil {
			break
		}
		rounds++
		switch {
		case !errors.As(err, &b) || p.strict && p.broken[b.Entry]:
			return fmt.Errorf("session %s: no repair was found; this is a fault of gamma: %w", s.dir.id, err)
		case !p.strict && (p.broken[b.Entry] || rounds > manyRounds):
			p.strict, p.broken = true, map[transcript.ID]bool{}
			continue
		case p.strict:
			p.broken[b.Entry] = true
		default:
			p.leaveRun(b.Entry)
		}
		s.fault(s.recordOf(b.Entry).fault(Contradiction, b.Reason))
	}
	if p.header == nil {
		s.fault(Fault{Kind: NoHeader, File: s.dir.segment(1), Reason: "the session header is lost; its mark, model and workspace are made anew as far as they can't be read"})
	}
	for _, id := range p.gone {
		s.fault(Fault{Kind: LostMessage, File: s.dir.transcript(), Entry: id, Reason: "a delivery names it and its record is gone"})
	}
	return nil
}

func (s *scan) recordOf(id transcript.ID) *found {
	for _, r := range s.plan.records {
		if r.entry.ID == id {
			return r
		}
	}
	return &found{file: &scanned{path: s.dir.transcript()}}
}

// lose notes which numbers have no entry, and what is known of them.
func (s *scan) lose() {
	l := &s.plan.lost
	l.kinds, l.has = map[int]transcript.Kind{}, map[int]bool{}
	for _, r := range s.plan.records {
		l.has[r.entry.ID.Seq] = true
		l.most = max(l.most, r.entry.ID.Seq)
	}
	unknown, last := 0, 0
	for _, f := range s.files {
		if !f.ours() {
			continue // nothing of the session was in it
		}
		for _, r := range f.records {
			switch id, kind := r.hint(); {
			case r.ok():
				unknown, last = 0, f.token
			case r.skip != "":
			case r.line > 1 && bytes.Equal(r.text, f.records[0].text): // a copy of the first line hides nothing
			case id.IsZero() || id.Epoch != f.token || l.has[id.Seq] || id.Seq > l.most+len(f.records):
				unknown++
			default:
				l.kinds[id.Seq] = kind
				l.most = max(l.most, id.Seq)
			}
		}
	}
	// What stands in a later segment arrived after all that a hidden one held.
	l.open = unknown > 0 || s.hidden > last
	s.plan.next = max(l.most+unknown+1, 3) // 1 and 2 are the first owner's and the header's
}

// orphans tells which nodes have lost their parent.
func (s *scan) orphans() {
	nodes := map[transcript.ID]bool{}
	for _, r := range s.plan.records {
		e := r.entry
		if e.IsNode() && !e.Parent.IsZero() && !nodes[e.Parent] && r.file.mended == nil {
			s.fault(r.fault(MissingParent, fmt.Sprintf("its parent %s is no node before it", e.Parent)))
		}
		if e.IsNode() {
			nodes[e.ID] = true
		}
	}
}
