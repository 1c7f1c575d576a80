package agent

import (
	"encoding/json"
	"fmt"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Store keeps a session. Both methods return only when the bytes are safe. A
// failed Append means that the session must not go on.
type Store interface {
	Append([]transcript.Entry) error
	WriteTodo([]byte) error // the task list for readers without a transcript
}

// Keep reads and writes what a compaction needs beside the log. WriteSpill
// returns when the bytes are safe. It is called from effects.
type Keep interface {
	Blob(sum string) ([]byte, error)
	WriteSpill(name string, data []byte) error
}

// Effects starts and cancels what is due. Start and Cancel return at once;
// what an effect leads to comes back as an event.
type Effects interface {
	Start(session.Effect, *session.State, session.Env)
	Cancel(key string)
}

// Actor carries out commits in order. It isn't safe for concurrent use.
type Actor struct {
	State   *session.State
	Env     func() session.Env // asked once for each Handle
	Store   Store
	Effects Effects
	Publish func([]session.Update)
	Warn    func(error) // a projection couldn't be written; the next event tries again

	running map[string]bool
	behind  bool // the projection of the task list couldn't be written
	stopped error
}

// Handle decides the events one after the other, as one append. It returns a
// reply for each, or the error that stopped the actor.
func (a *Actor) Handle(events ...session.Event) (replies []session.Reply, err error) {
	err = a.HandleThen(func(r []session.Reply) { replies = r }, events...)
	return replies, err
}

// HandleThen is Handle for senders that wait: they are answered when the
// commit is published and before any effect starts.
func (a *Actor) HandleThen(answer func([]session.Reply), events ...session.Event) error {
	if a.stopped != nil {
		return a.stopped
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
		a.WriteTodo()
		a.State = old
	}
	if mutant("agent.StartBeforePersist") {
		a.State = next
		a.reconcile(env)
	}
	if len(all.Entries) > 0 && !mutant("agent.AppendSkipped") {
		if err := a.Store.Append(all.Entries); err != nil {
			return a.stop(err)
		}
	}
	changed := next.Tasks.Revision != a.State.Tasks.Revision
	a.State = next
	if (changed || a.behind) && !mutant("agent.TodoNotWritten") {
		a.WriteTodo()
	}
	if len(all.Updates) > 0 {
		a.Publish(all.Updates)
	}
	answer(replies)
	a.reconcile(env)
	return nil
}

// WriteTodo rewrites the projection of the task list. The list itself is in
// the entries, so a failure is reported, stops nothing and is tried again.
func (a *Actor) WriteTodo() {
	b, err := Todo(a.State.Tasks)
	if err == nil {
		err = a.Store.WriteTodo(b)
	}
	a.behind = err != nil
	if err != nil && a.Warn != nil {
		a.Warn(fmt.Errorf("task list for readers: %w", err))
	}
}

// Todo is the projection of a task list.
func Todo(l transcript.TaskList) ([]byte, error) {
	b, err := json.MarshalIndent(l, "", "  ")
	return append(b, '\n'), err
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
		a.Effects.Start(d, a.State, env)
	}
}
