package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/llm"
)

// Config is what a live session needs.
type Config struct {
	State    *session.State // folded from the log, its newest entry an open of this owner
	Store    Store
	Keep     Keep
	Model    llm.Model
	Settings llm.Settings
	Tools    Tools
	Wake     session.Wake // what the owner brings, before anything else happens
	Env      func(now time.Time) session.Env
	// Publish is called from the session's goroutine, in order. It must return
	// soon, and must not call Send, View or Close.
	Publish func(Published)
	// Warn is told, from the same goroutine, what went wrong without harm to
	// the session. nil: nobody is told.
	Warn func(error)
}

// Published is an update with its number. Seq counts all updates of this
// ownership from 1. Delta is set on message_update.
type Published struct {
	Seq int
	session.Update
	Delta *llm.Delta
}

// ErrClosed answers what comes after Close.
var ErrClosed = errors.New("the session is closed")

// Agent is a live session. Its methods are safe for concurrent use.
type Agent struct {
	cfg  Config
	mail chan mail
	quit chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended
	once sync.Once
	work sync.WaitGroup // effects
	err  error          // why the goroutine ended; set before done is closed

	// Owned by the session's goroutine.
	actor *Actor
	seq   int
}

// mail is an event with the way to answer it, or a function to be run in the
// session's goroutine.
type mail struct {
	event session.Event
	key   string // of the effect that ended with this event
	reply chan answer
	run   func()
}

type answer struct {
	reply session.Reply
	err   error
}

// answer tells the sender, if one waits.
func (m mail) answer(a answer) {
	if m.reply != nil {
		m.reply <- a
	}
}

// mailbox is how many events may wait for the session's goroutine.
const mailbox = 256

// Start brings the session to life and lets it do what is due.
func Start(cfg Config) *Agent {
	a := &Agent{cfg: cfg, mail: make(chan mail, mailbox), quit: make(chan struct{}), done: make(chan struct{})}
	fx := &effects{agent: a, epoch: cfg.State.Epoch, cancel: map[string]context.CancelFunc{}}
	a.actor = &Actor{State: cfg.State, Store: cfg.Store, Effects: fx, Publish: a.publish, Warn: cfg.Warn,
		Env: func() session.Env { return cfg.Env(time.Now().UTC()) }}
	a.cfg.State = nil // the actor's from now on
	go a.loop(fx)
	return a
}

// Send hands an event to the session and waits until its commit is on disk.
func (a *Agent) Send(ctx context.Context, ev session.Event) (session.Reply, error) {
	m := mail{event: ev, reply: make(chan answer, 1)}
	select {
	case a.mail <- m:
	case <-a.done:
		return session.Reply{}, a.ended()
	case <-ctx.Done():
		return session.Reply{}, ctx.Err()
	}
	select {
	case r := <-m.reply:
		return r.reply, r.err
	case <-a.done:
	}
	select { // the answer may have come with the end
	case r := <-m.reply:
		return r.reply, r.err
	default:
		return session.Reply{}, a.ended()
	}
}

// View runs f with the present state in the session's goroutine. f must not
// keep or change the state. It fails when the session has ended.
func (a *Agent) View(f func(*session.State)) error {
	ran := make(chan struct{})
	select {
	case a.mail <- mail{run: func() { f(a.actor.State); close(ran) }}:
	case <-a.done:
		return a.ended()
	}
	select {
	case <-ran:
		return nil
	case <-a.done:
		return a.ended()
	}
}

// Done is closed when the session has ended; Err then says why.
func (a *Agent) Done() <-chan struct{} { return a.done }

// Err is nil while the session lives and after Close, else the failure that
// stopped it.
func (a *Agent) Err() error {
	select {
	case <-a.done:
		return a.err
	default:
		return nil
	}
}

func (a *Agent) ended() error {
	if a.err != nil {
		return a.err
	}
	return ErrClosed
}

// Close cancels what runs and ends the session's goroutine. Of an open run it
// writes that its owner has left in order, and the run stays interrupted. It
// waits for the goroutine and for effects that honour their cancellation, at
// most wait.
func (a *Agent) Close(wait time.Duration) {
	a.once.Do(func() { close(a.quit) })
	ended := make(chan struct{})
	go func() { <-a.done; a.work.Wait(); close(ended) }()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// loop is the session's goroutine.
func (a *Agent) loop(fx *effects) {
	defer close(a.done)
	defer fx.cancelAll()
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("the session stopped on a fault of gamma: %v\n%s", p, debug.Stack())
		}
	}()
	if a.err = a.wake(); a.err != nil {
		return
	}
	for {
		select {
		case <-a.quit:
			a.leave()
			return
		case m := <-a.mail:
			if a.err = a.handle(fx, a.drain(m)); a.err != nil {
				return
			}
		}
	}
}

// leave notes that the owner goes in order. If that can't be stored, the next
// owner takes this one for lost, which does no harm but to count.
func (a *Agent) leave() {
	if _, err := a.actor.Handle(session.Closes{}); err != nil && a.cfg.Warn != nil {
		a.cfg.Warn(fmt.Errorf("the end of this process couldn't be noted: %w", err))
	}
}

// wake rewrites the projections, which may be older than the log, and lets
// the session do what is due.
func (a *Agent) wake() error {
	if a.actor.State.Tasks.Revision > 0 {
		a.actor.WriteTodo()
	}
	replies, err := a.actor.Handle(a.cfg.Wake)
	if err == nil && replies[0].Err != nil {
		return replies[0].Err
	}
	return err
}

// drain collects the mail that waits behind m, so that it shares one write.
// Functions that are to be run end a batch: they see the state of their time.
func (a *Agent) drain(m mail) []mail {
	batch := []mail{m}
	for m.run == nil && len(batch) < mailbox {
		select {
		case m = <-a.mail:
			batch = append(batch, m)
		default:
			return batch
		}
	}
	return batch
}

func (a *Agent) handle(fx *effects, batch []mail) error {
	var events []session.Event
	var askers []mail
	for _, m := range batch {
		if m.run == nil {
			if m.key != "" {
				fx.ended(m.key)
				a.actor.Done(m.key)
			}
			events, askers = append(events, m.event), append(askers, m)
		}
	}
	if len(events) > 0 {
		err := a.actor.HandleThen(func(replies []session.Reply) {
			for i, m := range askers {
				m.answer(answer{reply: replies[i]})
			}
		}, events...)
		if err != nil {
			for _, m := range askers {
				m.answer(answer{err: err})
			}
			return err
		}
	}
	if last := batch[len(batch)-1]; last.run != nil {
		last.run()
	}
	return nil
}

func (a *Agent) publish(us []session.Update) {
	for _, u := range us {
		a.publishOne(Published{Update: u})
	}
}

func (a *Agent) publishOne(p Published) {
	a.seq++
	p.Seq = a.seq
	a.cfg.Publish(p)
}
