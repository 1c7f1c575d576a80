package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// batchSize is how many writes one transaction takes at most.
const batchSize = 64

// job is a write that waits for its transaction.
type job struct {
	do   func(*writer) error
	done chan error // gets one value
}

// run carries the write out. A panic is its outcome: whoever writes for all
// goes on, and its own caller gets it.
func (j *job) run(w *writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
	}()
	return j.do(w)
}

// panicked is what a write panicked with.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// refusal is an outcome that wrote nothing: it doesn't spoil its transaction.
type refusal struct{ err error }

func (r refusal) Error() string { return r.err.Error() }
func (r refusal) Unwrap() error { return r.err }

// writer is the one connection that writes, with its statements. It is used by
// whoever has taken it from the store.
type writer struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	files *files
}

func newWriter(ctx context.Context, db *sql.DB, path string) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{conn, map[string]*sql.Stmt{}, newFiles(path)}
	return w, w.files.there(time.Now())
}

// stmt prepares a statement once. They aren't bound to a context: a
// transaction that has begun is finished.
func (w *writer) stmt(q string) (*sql.Stmt, error) {
	if s := w.stmts[q]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), q)
	if err != nil {
		return nil, fmt.Errorf("statement %.60q: %w", q, explain(err))
	}
	w.stmts[q] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(q string, args ...any) (int64, error) {
	s, err := w.stmt(q)
	if err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, explain(err)
	}
	return res.RowsAffected()
}

// row runs a statement that returns one row at most; false: it returned none.
func (w *writer) row(q string, args []any, into ...any) (bool, error) {
	s, err := w.stmt(q)
	if err != nil {
		return false, err
	}
	err = s.QueryRow(args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, explain(err)
}

// errClosed: the database isn't open any more.
var errClosed = errors.New("the database is closed")

// do has a write carried out and waits for its end. Whoever finds the writer
// free carries out all writes that wait, its own among them: a write that is
// alone costs no change of goroutine.
func (s *SQLite) do(ctx context.Context, f func(*writer) error) error {
	if s.readOnly {
		return fmt.Errorf("database %s: it was opened to be read only", s.path)
	}
	j := &job{f, make(chan error, 1)}
	select {
	case <-s.closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	case s.work <- j:
	}
	for {
		select {
		case err := <-j.done:
			return outcome(err)
		case w := <-s.writer:
			w.run(s.waiting())
			s.writer <- w
		case <-s.closed:
			select {
			case err := <-j.done: // it came first
				return outcome(err)
			default:
				return errClosed
			}
		}
	}
}

// outcome is what a write's caller gets to see.
func outcome(err error) error {
	if p := (panicked{}); errors.As(err, &p) {
		panic(p.value)
	}
	var r refusal
	if errors.As(err, &r) {
		return r.err
	}
	return err
}

// waiting takes the writes that wait, as many as fit into one transaction.
func (s *SQLite) waiting() (batch []*job) {
	for len(batch) < batchSize {
		select {
		case j := <-s.work:
			batch = append(batch, j)
			continue
		default:
		}
		break
	}
	return batch
}

// run carries out a batch in one transaction; if that fails, each write in its
// own.
func (w *writer) run(batch []*job) {
	if len(batch) == 0 {
		return
	}
	outcomes, err := w.transaction(batch)
	if err == nil {
		for i, j := range batch {
			j.done <- outcomes[i]
		}
		return
	}
	var none noTransaction
	if len(batch) == 1 || errors.As(err, &none) {
		for _, j := range batch { // each would wait as long again
			j.done <- err
		}
		return
	}
	for _, j := range batch {
		w.run([]*job{j})
	}
}

// noTransaction: no write was tried.
type noTransaction struct{ err error }

func (n noTransaction) Error() string { return n.err.Error() }
func (n noTransaction) Unwrap() error { return n.err }

// transaction returns how each write ended, or why none of them counts.
func (w *writer) transaction(batch []*job) ([]error, error) {
	if err := w.files.there(time.Now()); err != nil {
		return nil, noTransaction{err}
	}
	crashpoint.Here("store.before-begin")
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, noTransaction{err}
	}
	outcomes := make([]error, len(batch))
	for i, j := range batch {
		err := j.run(w)
		var r refusal
		if err != nil && !errors.As(err, &r) {
			w.exec("ROLLBACK")
			return nil, err
		}
		outcomes[i] = err
	}
	crashpoint.Here("store.before-commit")
	if _, err := w.exec("COMMIT"); err != nil {
		w.exec("ROLLBACK")
		return nil, err
	}
	crashpoint.Here("store.after-commit")
	return outcomes, nil
}
