package agent

import (
	"encoding/json"
	"fmt"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Store keeps a session. Both methods return only when the bytes are safe; an
// error means that the session must not go on.
type Store interface {
	Append([]transcript.Entry) error
	WriteTodo([]byte) error // the task list for readers without a transcript
}

// Effects starts and cancels what is due. Start and Cancel return at once;
// what an effect leads to comes back as an event.
type Effects interface {
	Start(session.Effect, *session.State)
	Cancel(key string)
}

// Actor carries out commits in order. It isn't safe for concurrent use.
type Actor struct {
	State   *session.State
	Env     func() session.Env // asked once for each Handle
	Store   Store
	Effects Effects
	Publish func([]session.Update)

	running map[string]bool
	stopped error
}

// Handle decides the events one after the other, as one append. It returns a
// reply for each, or the error that stopped the actor.
func (a *Actor) Handle(events ...session.Event) ([]session.Reply, error) {
	if a.stopped != nil {
		return nil, a.stopped
	}
	env := a.Env()
	next := a.State
	var all session.Commit
	replies := make([]session.Reply, len(events))
	for i, ev := range events {
		c := session.Decide(next, ev, env)
		next, replies[i] = c.Next, c.Reply
		all.Entries = append(all.Entries, c.Entries...)
		all.Updates = append(all.Updates, c.Updates...)
	}
	if mutant("agent.PublishBeforePersist") {
		a.Publish(all.Updates)
	}
	if mutant("agent.TodoBeforePersist") && next.Tasks.Revision != a.State.Tasks.Revision {
		old := a.State
		a.State = next
		if err := a.WriteTodo(); err != nil {
			return nil, a.stop(err)
		}
		a.State = old
	}
	if mutant("agent.StartBeforePersist") {
		a.State = next
		a.reconcile(env)
	}
	if len(all.Entries) > 0 && !mutant("agent.AppendSkipped") {
		if err := a.Store.Append(all.Entries); err != nil {
			return nil, a.stop(err)
		}
	}
	changed := next.Tasks.Revision != a.State.Tasks.Revision
	a.State = next
	if changed && !mutant("agent.TodoNotWritten") {
		if err := a.WriteTodo(); err != nil {
			return nil, a.stop(err)
		}
	}
	if len(all.Updates) > 0 {
		a.Publish(all.Updates)
	}
	a.reconcile(env)
	return replies, nil
}

// WriteTodo rewrites the projection of the task list.
func (a *Actor) WriteTodo() error {
	b, err := json.MarshalIndent(a.State.Tasks, "", "  ")
	if err != nil {
		return fmt.Errorf("task list: %w", err)
	}
	return a.Store.WriteTodo(append(b, '\n'))
}

// Done tells the actor that an effect ended by itself.
func (a *Actor) Done(key string) { delete(a.running, key) }

// stop ends the actor for good.
func (a *Actor) stop(err error) error {
	a.stopped = err
	for key := range a.running {
		a.Effects.Cancel(key)
	}
	a.running = nil
	return err
}

// reconcile compares what is due with what is running.
func (a *Actor) reconcile(env session.Env) {
	due := session.Due(a.State, env)
	keep := make(map[string]bool, len(due))
	for _, d := range due {
		keep[d.Key] = true
	}
	for key := range a.running {
		if !keep[key] && !mutant("agent.CancelForgotten") {
			a.Effects.Cancel(key)
			delete(a.running, key)
		}
	}
	for _, d := range due {
		if a.running[d.Key] && !(mutant("agent.StartedAgain") && d.Kind == session.RunTool) {
			continue
		}
		if a.running == nil {
			a.running = map[string]bool{}
		}
		a.running[d.Key] = true
		a.Effects.Start(d, a.State)
	}
}
