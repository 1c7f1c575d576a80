package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// Enqueue implements Store.
func (s *SQLite) Enqueue(ctx context.Context, n New) (Claimed, error) {
	run := n.Commit.Next
	c := Claimed{Run: run.ID}
	err := s.do(ctx, func(w *writer) error {
		_, err := w.exec(`INSERT INTO definition(digest, name, snapshot, identity, source) VALUES(?,?,?,?,?) ON CONFLICT DO NOTHING`,
			n.Definition.Key, n.Definition.Name, string(n.Definition.Snapshot), n.Definition.Identity, n.Definition.Source)
		if err != nil {
			return err
		}
		slot := n.Holder != "" && run.Session != ""
		_, err = w.exec(`INSERT INTO run(id, definition, session, workspace, input, title, status, reason, message, seq, attempts, steps, next, tries,
			pause, turn, presented, result, tokens, tokens_at, claim_by, slot, token, holder, lease_until, lease_was, created_at, updated_at)
			VALUES(?,?,?,?,?,'',?,'','',?,0,0,'',0,0,'',0,'',?,?,?,?,?,?,?,0,?,?)`,
			run.ID, n.Definition.Key, null(run.Session), n.Workspace, string(n.Input), string(run.Status), run.Seq, run.Tokens, run.TokensAt,
			null(run.ClaimBy()), slot, bit(n.Holder != ""), null(n.Holder), n.LeaseUntil, n.Now, n.Now)
		if err != nil {
			return err
		}
		return w.event(run.ID, run.Seq, n.Now, bit(n.Holder != ""), &n.Commit)
	})
	if unique(err) {
		if _, _, there := s.Load(ctx, run.ID); there == nil {
			return c, ErrExists
		}
		return c, ErrSlot
	}
	if n.Holder != "" {
		c.Token = 1
	}
	return c, err
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// null makes "" NULL.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// nullInt makes 0 NULL.
func nullInt(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// nullJSON makes no value NULL.
func nullJSON(j workflow.JSON) any {
	if len(j) == 0 {
		return nil
	}
	return string(j)
}

const claimSet = `UPDATE run SET token=token+1, holder=?1, slot=(session IS NOT NULL), lease_was=lease_until, lease_until=?3 WHERE id=(SELECT id FROM run r
	WHERE `

const claimRest = `claim_by IN (SELECT value FROM json_each(?4)) AND lease_until<=?2 AND id NOT IN (SELECT value FROM json_each(?5))
	AND (slot=1 OR NOT EXISTS (SELECT 1 FROM run o WHERE o.session=r.session AND (o.slot=1 OR o.status='queued' AND r.status='queued'
		AND (o.created_at, o.id)<(r.created_at, r.id) AND o.lease_until<=?2 AND o.claim_by IN (SELECT value FROM json_each(?4))
		AND o.id IN (SELECT value FROM json_each(?6)) AND o.id NOT IN (SELECT value FROM json_each(?5)))))
	ORDER BY created_at, id LIMIT 1) RETURNING id, token, lease_was`

// slotBack takes the slot from queued runs whose claim came to nothing.
const slotBack = `UPDATE run SET slot=0 WHERE slot=1 AND status='queued' AND lease_until<=?`

// Claim implements Store.
func (s *SQLite) Claim(ctx context.Context, h Hunt) (*Claimed, error) {
	by, err := json.Marshal(h.By)
	if err != nil {
		return nil, err
	}
	not, err := json.Marshal(append([]string{}, h.Not...))
	if err != nil {
		return nil, err
	}
	wanted, err := json.Marshal(append([]string{}, h.Wanted...))
	if err != nil {
		return nil, err
	}
	q, args := claimSet+claimRest, []any{h.Holder, h.Now, h.LeaseUntil, string(by), string(not), string(wanted)}
	if h.Run != "" {
		q, args = claimSet+"id=?7 AND "+claimRest, append(args, h.Run)
	}
	var c *Claimed
	err = s.do(ctx, func(w *writer) error {
		if _, err := w.exec(slotBack, h.Now); err != nil {
			return err
		}
		got := Claimed{}
		found, err := w.row(q, args, &got.Run, &got.Token, &got.LeaseWas)
		if got.LeaseWas < 0 {
			got.LeaseWas = -got.LeaseWas
		} else {
			got.Lost = got.LeaseWas > 0
		}
		if found {
			c = &got
		}
		return err
	})
	return c, err
}

const (
	fenceClaim   = ` WHERE id=? AND token=? AND seq=?`
	fenceVisit   = ` WHERE id=? AND seq=? AND lease_until<=?`
	fenceSession = ` AND (?=0 OR EXISTS (SELECT 1 FROM session WHERE id=run.session AND token=?))`
	setNarrow    = `UPDATE run SET seq=?, attempts=?, steps=?, tries=?, turn=?, open=?, tokens=?, tokens_at=?, result=?, updated_at=?`
	setWide      = setNarrow + `, title=?, status=?, reason=?, message=?, next=?, pause=?, presented=?, wake_at=?, claim_by=?, slot=?`
	setClaim     = `, lease_until=?`
	setVisit     = `, token=token+1, holder=NULL, lease_until=CASE WHEN ?=0 THEN 0 WHEN lease_until=0 THEN -? ELSE lease_until END`
)

// Commit implements Store.
func (s *SQLite) Commit(ctx context.Context, wr Write) error {
	if len(wr.Commit.Facts) == 0 {
		return fmt.Errorf("run %s: a commit without facts", wr.Before.ID)
	}
	err := s.do(ctx, func(w *writer) error { return w.commit(wr) })
	if unique(err) {
		return ErrSlot
	}
	return err
}

func (w *writer) commit(wr Write) error {
	next := wr.Commit.Next
	rows := flow.Rows(wr.Before, wr.Commit)
	if err := w.fence(wr, rows.Wide || wr.Token == 0); err != nil {
		return err
	}
	if err := w.projection(next, rows); err != nil {
		return err
	}
	if err := w.event(next.ID, next.Seq, wr.Now, wr.Token, wr.Commit); err != nil {
		return err
	}
	if err := w.decisions(next.ID, wr.Now, rows); err != nil {
		return err
	}
	for _, n := range rows.Outbox {
		_, err := w.exec(`INSERT INTO outbox(id, run, session, kind, body, created_at) VALUES(?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
			n.ID, next.ID, next.Session, n.Kind, n.Body, wr.Now)
		if err != nil {
			return err
		}
	}
	for _, id := range wr.Consumed {
		if _, err := w.exec(`DELETE FROM signal WHERE run=? AND id=?`, next.ID, id); err != nil {
			return err
		}
	}
	return nil
}

// fence updates the run's row where the claim and the seq still hold.
func (w *writer) fence(wr Write, wide bool) error {
	next := wr.Commit.Next
	open, err := openJSON(next.Open)
	if err != nil {
		return err
	}
	q := setNarrow
	args := []any{next.Seq, next.Attempts, next.Steps, next.Tries, next.Turn, open, next.Tokens, next.TokensAt, next.Result, wr.Now}
	if wide {
		q = setWide
		args = append(args, next.Title, string(next.Status), next.Reason, next.Message, next.Next, bit(next.Pause), bit(next.Presented),
			nullInt(next.Wake), null(next.ClaimBy()), bit(next.Slot(wr.Graph)))
	}
	if wr.Token == 0 {
		clock := int64(0) // since when one runs that nobody's work is counted by
		if next.Status == flow.Running {
			clock = wr.Now
		}
		q += setVisit + fenceVisit
		args = append(args, clock, clock, next.ID, wr.Before.Seq, wr.Now)
	} else {
		q += setClaim + fenceClaim
		args = append(args, wr.LeaseUntil, next.ID, wr.Token, wr.Before.Seq)
	}
	q += fenceSession
	args = append(args, wr.Commit.SessionToken, wr.Commit.SessionToken)
	n, err := w.exec(q, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return refusal{ErrFenced}
	}
	return nil
}

func openJSON(a *flow.Attempt) (any, error) {
	if a == nil {
		return nil, nil
	}
	b, err := json.Marshal(a)
	return string(b), err
}

func (w *writer) projection(next *flow.Run, rows flow.RowSet) error {
	for _, id := range rows.Nodes {
		v := next.Nodes[id]
		_, err := w.exec(`INSERT INTO node(run, node, attempt, outcome, code, message, seq, notified) VALUES(?,?,?,?,?,?,?,?)
			ON CONFLICT(run, node) DO UPDATE SET attempt=excluded.attempt, outcome=excluded.outcome, code=excluded.code,
			message=excluded.message, seq=excluded.seq, notified=excluded.notified`,
			next.ID, id, v.Attempt, string(v.Outcome), v.Code, v.Message, v.Seq, v.Notified)
		if err != nil {
			return err
		}
	}
	for _, path := range rows.Mounts {
		m := next.Mounts[path]
		_, err := w.exec(`INSERT INTO mount(run, mount, invocation, steps, since) VALUES(?,?,?,?,?)
			ON CONFLICT(run, mount) DO UPDATE SET invocation=excluded.invocation, steps=excluded.steps, since=excluded.since`,
			next.ID, path, m.Invocation, m.Steps, m.Since)
		if err != nil {
			return err
		}
	}
	for _, key := range rows.News {
		n := next.News[key]
		history, err := json.Marshal(n.History)
		if err != nil {
			return err
		}
		_, err = w.exec(`INSERT INTO progress(run, type, key, seq, data, estimate, history) VALUES(?,?,?,?,?,?,?)
			ON CONFLICT(run, type, key) DO UPDATE SET seq=excluded.seq, data=excluded.data, estimate=excluded.estimate, history=excluded.history`,
			next.ID, n.Type, n.Key, n.Seq, string(n.Data), nullJSON(n.Estimate), string(history))
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) event(run string, seq, now, token int64, c *flow.Commit) error {
	facts, err := json.Marshal(c.Facts)
	if err != nil {
		return err
	}
	_, err = w.exec(`INSERT INTO event(run, seq, at, token, facts, output, receipt) VALUES(?,?,?,?,?,?,?)`,
		run, seq, now, token, string(facts), nullJSON(c.Output), nullJSON(c.Receipt))
	return err
}

func (w *writer) decisions(run string, now int64, rows flow.RowSet) error {
	if a := rows.Asked; a != nil {
		_, err := w.exec(`INSERT INTO decision(id, run, digest, request, expires_at) VALUES(?,?,?,?,?) ON CONFLICT DO NOTHING`,
			a.ID, run, a.Digest, string(a.Request), nullInt(a.ExpiresAt))
		if err != nil {
			return err
		}
	}
	f := rows.Answered
	if f == nil {
		return nil
	}
	n, err := w.exec(`UPDATE decision SET choice=?, answer=?, by=?, key=?, at=? WHERE id=? AND by IS NULL`,
		f.Choice, nullJSON(rows.Answer), f.By, f.Key, now, f.Decision)
	if err == nil && n == 0 {
		return fmt.Errorf("decision %s has an answer already, and its run still waits for one", f.Decision)
	}
	return err
}

// Renew implements Store.
func (s *SQLite) Renew(ctx context.Context, run string, token, now, until int64) error {
	return s.do(ctx, func(w *writer) error {
		n, err := w.exec(`UPDATE run SET lease_until=? WHERE id=? AND token=? AND lease_until>?`, until, run, token, now)
		if err == nil && n == 0 {
			return refusal{ErrFenced}
		}
		return err
	})
}

// Release implements Store.
func (s *SQLite) Release(ctx context.Context, run string, token, now int64) error {
	return s.do(ctx, func(w *writer) error {
		_, err := w.exec(`UPDATE run SET lease_until=CASE WHEN lease_until>0 THEN -min(?, lease_until) ELSE lease_until END, holder=NULL,
			slot=(slot=1 AND status<>'queued') WHERE id=? AND token=?`, now, run, token)
		return err
	})
}

// Expire implements Store.
func (s *SQLite) Expire(ctx context.Context, holder string, now int64) (int, error) {
	var n int64
	err := s.do(ctx, func(w *writer) (err error) {
		n, err = w.exec(`UPDATE run SET lease_until=? WHERE holder=? AND lease_until>?`, now, holder, now)
		return err
	})
	return int(n), err
}

// Leave implements Store.
func (s *SQLite) Leave(ctx context.Context, run, id string, ev flow.Event, now int64) error {
	b, err := flow.EncodeSignal(ev)
	if err != nil {
		return err
	}
	by, key := flow.KeyOf(ev)
	return s.do(ctx, func(w *writer) error {
		found, err := w.row(`SELECT 1 FROM run WHERE id=?`, []any{run}, new(int64))
		if err == nil && !found {
			err = refusal{ErrNotFound}
		}
		if err != nil {
			return err
		}
		_, err = w.exec(`INSERT INTO signal(run, id, input, at) SELECT ?1,?2,?5,?6 WHERE ?3='' OR NOT EXISTS (SELECT 1 FROM run r WHERE r.id=?1 AND EXISTS (SELECT 1`+
			takenFrom+`)) ON CONFLICT DO NOTHING`, run, id, key, by, string(b), now)
		return err
	})
}

// Drop implements Store.
func (s *SQLite) Drop(ctx context.Context, run, id string) (bool, error) {
	var n int64
	err := s.do(ctx, func(w *writer) (err error) {
		n, err = w.exec(`DELETE FROM signal WHERE run=? AND id=?`, run, id)
		return err
	})
	return n > 0, err
}

// Deliver implements Store.
func (s *SQLite) Deliver(ctx context.Context, note, session string, token, now int64) error {
	return s.do(ctx, func(w *writer) error {
		n, err := w.exec(`UPDATE outbox SET delivered_at=? WHERE id=? AND session=? AND delivered_at IS NULL
			AND EXISTS (SELECT 1 FROM session WHERE id=outbox.session AND token=?)`, now, note, session, token)
		if err != nil || n > 0 {
			return err
		}
		marked, err := w.row(`SELECT 1 FROM outbox WHERE id=? AND session=? AND delivered_at IS NOT NULL`, []any{note, session}, new(int64))
		switch {
		case err != nil:
			return err
		case marked:
			return refusal{ErrDelivered}
		}
		return refusal{ErrFenced}
	})
}

// Own implements Store.
func (s *SQLite) Own(ctx context.Context, session string, token int64) error {
	return s.do(ctx, func(w *writer) error {
		n, err := w.exec(`INSERT INTO session(id, token) VALUES(?,?) ON CONFLICT(id) DO UPDATE SET token=excluded.token WHERE session.token<=excluded.token`,
			session, token)
		if err == nil && n == 0 {
			return refusal{ErrFenced}
		}
		return err
	})
}
