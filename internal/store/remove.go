package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
)

// Why a run isn't removed.
var (
	// ErrOpen: the run hasn't ended, or somebody still has its claim.
	ErrOpen = errors.New("it hasn't ended")
	// ErrUntold: its session wasn't told everything of it yet.
	ErrUntold = errors.New("its session wasn't told all of it yet")
)

// Removable implements Store.
func (s *SQLite) Removable(ctx context.Context, run string, untold bool, now int64) error {
	var status string
	var lease, notes int64
	err := s.reads.QueryRowContext(ctx, removal, run).Scan(&status, &lease, &notes)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return explain(err)
	}
	return removable(status, lease, notes, untold, now)
}

// removal selects what decides whether a run may go.
const removal = `SELECT status, lease_until, (SELECT count(*) FROM outbox WHERE run=?1 AND delivered_at IS NULL) FROM run WHERE id=?1`

func removable(status string, lease, notes int64, untold bool, now int64) error {
	switch {
	case !flow.Status(status).Ended() || lease > now:
		return ErrOpen
	case notes > 0 && !untold:
		return ErrUntold
	}
	return nil
}

// Remove implements Store.
func (s *SQLite) Remove(ctx context.Context, run string, untold bool, now int64) error {
	return s.do(ctx, func(w *writer) error {
		var status string
		var lease, notes int64
		found, err := w.row(removal, []any{run}, &status, &lease, &notes)
		switch {
		case err != nil:
			return err
		case !found:
			return refusal{ErrNotFound}
		}
		if err := removable(status, lease, notes, untold, now); err != nil {
			return refusal{err}
		}
		var definition string
		if _, err := w.row(`SELECT definition FROM run WHERE id=?`, []any{run}, &definition); err != nil {
			return err
		}
		if _, err := w.exec(`DELETE FROM delivery WHERE decision IN (SELECT id FROM decision WHERE run=?)`, run); err != nil {
			return err
		}
		for _, table := range []string{"event", "node", "mount", "decision", "outbox", "signal", "progress"} {
			if _, err := w.exec(`DELETE FROM `+table+` WHERE run=?`, run); err != nil {
				return fmt.Errorf("its rows of %s: %w", table, err)
			}
		}
		if _, err := w.exec(`DELETE FROM run WHERE id=?`, run); err != nil {
			return err
		}
		_, err = w.exec(`DELETE FROM definition WHERE digest=?1 AND NOT EXISTS (SELECT 1 FROM run WHERE definition=?1)`, definition)
		return err
	})
}
