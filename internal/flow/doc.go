// Package flow decides what happens in a workflow run. It is pure: it reads no
// clock, starts nothing and stores nothing.
//
//	Decide(graph, run, event, env) → the facts of one commit, or a refusal
//	Apply(graph, run, fact)        → folds a fact into the run; knows no rule
//	Owed(graph, run)               → what the holder of the run's claim must be doing
//	Rows(before, commit)           → the rows that a store writes for a commit
//
// Facts are stored, events aren't: an engine with other rules still folds old
// logs. Live work and recovery are the same: who claims a run folds (or reads
// the projection), decides Claim, and carries out what Owed says.
//
// # The run
//
// A run value holds no outputs, only at which commit (seq) each node's newest
// attempt ended. One attempt is open at most. Statuses and who may go on:
//
//	queued                        any host; Next is the node to enter, "" before the start and after the last step
//	running   open attempt        the claim's holder; after the lease any host
//	waiting   decision            a person; Wake is the end of waiting, if there is one
//	waiting   checkpoint          a person or program
//	waiting   delay, retry        whoever sees Wake pass
//	waiting   paused              resume; Next, or the open attempt that Escape held
//	parked    session             hosts that have the session live
//	parked    host                any host
//	parked    operator            resume
//	completed, failed, timed_out, cancelled   nobody; Reason is the code
//
// "starting" is a view: queued under a live claim.
//
// # Who enters a node
//
// Only the holder of a claim. Everybody else (a person, a timer, a route of the
// server) makes a visit: claim, commit and release in one transaction, which
// leaves the run queued at its next node.
//
// # The end in a session
//
// A run that ends leaves one thing in its session of origin, or nothing: the
// prompt of a later step has told a failure already (turn_settled), it presents
// itself (present), or one turn tells how it failed (turn_due). A cancelled run
// leaves nothing. The words of a presentation are the author's and need the
// definition, so they are made by a holder: before a wait, with what is asked;
// after the last step, when the run is queued with no node to enter and owes
// nothing else, with its result. They and the end are one commit.
//
// # Attempts
//
// The id is RUN/NODE#N, N counting the attempts of the run. Facts about an
// attempt are taken only while it is the open one, so that a late result of a
// lost claim changes nothing. How a node's attempt ended and where the run goes
// are one commit: there is no state between them. After a lost claim
//
//	agent                          the same attempt goes on; time without a claim isn't counted
//	compute, notify, checkpoint,   the same attempt runs again; it has no effect outside,
//	enter, exit, delay             and time without a claim isn't counted either
//	action, shell, batch           ends as cancelled (interrupted), and a new attempt begins;
//	                               of a node marked once it fails as outcome_unknown, unless
//	                               it was parked before it had an effect
//
// What is owed is taken up from a lost host four times in a row. If each was
// lost too, the run is parked for the operator (crash_loop); resume gives it
// the same again. Whatever brings the run further begins the count anew; an
// update doesn't, nor does a claim that was given back.
//
// A submit step may yield: it waits for the user, and its clock stands until
// somebody has spoken, also over parking and restarts. A submit step that was
// begun where the origin session lives goes on only there, and without it the
// run is parked for it; one that was begun elsewhere goes on in the session that
// the hosts have for the run, so that no attempt is carried out in two sessions.
//
// # Facts
//
//	created          the run is there
//	started          its input is normalised (the commit's output) and has a title
//	attempt_started  attempt, node, deadline; again: it replaces an interrupted one
//	attempt_prepared of an agent, before its prompt: deadline, maxChars, digest of the prompt;
//	                 session: of a submit step that is begun in the origin session
//	deadline_moved   to At
//	taken_up         attempt ("": the start), how often now
//	asked            decision id, digest of the request, until, default
//	delayed          until
//	answered         choice, by, key; input: the answer is the run's input from now on
//	attempt_finished outcome, code, message; the commit's output and receipt belong to it;
//	                 of a notification its id and text
//	retry_set        node, tries, until
//	queued           next
//	pause_asked, paused (next), held, unheld, resumed
//	yielded          the step waits for the user; its clock stands
//	spoke            the user has spoken, or the step goes on otherwise; its clock goes on
//	parked           reason, code, message, unbegun: the open attempt had no effect; unparked
//	updated          type, key, data, estimate
//	turn_owed        attempt and cause of a failure that the session hasn't heard of
//	turn_settled     a later prompt of the run tells it
//	turn_due         the session gets the message when the run has ended
//	present          the session is asked to present: text, and data with what, when the run waits or has ended
//	ended            status, code, message, node with the output
//
// A commit has one output at most.
package flow
