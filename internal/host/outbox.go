package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
)

// Inbox is the way into a live session; *agent.Agent is one. What Send has
// answered is on disk.
type Inbox interface {
	Send(ctx context.Context, ev session.Event) (session.Reply, error)
}

// Outbox delivers what runs tell the sessions that are live in this process.
//
// A row is sent under its own id, then marked under the session's lease token.
// After a crash in between it is sent again, and the session knows it. A
// session that another process has taken refuses the mark; that process
// delivers the row. A presentation that came too late (a person has spoken, or
// the session has a newer run) is marked without being sent.
//
// One delivery goes on at a time, in the order of the rows. A session that
// can't take a row now gets the later ones later, too. A row that can't be read
// or that the session refuses keeps the others from nothing. What couldn't be
// delivered is tried again, and told once a row.
//
// Rows are looked for when this process has committed one, when a session
// opens, and every Poll for those of other processes.
type Outbox struct {
	Poll time.Duration // PollOutbox, unless it is changed before Run

	store   store.Store
	trouble func(session string, err error)
	wake    chan struct{}   // holds a value while a session is due
	turn    chan struct{}   // holds a value while somebody delivers
	told    map[string]bool // rows whose trouble was told; of who delivers

	mu   sync.Mutex
	live map[string]box
	due  map[string]bool
}

// box is a live session with the token under which it is ours.
type box struct {
	token int64
	inbox Inbox
}

// PollOutbox is how often rows of other processes are looked for.
const PollOutbox = 2 * time.Second

// sendWait bounds how long one session may keep the others waiting.
const sendWait = 10 * time.Second

// NewOutbox makes an outbox without sessions. trouble is told what couldn't be
// delivered and will be tried again; nil: nobody listens.
func NewOutbox(s store.Store, trouble func(session string, err error)) *Outbox {
	return &Outbox{Poll: PollOutbox, store: s, trouble: trouble, wake: make(chan struct{}, 1), turn: make(chan struct{}, 1), told: map[string]bool{}, live: map[string]box{}, due: map[string]bool{}}
}

// Open says that a session is live here. The database knows its token already
// (store.Own).
func (o *Outbox) Open(id string, token int64, in Inbox) {
	o.mu.Lock()
	o.live[id] = box{token, in}
	o.mu.Unlock()
	o.Wake(id)
}

// Close says that a session is no longer live here under this token.
func (o *Outbox) Close(id string, token int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live[id].token == token {
		delete(o.live, id)
	}
}

// Wake says that a session may have something to be told. It may be called of
// any session, and of a nil outbox.
func (o *Outbox) Wake(id string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	_, here := o.live[id]
	if here {
		o.due[id] = true
	}
	o.mu.Unlock()
	if !here {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run delivers until its context ends.
func (o *Outbox) Run(ctx context.Context) {
	poll := time.NewTicker(o.Poll)
	defer poll.Stop()
	for {
		var ids []string
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
			ids = o.take(false)
		case <-poll.C:
			ids = o.take(true)
		}
		for _, id := range ids {
			err := o.mail(ctx, id, func(row string) bool {
				known := o.told[row]
				o.told[row] = true
				return !known
			})
			if err != nil && ctx.Err() == nil && o.trouble != nil {
				o.trouble(id, err)
			}
		}
	}
}

// take returns the sessions that are due, or all.
func (o *Outbox) take(all bool) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	ids := slices.Sorted(maps.Keys(o.due))
	if all {
		ids = slices.Sorted(maps.Keys(o.live))
	}
	clear(o.due)
	return ids
}

// Deliver delivers what a session is to be told now. Of a session that isn't
// live here it does nothing.
func (o *Outbox) Deliver(ctx context.Context, id string) error {
	return o.mail(ctx, id, func(string) bool { return true })
}

// mail is Deliver; of a row that fails it returns the error if it is worth it.
func (o *Outbox) mail(ctx context.Context, id string, worth func(row string) bool) error {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return fmt.Errorf("outbox of session %s: %w", id, context.Cause(ctx))
	}
	o.mu.Lock()
	b, here := o.live[id]
	o.mu.Unlock()
	if !here {
		return nil
	}
	notes, err := o.store.Outbox(ctx, id)
	if err != nil {
		if worth(id) {
			return fmt.Errorf("outbox of session %s: %w", id, err)
		}
		return nil
	}
	delete(o.told, id)
	var errs []error
	for _, n := range notes {
		err := b.deliver(ctx, n)
		if err == nil {
			err = o.store.Deliver(ctx, n.ID, id, b.token, time.Now().UnixMilli())
		}
		switch {
		case err == nil, errors.Is(err, store.ErrDelivered):
			delete(o.told, n.ID)
			continue
		case errors.Is(err, store.ErrFenced):
			return errors.Join(errs...) // another process has the session
		}
		if worth(n.ID) {
			errs = append(errs, fmt.Errorf("outbox of session %s: %s: %w", id, n.ID, err))
		}
		if !errors.Is(err, errRow) {
			break // the later ones come after it
		}
	}
	return errors.Join(errs...)
}

// errRow: it is the row's fault that it can't be delivered.
var errRow = errors.New("the row can't be delivered")

// deliver sends a row, unless it came too late. Nil: it may be marked.
func (b box) deliver(ctx context.Context, n store.Note) error {
	if n.Newer {
		return nil
	}
	ev, err := Told(n)
	if err != nil {
		return fmt.Errorf("%w: %w", errRow, err)
	}
	ctx, stop := context.WithTimeout(ctx, sendWait)
	defer stop()
	reply, err := b.inbox.Send(ctx, ev)
	if err == nil && reply.Err != nil && reply.Err.Code != session.RefusedSuperseded {
		err = fmt.Errorf("%w: %w", errRow, reply.Err)
	}
	return err
}

// Told is what a session is told of a row.
func Told(n store.Note) (session.Tells, error) {
	ev := session.Tells{ID: n.ID, Run: n.Run, Workflow: n.Workflow, Text: n.Body}
	switch n.Kind {
	case flow.NoticeText:
		ev.Kind, ev.Node = session.WorkflowNote, n.Node()
	case flow.NoticeTurn:
		ev.Kind = session.BackgroundResult
		ev.Text = fmt.Sprintf("Workflow %s, run %s.\n\n%s", n.Workflow, n.Run, n.Body)
	case flow.NoticePresent:
		words, err := flow.ReadWords(n.Body)
		if err != nil {
			return ev, err
		}
		ev.Kind, ev.Say, ev.Text, ev.Since = session.WorkflowResult, words.Text, words.Result, time.UnixMilli(n.Created)
	default:
		return ev, fmt.Errorf("a row of the kind %q, which this version doesn't know", n.Kind)
	}
	return ev, nil
}

// told tells who waits for it what a commit has led to: the delivery, of rows
// for the session; and a submission, that another step is open.
func (h *Runs) told(c *flow.Commit) {
	if x, ok := h.Steps.(*Steps); ok {
		open := ""
		if c.Next.Open != nil {
			open = c.Next.Open.ID
		}
		x.moved(c.Next.ID, open)
	}
	if c.Next.Session != "" && slices.ContainsFunc(c.Facts, func(f flow.Fact) bool { return f.Notice != "" }) {
		h.Outbox.Wake(c.Next.Session)
	}
}
