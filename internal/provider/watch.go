package provider

import (
	"context"
	"fmt"
	"io"
	"time"
)

// How long to wait for what may still come behind a whole answer: usage and
// "[DONE]" after a finish_reason, and the end of the response, which lets the
// connection be used again.
const (
	tailWait  = 2 * time.Second
	drainWait = 25 * time.Millisecond
	drainMax  = 16 << 10 // bytes
)

// deadline is the cause of a context that one of our deadlines ended.
type deadline struct {
	code  string
	what  string
	after time.Duration
}

func (d *deadline) Error() string { return fmt.Sprintf("%s within %s", d.what, d.after) }

// watch is the context of one attempt, with its deadlines.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	total  *time.Timer
	step   *time.Timer // header, later idle
	idle   time.Duration
}

func startWatch(parent context.Context, t Timeouts) *watch {
	w := &watch{idle: t.Idle}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.total = w.after(t.Total, "total_timeout", "the answer wasn't whole")
	w.step = w.after(t.Header, "header_timeout", "no response header came")
	return w
}

func (w *watch) after(d time.Duration, code, what string) *time.Timer {
	return time.AfterFunc(d, func() { w.cancel(&deadline{code, what, d}) })
}

// headerCame ends the wait for the header; from now on reads are watched.
func (w *watch) headerCame() {
	w.step.Stop()
	w.step = w.after(w.idle, "idle_timeout", "no byte of the answer came")
	w.step.Stop()
}

// stop ends the attempt and frees what belongs to it.
func (w *watch) stop() {
	w.total.Stop()
	w.step.Stop()
	w.cancel(nil)
}

// expired returns the deadline that ended the attempt, or nil.
func (w *watch) expired() *deadline {
	d, _ := context.Cause(w.ctx).(*deadline)
	return d
}

// shorten lowers the idle deadline of the reads to come.
func (w *watch) shorten(d time.Duration) { w.idle = min(w.idle, d) }

// reader watches the reads of body. Only the wait for bytes counts as idle,
// not the time that their reader needs between two reads.
func (w *watch) reader(body io.Reader) io.Reader { return &watched{w, body} }

type watched struct {
	w    *watch
	body io.Reader
}

func (r *watched) Read(p []byte) (int, error) {
	r.w.step.Reset(r.w.idle)
	n, err := r.body.Read(p)
	r.w.step.Stop()
	return n, err
}

// drain reads the end of a response whose answer is whole.
func (w *watch) drain(body io.Reader) {
	w.shorten(drainWait)
	// Whatever comes changes nothing any more.
	_, _ = io.Copy(io.Discard, io.LimitReader(w.reader(body), drainMax))
}
