package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

const infoColumns = `r.id, d.name, r.title, coalesce(r.session,''), r.workspace, r.status, r.reason, r.message, coalesce(r.open,''), r.seq, r.steps,
	coalesce(r.wake_at,0), coalesce(r.holder,''), r.lease_until, r.created_at, r.updated_at, r.definition,
	coalesce((SELECT o.id FROM run o WHERE r.status='queued' AND r.slot=0 AND o.session=r.session AND o.slot=1), '')`

const infoFrom = ` FROM run r JOIN definition d ON d.digest=r.definition`

func (i *Info) columns(open *string) []any {
	return []any{&i.ID, &i.Workflow, &i.Title, &i.Session, &i.Workspace, &i.Status, &i.Reason, &i.Message, open, &i.Seq, &i.Steps,
		&i.Wake, &i.Holder, &i.LeaseUntil, &i.Created, &i.Updated, &i.Definition, &i.Behind}
}

// Load implements Store.
func (s *SQLite) Load(ctx context.Context, id string) (*flow.Run, Info, error) {
	tx, err := s.reads.BeginTx(ctx, nil) // one view of all tables
	if err != nil {
		return nil, Info{}, explain(err)
	}
	defer tx.Rollback()
	r := &flow.Run{Nodes: map[string]flow.Visit{}, Mounts: map[string]flow.Inside{}, News: map[string]flow.News{}}
	var i Info
	var open string
	var pause, presented int64
	into := append(i.columns(&open), &r.Attempts, &r.Next, &r.Tries, &pause, &r.Turn, &presented, &r.Result, &r.Tokens, &r.TokensAt)
	err = tx.QueryRowContext(ctx, `SELECT `+infoColumns+`, r.attempts, r.next, r.tries, r.pause, r.turn, r.presented, r.result, r.tokens, r.tokens_at`+
		infoFrom+` WHERE r.id=?`, id).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, i, ErrNotFound
	}
	if err != nil {
		return nil, i, fmt.Errorf("run %s: %w", id, explain(err))
	}
	r.ID, r.Session, r.Status, r.Reason, r.Message, r.Title, r.Seq, r.Steps, r.Wake = i.ID, i.Session, i.Status, i.Reason, i.Message, i.Title, i.Seq, i.Steps, i.Wake
	r.Pause, r.Presented = pause != 0, presented != 0
	if open != "" {
		r.Open = &flow.Attempt{}
		if err := json.Unmarshal([]byte(open), r.Open); err != nil {
			return nil, i, fmt.Errorf("run %s: open attempt: %w", id, err)
		}
		i.Node, i.Waits = r.Open.Node, r.Open.Waits
	}
	for _, read := range []func(context.Context, *sql.Tx, *flow.Run) error{readNodes, readMounts, readNews} {
		if err := read(ctx, tx, r); err != nil {
			return nil, i, fmt.Errorf("run %s: %w", id, explain(err))
		}
	}
	return r, i, nil
}

// each runs a query and calls f for each row.
func each(ctx context.Context, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args []any, f func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return explain(rows.Err())
}

func readNodes(ctx context.Context, tx *sql.Tx, r *flow.Run) error {
	return each(ctx, tx, `SELECT node, attempt, outcome, code, message, seq, notified FROM node WHERE run=?`, []any{r.ID}, func(rows *sql.Rows) error {
		var id string
		var v flow.Visit
		err := rows.Scan(&id, &v.Attempt, &v.Outcome, &v.Code, &v.Message, &v.Seq, &v.Notified)
		r.Nodes[id] = v
		return err
	})
}

func readMounts(ctx context.Context, tx *sql.Tx, r *flow.Run) error {
	return each(ctx, tx, `SELECT mount, invocation, steps, since FROM mount WHERE run=?`, []any{r.ID}, func(rows *sql.Rows) error {
		var path string
		var m flow.Inside
		err := rows.Scan(&path, &m.Invocation, &m.Steps, &m.Since)
		r.Mounts[path] = m
		return err
	})
}

func readNews(ctx context.Context, tx *sql.Tx, r *flow.Run) error {
	return each(ctx, tx, `SELECT type, key, seq, data, estimate, history FROM progress WHERE run=?`, []any{r.ID}, func(rows *sql.Rows) error {
		var n flow.News
		var data, history string
		var estimate sql.NullString
		if err := rows.Scan(&n.Type, &n.Key, &n.Seq, &data, &estimate, &history); err != nil {
			return err
		}
		n.Data = workflow.JSON(data)
		if estimate.Valid {
			n.Estimate = workflow.JSON(estimate.String)
		}
		r.News[flow.NewsKey(n.Type, n.Key)] = n
		return json.Unmarshal([]byte(history), &n.History)
	})
}

// one reads one row.
func (s *SQLite) one(ctx context.Context, q string, args []any, into ...any) error {
	err := s.reads.QueryRowContext(ctx, q, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return explain(err)
}

// Output implements Store.
func (s *SQLite) Output(ctx context.Context, run string, seq int64) (workflow.JSON, error) {
	var out sql.NullString
	if err := s.one(ctx, `SELECT output FROM event WHERE run=? AND seq=?`, []any{run, seq}, &out); err != nil {
		return nil, err
	}
	if !out.Valid {
		return nil, ErrNotFound
	}
	return workflow.JSON(out.String), nil
}

// Given implements Store.
func (s *SQLite) Given(ctx context.Context, run string) (workflow.JSON, error) {
	var in string
	err := s.one(ctx, `SELECT input FROM run WHERE id=?`, []any{run}, &in)
	return workflow.JSON(in), err
}

// Log implements Store.
func (s *SQLite) Log(ctx context.Context, run string, after int64, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = -1
	}
	var out []Event
	err := each(ctx, s.reads, `SELECT seq, at, token, facts, output, receipt FROM event WHERE run=? AND seq>? ORDER BY seq LIMIT ?`,
		[]any{run, after, limit}, func(rows *sql.Rows) error {
			var e Event
			var facts string
			var output, receipt sql.NullString
			if err := rows.Scan(&e.Seq, &e.At, &e.Token, &facts, &output, &receipt); err != nil {
				return err
			}
			if output.Valid {
				e.Output = workflow.JSON(output.String)
			}
			if receipt.Valid {
				e.Receipt = workflow.JSON(receipt.String)
			}
			if err := json.Unmarshal([]byte(facts), &e.Facts); err != nil {
				return fmt.Errorf("run %s: commit %d: %w", run, e.Seq, err)
			}
			out = append(out, e)
			return nil
		})
	return out, err
}

// Runs implements Store.
func (s *SQLite) Runs(ctx context.Context, limit int) ([]Info, error) {
	if limit <= 0 {
		limit = -1
	}
	return s.infos(ctx, ` ORDER BY r.created_at DESC, r.id DESC LIMIT ?`, limit)
}

// Select implements Store.
func (s *SQLite) Select(ctx context.Context, w Which) ([]Info, error) {
	return s.infos(ctx, ` WHERE (?1='' OR r.session=?1) AND (?2=0 OR r.status NOT IN ('completed','failed','timed_out','cancelled'))
		ORDER BY r.created_at DESC, r.id DESC`, w.Session, bit(w.Open))
}

// infos reads what lists show, of the runs that a clause names.
func (s *SQLite) infos(ctx context.Context, clause string, args ...any) ([]Info, error) {
	var out []Info
	err := each(ctx, s.reads, `SELECT `+infoColumns+infoFrom+clause, args, func(rows *sql.Rows) error {
		var i Info
		var open string
		if err := rows.Scan(i.columns(&open)...); err != nil {
			return err
		}
		var a flow.Attempt
		if open != "" && json.Unmarshal([]byte(open), &a) == nil {
			i.Node, i.Waits = a.Node, a.Waits
		}
		out = append(out, i)
		return nil
	})
	return out, err
}

// takenFrom finds the event that a run has taken under a key.
const takenFrom = ` FROM event e, json_each(e.facts) f WHERE e.run=r.id AND f.value->>'key'=?3 AND f.value->>'by'=?4`

// Taken implements Store.
func (s *SQLite) Taken(ctx context.Context, k Key) (string, error) {
	var run string
	err := s.one(ctx, `SELECT r.id FROM run r WHERE (?1='' OR r.id=?1) AND (?2='' OR r.session=?2) AND EXISTS (SELECT 1`+takenFrom+`) LIMIT 1`,
		[]any{k.Run, k.Session, k.Key, k.By}, &run)
	return run, err
}

// Answered implements Store.
func (s *SQLite) Answered(ctx context.Context, run, key string) (string, error) {
	var id string
	err := s.one(ctx, `SELECT id FROM decision WHERE run=? AND by IS NOT NULL ORDER BY key=? DESC, at DESC, id DESC LIMIT 1`, []any{run, key}, &id)
	return id, err
}

// strings reads a column of texts.
func (s *SQLite) strings(ctx context.Context, q string, args ...any) ([]string, error) {
	var out []string
	err := each(ctx, s.reads, q, args, func(rows *sql.Rows) error {
		var v string
		err := rows.Scan(&v)
		out = append(out, v)
		return err
	})
	return out, err
}

// Find implements Store.
func (s *SQLite) Find(ctx context.Context, text string) ([]string, error) {
	return s.strings(ctx, `SELECT id FROM run WHERE substr(id, 1, length(?1))=?1 OR substr(id, -length(?1))=?1 ORDER BY created_at DESC`, text)
}

// Holders implements Store.
func (s *SQLite) Holders(ctx context.Context, now int64) ([]string, error) {
	return s.strings(ctx, `SELECT DISTINCT holder FROM run WHERE holder IS NOT NULL AND lease_until>?`, now)
}

// Due implements Store.
func (s *SQLite) Due(ctx context.Context, now int64, limit int) ([]string, error) {
	return s.strings(ctx, `SELECT id FROM run WHERE wake_at<=? ORDER BY wake_at LIMIT ?`, now, limit)
}

// Definition implements Store.
func (s *SQLite) Definition(ctx context.Context, key string) (Definition, error) {
	d := Definition{Key: key}
	var snapshot string
	err := s.one(ctx, `SELECT name, snapshot, identity, source FROM definition WHERE digest=?`, []any{key}, &d.Name, &snapshot, &d.Identity, &d.Source)
	d.Snapshot = []byte(snapshot)
	return d, err
}

// Signals implements Store.
func (s *SQLite) Signals(ctx context.Context, run string) ([]Signal, error) {
	var out []Signal
	err := each(ctx, s.reads, `SELECT id, input, at FROM signal WHERE run=? ORDER BY at, id`, []any{run}, func(rows *sql.Rows) error {
		var sig Signal
		var input string
		if err := rows.Scan(&sig.ID, &input, &sig.At); err != nil {
			return err
		}
		ev, err := flow.DecodeSignal([]byte(input))
		if err != nil {
			return fmt.Errorf("run %s: signal %s: %w", run, sig.ID, err)
		}
		sig.Event = ev
		out = append(out, sig)
		return nil
	})
	return out, err
}

// Decision implements Store.
func (s *SQLite) Decision(ctx context.Context, id string) (Decision, error) {
	d := Decision{ID: id}
	var request string
	var expires, at sql.NullInt64
	var choice, answer, by, key sql.NullString
	err := s.one(ctx, `SELECT run, digest, request, expires_at, choice, answer, by, key, at FROM decision WHERE id=?`, []any{id},
		&d.Run, &d.Digest, &request, &expires, &choice, &answer, &by, &key, &at)
	d.Request, d.ExpiresAt, d.At = workflow.JSON(request), expires.Int64, at.Int64
	d.Answered, d.Choice, d.By, d.Key = by.Valid, choice.String, by.String, key.String
	if answer.Valid {
		d.Answer = workflow.JSON(answer.String)
	}
	return d, err
}

// Owned implements Store.
func (s *SQLite) Owned(ctx context.Context, session string) (token int64, err error) {
	err = s.one(ctx, `SELECT coalesce(max(token), 0) FROM session WHERE id=?`, []any{session}, &token)
	return token, err
}

// Outbox implements Store.
func (s *SQLite) Outbox(ctx context.Context, session string) ([]Note, error) {
	var out []Note
	err := each(ctx, s.reads, `SELECT o.id, o.run, o.session, o.kind, o.body, o.created_at, d.name,
		o.kind='present' AND EXISTS(SELECT 1 FROM run n WHERE n.session=o.session AND n.created_at>o.created_at)
		FROM outbox o JOIN run r ON r.id=o.run JOIN definition d ON d.digest=r.definition
		WHERE o.session=? AND o.delivered_at IS NULL ORDER BY o.created_at, o.id`,
		[]any{session}, func(rows *sql.Rows) error {
			var n Note
			err := rows.Scan(&n.ID, &n.Run, &n.Session, &n.Kind, &n.Body, &n.Created, &n.Workflow, &n.Newer)
			out = append(out, n)
			return err
		})
	return out, err
}
