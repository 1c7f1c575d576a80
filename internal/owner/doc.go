// Package owner holds the socket by which another process reaches a live
// session: the server inside the process that owns the session, and the
// client. It carries words in and events out and decides nothing: every
// request becomes an event of package session, and every answer says what is
// on disk by then.
//
// # Place
//
// The owner listens on a unix socket, HOME/run/ID.sock, where HOME is
// $GAMMA_HOME with symbolic links resolved and ID the session's id. HOME/run
// has mode 0700, the socket 0600. Kernels take paths of about 100 bytes, so a
// path longer than 100 bytes is shortened, in this order, the same on both
// sides whatever the environment says:
//
//	HOME/run/_<16 hex of SHA-256(ID)>.sock
//	/tmp/gamma-<uid>/_<32 hex of SHA-256(HOME, a zero byte, ID)>.sock
//
// A directory that is a link, belongs to another user or is open to others is
// refused by both sides.
//
// Only the process that holds the session's lock may serve it (the caller of
// Serve sees to that, and closes the server before it gives the lock back).
// It binds the socket under the path with "~" behind it and renames it, so a
// socket that a dead owner left is replaced in one step and is never seen
// with wider permissions. Clients never remove a socket. A server that closes
// removes the path only if its own socket is still there.
//
// # Wiring
//
// The owner makes a Feed first, gives Feed.Publish to the agent, starts the
// agent, and then calls Serve with both. When it leaves it closes the server,
// then the agent, then gives the lock back. A process that gets ErrNotLive
// from Dial takes the lock itself; if somebody holds it, that one is about to
// listen or to leave, and Dial is tried again. Injected makes the arrival of
// an injection for both ways.
//
// # Who may speak
//
// The token is in HOME/token: 32 random bytes in hex and a newline, mode 0600,
// made on first use and never changed. A request carries it as
// "Authorization: Bearer TOKEN". A token file that others can read, that
// belongs to another user or that holds something else is refused, with what
// to do about it. On Linux and macOS both sides also ask the kernel for the
// user id of the other one, and want their own.
//
// # Requests
//
// HTTP/1.1. The paths and bodies are those of the server (contract C7); the
// shapes are in package wire.
//
//	POST /sessions/ID/injections    wire.Injection → 202 wire.Accepted
//	POST /sessions/ID/prompt        wire.Prompt    → 202 wire.Accepted; during a run it waits for a stop
//	POST /sessions/ID/steer         wire.Prompt    → 202 wire.Accepted; goes with the next model call
//	POST /sessions/ID/approvals/AP  wire.Decision  → 202 wire.Accepted; AP is the approval's id
//	POST /sessions/ID/abort         {}             → 202 {}
//	POST /sessions/ID/resume        {}             → 202 {}
//	GET  /sessions/ID/state                        → 200 wire.SessionState
//	GET  /sessions/ID/receipts/AID                 → 200 wire.Receipt; AID is path-escaped
//	GET  /sessions/ID/events                       → 200 text/event-stream
//
// 202 means that the entries are on disk. Injections, prompts and steers of a
// session share one space of ids: the same id with the same words is answered
// with the first entry and again: true, with other words by 409 conflict. An
// id has 1 to 256 bytes and no control characters; ids that begin with
// "nudge:" are the session's own. Injections carry their kind's trust: the
// system_* kinds are harness words, the others data.
//
// A request is checked in this order, and the first thing that is wrong is
// the answer: user 403, token 401, path and session 404, method 405, content
// type 415, size 413 (wire.MaxBody), JSON 400, fields 400. A body is one JSON
// object in UTF-8 without doubled names and without unknown fields. Every
// answer of 400 and more has the body {"error": {code, message, field?}};
// only what isn't HTTP at all is answered by net/http itself. The session's
// mark is replaced by "[mark]" in all that is sent.
//
// # Events
//
// The stream has the events of wire.Event, provisional ones included, each
// as
//
//	id: EPOCH-SEQ
//	data: {…}
//
// where EPOCH is the owner's and SEQ counts its events from 1. (Entry ids look
// alike and count something else.) Without the header Last-Event-ID the
// stream begins with the next event, with it behind that event: nothing is
// missing and nothing comes twice. A client that starts asks for the state
// first and goes on from its "at".
//
// The newest 4,096 events are kept, and at most 4 MiB of them; when the
// session becomes idle the provisional ones among them go, since they are
// void by then. A client whose id is older, or of another epoch, gets
//
//	id: EPOCH-SEQ
//	event: resync
//	data: {"reason": "too_old", "at": "EPOCH-SEQ"}
//
// and then what follows: it asks for the state again. A client that doesn't
// keep up is dropped: it gets the event "dropped" with the reason slow_reader
// as the last one, or, if it doesn't take a write within ten seconds, the
// connection ends. The session never waits for a client. When the owner
// leaves, the last event is "dropped" with the reason closed.
//
// # Errors
//
// The client returns ErrNotLive if nobody listens: nothing was sent.
// ErrNoAnswer means that the connection broke before the answer: whether the
// request was carried out isn't known, and the same id can be sent again. A
// refusal is a *wire.Refusal.
package owner
