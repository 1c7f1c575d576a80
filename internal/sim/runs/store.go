package runs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gamma-harness/gamma/internal/flow"
)

// row is a run as the database has it.
type row struct {
	flow.Run // the projection
	claimBy  string
	slot     bool
	token    int64
	lease    int64
	order    int
	log      []commit
}

// commit is an event row.
type commit struct {
	flow.Stored
	output string
}

// decision is a decision row.
type decision struct {
	asked, answers int // answers: how often one was written
	by             string
}

// note is an outbox row.
type note struct {
	flow.Notice
	run, session string
	at           int64 // when it was written
	delivered    bool
}

// sig is a signal row.
type sig struct {
	run, id string
	ev      flow.Event
}

// op is a write that the store has accepted, for a replay on a real one.
type op struct {
	kind     string // claim, commit, renew, release, own, leave, drop
	run, id  string // id: of the signal or the session
	by       []string
	graph    *flow.Graph
	before   *flow.Run
	commit   flow.Commit
	token    int64
	now      int64
	until    int64
	was      int64 // of a claim
	lost     bool
	consumed string
	event    flow.Event
}

// database is the store in memory.
type database struct {
	w         *world
	journal   []op // kept if the world is asked to
	rows      map[string]*row
	decisions map[string]*decision
	outbox    []*note
	signals   []sig
	sessions  map[string]int64
	at        int64 // the clock of who writes
}

// load reads the projection.
func (d *database) load(id string) *flow.Run { return d.rows[id].Run.Clone() }

// claim takes the oldest run that fits.
func (d *database) claim(by map[string]bool, now int64) (string, int64, flow.Claim) {
	for _, r := range d.rows { // their claim came to nothing
		if r.slot && r.Status == flow.Queued && r.lease <= now {
			r.slot = false
		}
	}
	var best *row
	for _, r := range d.rows {
		free := r.slot || r.Session == "" || !d.slotTaken(r.Session)
		if !by[r.claimBy] || r.claimBy == "" || r.lease > now || !free {
			continue
		}
		if best == nil || r.order < best.order {
			best = r
		}
	}
	if best == nil {
		return "", 0, flow.Claim{}
	}
	best.token++
	best.slot = best.Session != ""
	ev := flow.Claim{LeaseWas: max(best.lease, -best.lease), Lost: best.lease > 0}
	best.lease = now + lease
	d.note(op{kind: "claim", run: best.ID, by: slices.Sorted(maps.Keys(by)), token: best.token, now: now, until: best.lease, was: ev.LeaseWas, lost: ev.Lost})
	return best.ID, best.token, ev
}

func (d *database) slotTaken(session string) bool {
	for _, r := range d.rows {
		if r.Session == session && r.slot {
			return true
		}
	}
	return false
}

// write commits under the fence; false: nothing was written.
func (d *database) write(g *flow.Graph, before *flow.Run, c *flow.Commit, token, now int64, consumed string) bool {
	r := d.rows[before.ID]
	switch {
	case d.w.off == "store.FenceIgnored":
	case token == 0 && d.w.off == "store.VisitUnfenced":
	case token == 0 && (r.lease > now || r.Seq != before.Seq):
		return false
	case token != 0 && r.token != token && d.w.off != "store.TokenIgnored", token != 0 && r.Seq != before.Seq:
		return false
	case c.SessionToken != 0 && d.sessions[r.Session] != c.SessionToken:
		return false
	}
	slot := c.Next.Slot(g)
	if slot && !r.slot && d.slotTaken(r.Session) {
		return false
	}
	rows := flow.Rows(before, c)
	d.at = now
	if token == 0 {
		r.token++
		switch {
		case c.Next.Status != flow.Running:
			r.lease = 0
		case r.lease == 0:
			r.lease = -now
		}
	} else if c.Next.Status == flow.Running || c.Next.Status == flow.Queued {
		r.lease = now + lease
	} else {
		r.lease = 0
	}
	d.project(r, c.Next, rows, token == 0, slot)
	r.log = append(r.log, commit{flow.Stored{Seq: c.Next.Seq, Facts: c.Facts}, string(c.Output)})
	d.others(r, c, rows)
	d.note(op{kind: "commit", run: r.ID, graph: g, before: before, commit: *c, token: token, now: now, until: r.lease, consumed: consumed})
	if consumed != "" && d.w.off != "store.SignalKept" {
		d.remove(consumed)
	}
	d.w.committed(g, r, before, c, token)
	return true
}

// project writes the columns and rows that the commit names.
func (d *database) project(r *row, next *flow.Run, rows flow.RowSet, visit, slot bool) {
	if d.w.off == "store.ProjectionLater" && d.w.chance(0.05) {
		r.Seq = next.Seq
		return
	}
	was := r.Run
	r.Seq, r.Attempts, r.Steps, r.Tries, r.Turn, r.Tokens, r.TokensAt, r.Result = next.Seq, next.Attempts, next.Steps, next.Tries, next.Turn, next.Tokens, next.TokensAt, next.Result
	r.Open = next.Clone().Open
	if rows.Wide || visit {
		keep := r.Run
		r.Run = *next.Clone()
		r.Nodes, r.Mounts, r.News, r.Open = was.Nodes, was.Mounts, was.News, keep.Open
		r.claimBy, r.slot = next.ClaimBy(), slot
	}
	for _, id := range rows.Nodes {
		r.Nodes[id] = next.Nodes[id]
	}
	for _, m := range rows.Mounts {
		r.Mounts[m] = next.Mounts[m]
	}
}

// others writes decision and outbox rows.
func (d *database) others(r *row, c *flow.Commit, rows flow.RowSet) {
	if a := rows.Asked; a != nil {
		if d.decisions[a.ID] == nil {
			d.decisions[a.ID] = &decision{}
		}
		d.decisions[a.ID].asked++
	}
	if f := rows.Answered; f != nil {
		x := d.decisions[f.Decision]
		x.answers++
		x.by = f.By
	}
	for _, n := range rows.Outbox {
		if d.w.off == "store.OutboxLater" && d.w.chance(0.1) {
			continue // the host died before it wrote the row
		}
		known := false
		for _, o := range d.outbox {
			known = known || o.ID == n.ID
		}
		if !known {
			d.outbox = append(d.outbox, &note{Notice: n, run: r.ID, session: r.Session, at: d.at})
		}
	}
}

func (d *database) note(o op) {
	if d.w.keep {
		d.journal = append(d.journal, o)
	}
}

// leave leaves a signal.
func (d *database) leave(run, id string, ev flow.Event) {
	d.signals = append(d.signals, sig{run, id, ev})
	d.note(op{kind: "leave", run: run, id: id, event: ev, now: d.w.now})
}

// drop removes a signal that changes nothing.
func (d *database) drop(run, id string) {
	d.note(op{kind: "drop", run: run, id: id})
	d.remove(id)
}

// own stores a session's token; false: there is a newer one.
func (d *database) own(session string, token int64) bool {
	if d.sessions[session] > token {
		return false
	}
	d.sessions[session] = token
	d.note(op{kind: "own", id: session, token: token})
	return true
}

func (d *database) remove(id string) {
	for i, s := range d.signals {
		if s.id == id {
			d.signals = append(d.signals[:i:i], d.signals[i+1:]...)
			return
		}
	}
}

func (d *database) signalsOf(run string) []sig {
	var out []sig
	for _, s := range d.signals {
		if s.run == run {
			out = append(out, s)
		}
	}
	return out
}

// renew keeps a claim; false: it is lost.
func (d *database) renew(run string, token, now int64) bool {
	r := d.rows[run]
	if r.token != token && d.w.off != "store.TokenIgnored" && d.w.off != "store.FenceIgnored" || r.lease <= now {
		return false
	}
	r.lease = now + lease
	d.note(op{kind: "renew", run: run, token: token, now: now, until: r.lease})
	return true
}

func (d *database) release(run string, token, now int64) {
	if r := d.rows[run]; r.token == token && r.lease > 0 {
		r.lease = -min(now, r.lease)
		r.slot = r.slot && r.Status != flow.Queued
	}
	d.note(op{kind: "release", run: run, token: token, now: now})
}

// equal compares the projection with the fold of the events.
func (d *database) equal(g *flow.Graph, r *row) error {
	var log []flow.Stored
	for _, c := range r.log {
		log = append(log, c.Stored)
	}
	folded, err := flow.Fold(g, r.ID, log)
	if err != nil {
		return err
	}
	if a, b := fmt.Sprintf("%+v %+v", *folded, folded.Open), fmt.Sprintf("%+v %+v", r.Run, r.Open); normal(a) != normal(b) {
		return fmt.Errorf("run %s: the rows aren't the fold of the events:\n%s\n%s", r.ID, b, a)
	}
	return nil
}
