package cli

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"
)

// queue writes to the world in a goroutine of its own, in order, so that a
// reader who is slow, or has stopped reading, never holds up the session or a
// signal. What must be told waits without a bound; what is provisional is
// left out while more than behindBytes wait.
type queue struct {
	wake   chan struct{} // has room for one
	done   chan struct{} // closed when all is written after close
	broken chan struct{} // closed at the first failure that ends the run

	mu     sync.Mutex
	pieces []piece
	bytes  int // waiting
	closed bool
	lost   bool // broken is closed
}

// piece is bytes for a writer.
type piece struct {
	to *outlet
	b  []byte
}

// outlet is a writer whose bytes go through a queue. Writing to it never
// fails and never waits; after the first failure the rest is dropped.
type outlet struct {
	q     *queue
	w     io.Writer
	vital bool  // a failure ends the run; else only a reader that has gone does
	err   error // the first failure; q.mu guards it
}

// behindBytes is how much may wait before provisional output is left out.
const behindBytes = 1 << 20

func newQueue() *queue {
	q := &queue{wake: make(chan struct{}, 1), done: make(chan struct{}), broken: make(chan struct{})}
	go q.run()
	return q
}

// outlet returns a writer of the queue.
func (q *queue) outlet(w io.Writer, vital bool) *outlet { return &outlet{q: q, w: w, vital: vital} }

// Write queues a copy of b.
func (o *outlet) Write(b []byte) (int, error) {
	o.q.put(piece{o, bytes.Clone(b)}, false)
	return len(b), nil
}

// put queues b, which it keeps.
func (o *outlet) put(b []byte) bool { return o.q.put(piece{o, b}, false) }

// offer queues b, which it keeps, unless too much waits already, and reports whether it did.
func (o *outlet) offer(b []byte) bool { return o.q.put(piece{o, b}, true) }

// failure is the first one, nil if there was none.
func (o *outlet) failure() error {
	o.q.mu.Lock()
	defer o.q.mu.Unlock()
	return o.err
}

func (q *queue) put(p piece, provisional bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || p.to.err != nil || provisional && q.bytes > behindBytes {
		return false
	}
	q.pieces, q.bytes = append(q.pieces, p), q.bytes+len(p.b)
	q.ring()
	return true
}

// ring wakes the writer; a wake that waits already is enough.
func (q *queue) ring() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run is the writer's goroutine.
func (q *queue) run() {
	defer close(q.done)
	for range q.wake {
		for {
			batch, closed := q.take()
			if len(batch) == 0 && closed {
				return
			}
			if len(batch) == 0 {
				break
			}
			for _, p := range batch {
				q.write(p)
			}
		}
	}
}

func (q *queue) take() ([]piece, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.pieces
	q.pieces = nil
	return batch, q.closed
}

func (q *queue) write(p piece) {
	if p.to.failure() != nil {
		return
	}
	_, err := p.to.w.Write(p.b)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= len(p.b)
	if err == nil {
		return
	}
	p.to.err = err
	if (p.to.vital || errors.Is(err, syscall.EPIPE)) && !q.lost {
		q.lost = true
		close(q.broken)
	}
}

// close waits until all is written, at most limit (0: as long as it takes),
// and reports whether it is. Nothing is taken afterwards.
func (q *queue) close(limit time.Duration) bool {
	q.mu.Lock()
	q.closed = true
	q.ring()
	q.mu.Unlock()
	var late <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-q.done:
		return true
	case <-late:
		return false
	}
}
