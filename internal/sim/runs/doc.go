// Package runs plays workflow runs in memory: the real engine (internal/flow)
// under simulated hosts, a simulated store, sessions, people and a clock, with
// every accident drawn from a seed. A seed decides a history fully.
//
// Replay a seed with its log:
//
//	GAMMA_SIM_SEED=17 go test -count=1 -v -run TestR1_Runs ./internal/sim/runs
//
// # The world
//
//   - hosts: three, with five workers and the actors of two sessions. Each
//     worker and actor is a coroutine that reads top to bottom; each yield is a
//     place where its host can be killed, and not being scheduled for a while
//     makes a zombie of it: its claim runs out while it still believes in it.
//   - store: rows as a database has them. A commit changes only the rows that
//     flow.Rows names, so a row that is forgotten shows. The acknowledgement of
//     a commit can be lost.
//   - sessions: an owner's token and a log of entries; entries of an owner that
//     was followed count for nothing. They move between hosts, are dormant for
//     a while, and their turns go on without the worker that asked for them.
//   - people: answer (several at once), pause, resume, cancel, escape, by a
//     visit or, while somebody holds the run, by a signal. Timers are fired by
//     anybody.
//   - clock: advances by milliseconds or minutes; a host's own clock may be off
//     by two seconds.
//
// After some time accidents stop; then every run must end.
//
// # What is checked
//
// While it goes: the projection equals the fold of the events; an attempt ends
// once; a running run owes something; one that stands still has a reason; a
// node is entered only under a claim, never while a pause is due; nothing is
// done twice under one attempt; a once-node is done once. At the end: every run
// has ended; at most one visible reply for each assistant attempt, and its text
// is the recorded one; a visible answer is never recorded as failed; one answer
// a decision; each notification is in its session once; one successor a commit, one
// presentation a run; no step is timed out while it waits for the user;
// no signal was carried out twice; tokens never fall.
package runs
