package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// follower prints a session's entries as they come. The log on disk is what
// counts: an event of the owner only says that there is more to read, since
// an entry is on disk before its event is sent. So nothing is missed or shown
// twice, however owners come and go.
type follower struct {
	home    *disk.Home
	id      string
	print   func(transcript.Entry) error
	until   bool // end when the session is settled
	last    int  // number of the newest entry that was printed
	settled bool // no run is left
}

// How long a follower waits before it looks again whether there is an owner,
// and before it comes back to one that ended the connection.
const (
	lookAgain = time.Second
	comeBack  = 200 * time.Millisecond
)

// untilSignal shows and follows until a signal ends it. Signals are caught
// before anything is printed, so that who sees a line can end it in order; the
// next signal ends the process at once, also if nobody reads what is printed.
func (c sessionShow) untilSignal(a *app) error {
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	a.ctx = ctx
	err := c.show(a)
	if ctx.Err() != nil {
		a.code = exitInterrupt
		return nil
	}
	return err
}

// follow prints what happens behind the log until the context ends.
func (c sessionShow) follow(a *app, home *disk.Home, log *disk.Log, print func(transcript.Entry) error) error {
	f := &follower{home: home, id: log.ID, print: print, until: c.Until == "settled"}
	for _, e := range log.Entries {
		f.note(e)
	}
	return f.run(a.ctx)
}

// note follows how the session stands.
func (f *follower) note(e transcript.Entry) {
	f.last = e.ID.Seq
	switch b := e.Body.(type) {
	case *transcript.Settled:
		f.settled = !b.More
	case *transcript.Deliver, *transcript.Resume:
		f.settled = false
	}
}

// over reports whether it is time to end.
func (f *follower) over() bool { return f.until && f.settled }

// run returns when it is over, when ctx ends, or when it can't go on.
func (f *follower) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := f.catchUp(); err != nil || f.over() {
			return err
		}
		pause := comeBack
		client, err := owner.Dial(f.home.Dir(), f.id)
		switch {
		case err == nil:
			err = f.attach(ctx, client)
		case errors.Is(err, owner.ErrNotLive):
			pause, err = lookAgain, nil
		}
		if err != nil || f.over() {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// attach reads as often as the owner tells that there is more. An owner who
// leaves is no error.
func (f *follower) attach(ctx context.Context, client *owner.Client) error {
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	state, err := client.State(asking)
	if errors.Is(err, owner.ErrNotLive) || errors.Is(err, owner.ErrNoAnswer) || ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	// Behind the state, so that each entry that isn't read here has its event.
	if err := f.catchUp(); err != nil || f.over() {
		return err
	}
	for event, err := range client.Events(ctx, state.At) {
		if err != nil {
			var end *owner.StreamEnd
			if errors.As(err, &end) || errors.Is(err, owner.ErrNotLive) || errors.Is(err, owner.ErrNoAnswer) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		id, bad := transcript.ParseID(event.Entry)
		if event.Resync == nil && bad == nil && id.Seq <= f.last {
			continue
		}
		if err := f.catchUp(); err != nil || f.over() {
			return err
		}
	}
	return nil
}

// catchUp prints the entries behind the last one.
func (f *follower) catchUp() error {
	for n := 64; ; n *= 8 {
		log, err := f.home.Tail(f.id, n)
		if err != nil {
			return err
		}
		if len(log.Entries) == n && log.Entries[0].ID.Seq > f.last+1 {
			continue
		}
		for _, e := range log.Entries {
			if e.ID.Seq <= f.last {
				continue
			}
			if err := f.print(e); err != nil {
				return err
			}
			f.note(e)
			if f.over() {
				return nil
			}
		}
		return nil
	}
}
