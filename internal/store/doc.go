// Package store holds what a server or a host knows besides its sessions:
// workflow runs with their events, claims, timers, decisions and outbox. It is
// the only package with SQL. Store is the interface; SQLite is the driver for
// one machine.
//
// # One commit
//
// A run's facts, its projection, its queue and claim, its decision and outbox
// rows commit in one transaction, or not at all. The first statement updates the
// run's row under the fence: the claim's token and the seq that was decided on.
// If no row fits, nothing is written and the caller gets ErrFenced; it drops its
// run value and reads again. An outcome that depends on a session has that
// session's lease token in the same condition.
//
// A lease is in the condition of a renewal and of a claim, not of a commit: a
// result that took long may still be recorded by an expired claim that nobody
// took.
//
// # Tables
//
//	definition  snapshot and identity of the code, by key (SHA-256 of both)
//	run         one row a run: projection, queue (claim_by, created_at) and claim (token, holder, lease_until)
//	event       one row a commit: facts as a JSON array, at most one output, at most one receipt
//	node        how the newest attempt of each node ended; the row with the node "" is the run's input
//	mount       the present invocation of each included workflow
//	decision    what is asked, and the answer that won
//	delivery    what became of a decision in a channel
//	outbox      what sessions are to be told
//	signal      what others want of a run while somebody holds its claim
//	progress    the newest update of each type and key
//	session     lease token of each session, as its owner left it
//
// Outputs are in event and nowhere else. run, node, mount and progress are a
// projection that equals the fold of the events.
//
// lease_until is when a claim ends that is live or was lost. 0: it was given
// back when no clock ran; below 0: when one did, at that time, negated. A visit
// leaves it as it is while an attempt is running, so that time without a claim
// is known.
//
// Times are Unix milliseconds. claim_by is "*" (any host), a session's id or
// NULL (nobody). A session has one slot: run_slot is unique where slot is 1. A
// claim takes it; a queued run that nobody has a live claim of has none.
//
// # SQLite
//
// WAL, synchronous FULL, foreign keys on, file mode 0600; the settings are read
// back at opening. All writes go through one connection: whoever finds it free
// takes up to 64 waiting ones into one transaction. A write that is
// refused by its fence leaves the others alone; any other failure rolls the
// transaction back, and its writes are repeated one by one.
//
// Ten times a second at most a write looks first whether the file, its log and
// the log's index are still those that were opened; else it ends with ErrGone.
//
// # Versions
//
// PRAGMA user_version is the schema's version, application_id says that the
// file is ours. An older schema is brought forward one version a transaction,
// after a copy of the file was made beside it (NAME.v1.backup); a newer one is
// refused. So is another program's database, and a file that is none, before a
// byte of it is changed.
//
// # Failures
//
// ErrFenced, ErrDelivered, ErrNotFound, ErrExists, ErrSlot, ErrOpen and
// ErrUntold are the caller's to handle. Any other error is the database's:
// nothing of the write is there, unless the database itself couldn't say.
// ErrTryLater is in it where waiting may help, ErrGone where it never will. A
// panic of a write is its caller's, and nothing of that write is there.
// The same commit may be tried again: the fence refuses it if it is there.
package store
