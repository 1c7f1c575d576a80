package cli

import (
	"bufio"
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// asks is told whether a step waits for the user. On a terminal the words are
// asked for here; elsewhere nobody can speak, and the run is parked.
func (r *flowing) asks(_, attempt string, waiting bool) {
	r.talk.Lock()
	defer r.talk.Unlock()
	if r.hush != nil {
		r.hush()
		r.hush = nil
	}
	if !waiting {
		return
	}
	l, question := r.yielded(attempt)
	if l == nil || r.out.json || !r.app.interactive() {
		r.mute(l)
		return
	}
	var ctx context.Context
	ctx, r.hush = context.WithCancel(r.ctx)
	go func() { // ends with the answer, or at the latest with the process: reading a terminal can't be cancelled
		if err := r.converse(ctx, l, question); err != nil && ctx.Err() == nil {
			if !errors.Is(err, errNoAnswer) {
				r.out.notice("%v", err)
			}
			r.mute(l)
		}
	}()
}

// mute parks the run, whose step waits for words that nobody can say here.
func (r *flowing) mute(l *host.Live) {
	if l != nil {
		r.askedIn.Store(&l.ID)
	}
	r.waits.Store(true)
	r.stop()
}

// yielded finds the session here in which an attempt waits for the user, and
// what it asks.
func (r *flowing) yielded(attempt string) (l *host.Live, question string) {
	for _, id := range r.proc.sessions.IDs() {
		here := r.proc.sessions.Get(id)
		if here == nil {
			continue
		}
		waits := false
		err := here.View(func(s *session.State) {
			waits = s.Attempt(attempt).Waits
			if last := s.Result(); waits && last != nil && last.Yield != nil {
				question = last.Yield.Text
			}
		})
		if err == nil && waits {
			return here, question
		}
	}
	return nil, ""
}

// converse asks for the person's words and says them in the session.
func (r *flowing) converse(ctx context.Context, l *host.Live, question string) error {
	r.out.yield(question)
	r.out.still()
	defer r.out.again()
	for {
		r.out.prompted(true)
		text, err := r.words(ctx)
		if err != nil {
			return err
		}
		if text = strings.ToValidUTF8(text, "\uFFFD"); strings.TrimSpace(text) == "" {
			continue
		}
		reply, err := l.Send(ctx, session.Arrives{Arrive: transcript.Arrive{AID: uuid.NewString(), Class: transcript.ClassPrompt, Human: true, Text: text}})
		if err == nil && reply.Err != nil {
			err = reply.Err
		}
		return err
	}
}

// words reads a line. One that was asked for before and isn't wanted any more
// is still read first.
func (r *flowing) words(ctx context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	c := make(chan result, 1)
	go func() {
		text, err := askLine(r.input(), r.out.stderr, "  > ")
		r.reading.Unlock()
		c <- result{text, err}
	}()
	select {
	case got := <-c:
		return got.text, got.err
	case <-ctx.Done():
		r.out.prompted(false)
		return "", errNoAnswer
	}
}

// input is what reads the terminal, for one reader at a time: r.reading is
// locked.
func (r *flowing) input() *bufio.Reader {
	r.reading.Lock()
	if r.in == nil {
		r.in = bufio.NewReader(r.app.stdin)
	}
	return r.in
}
