// Package agent carries out a live session: it takes events, lets the session
// core decide, and does what the decision says, in this order and no other:
//
//  1. append the commit's entries, in one synced write;
//  2. take the commit's next state;
//  3. write projections (the task list) that changed;
//  4. publish the commit's updates;
//  5. answer the events' senders;
//  6. start what is due and not running, cancel what is running and not due.
//
// Actor is that order as a plain value without goroutines: the simulator
// drives it directly. Agent runs an Actor in one goroutine with a mailbox, and
// the effects (model calls, tools, timers) in goroutines of their own that
// report back through the mailbox. Events that wait together share one write.
//
// Deltas of an answer and updates of a tool are provisional: they are
// published as they come, are never stored, and are void when a
// message_discarded or the result follows.
//
// # Failure
//
// A failed append stops the actor for good: effects are cancelled, every later
// event is answered with the error, nothing more is published. What was
// published before is on disk. A projection that can't be written is reported
// and tried again; the entries own the fact. A panic in a tool becomes an error
// result, a panic in a model a fatal failure of that call; a panic in the core,
// which is a fault of gamma, stops this session and no other.
//
// A tool that ignores its cancellation is left behind after the core's grace
// period; its late report is dropped.
package agent
