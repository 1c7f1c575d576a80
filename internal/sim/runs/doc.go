// Package runs plays workflow runs with their sessions in memory: the real
// engine (internal/flow with flow.Rows), real session cores under the real
// agent.Actor, and the real decisions about steps and outboxes (host.Pilot,
// host.Callers, host.Told, with the prompts that they write). Only clock, disks,
// the database's rows, the model and people are simulated, and every accident is
// drawn from a seed. A seed decides a history fully.
//
// Replay a seed with its log:
//
//	GAMMA_SIM_SEED=17 go test -count=1 -v -run TestR1_Runs ./internal/sim/runs
//
// The goroutines of a host (runner.Drive, host.Steps, host.Outbox) aren't played
// but written again as coroutines: a bubble of testing/synctest keeps time, but
// not which of several ready goroutines and cases goes first, so a seed wouldn't
// decide a history there, nor could one be left alone in the middle of a write.
// What those goroutines decide stands in the pure parts that are named above.
//
// # The world
//
//   - hosts: three, with five workers, the owners of two sessions of origin and
//     of the runs' child sessions, and an open attempt for each step. Each is a
//     coroutine that reads top to bottom; each yield is a place where its host
//     can be killed, and not being scheduled for a while makes a zombie of it:
//     its claim or its lease runs out while it still believes in it.
//   - store: rows as a database has them. A commit changes only the rows that
//     flow.Rows names, so a row that is forgotten shows. The acknowledgement of
//     a commit can be lost.
//   - sessions: a segment an owner, with a written and a synced length, sealed
//     by the next owner's first line. A kill can tear any line, a power loss
//     takes what the host hasn't synced, a disk can be full. They move between
//     hosts, are dormant, and somebody may go back to an earlier place in them
//     while nobody has them.
//   - model: answers with text in one part or two, thoughts only, blanks, cut
//     and filtered answers, calls of tools, right, wrong and misdirected
//     submissions, yields, failures that are tried again and others. In some
//     histories it hardly ever submits.
//   - people and services: answer (several at once), pause, resume, cancel and
//     escape runs, by a visit or, while somebody holds the run, by a signal; in
//     sessions they prompt, steer, stop and resume, and inject.
//   - poison: in some histories a start or an action ends its host each time,
//     more often than the engine tries by itself.
//   - clock: advances by milliseconds or minutes; a host's own clock may be off
//     by two seconds.
//
// After some time accidents stop; then every run must end.
//
// # What is checked
//
// By rows and by the raw lines of the transcripts, read here and not by the
// session core. At each commit: the projection equals the fold of the events;
// an attempt ends once; a running run owes something; one that stands still has
// a reason; a node is entered only under a claim, never while a pause is due;
// nothing is done twice under one attempt; a once-node is done once; nothing is
// taken up from more than four lost hosts in a row; no attempt is carried out in
// two sessions. When an
// agent's attempt ends: its output is the text that people see on the branch or
// what was accepted there, and its receipt has that entry and its digest; what
// people see, or what was accepted, is never recorded as failed or timed out;
// no step is given up or timed out while it waits for the user. When a step is
// prompted: nobody has stopped it more often than resumed it, and it hasn't been
// ended for good.
//
// At the end: every run has ended; each notification is in its session once,
// one successor a commit, one presentation a run, none after newer words of a
// person; one answer a decision; no signal was carried out twice; tokens never
// fall. On each final branch: an attempt that completes with an answer has one
// visible reply at most, and one more for each message of a person within it;
// two reminders at most; steps are delivered alone and on the branch that they
// were written for; they neither submit nor ask where they complete with an
// answer; what a yield holds stays held.
//
// # Order of an opening
//
// Here an owner's token is in the database before it seals what was written
// before it. A process with a kernel lock may do it the other way round, since
// the owner before it is dead by then; one with a mere lease may not
// (session.SealedFirst in the table of mutants).
//
// # What isn't played
//
// Runs that are started later than others, compactions, approvals, forks of a
// session, channels of decisions, updates and the shell.
package runs
