// Package host decides which workflow runs are carried out in this process, and
// joins them with their definitions and, by ids, with sessions.
//
// Start queues a run. Drive claims one run and carries it out as far as that
// can be done here; Work claims whatever it may, and fires the timers of all
// runs. Send brings an event to a run, whoever holds it: as a visit if nobody
// does, else as a signal for the holder.
//
// # Claims
//
// A claim is kept for 30 s and renewed every 10 s. A host names itself as the
// holder; where it is known that a holder's process is dead (Config.Dead), its
// claims are ended at once instead of being waited for.
//
// # Sessions
//
// Sessions knows the sessions that live in this process; their owners announce
// them, under the lease token that store.Own has stored before, and tell when a
// run in them begins or settles. Runs and Sessions don't know each other. Steps,
// Tool and Outbox join them, by ids.
//
// Steps carries out agent steps. An attempt is carried out once at a time, which
// callers share (Callers: the newest one that still waits counts; only it may end
// the step); what it reports is what the session's branch has, so it is the same
// in whichever process, and however often, it is asked for. An assistant step
// needs the session that its run came from. A submit step is carried out there
// if that was here when the attempt was prepared, else in the session that hosts
// have for the run (ChildID, made from the run's id), and it stays where it
// began.
//
// Tool is the workflow tool of one session, on the functions of Runs. It fails
// by telling the model; what it has done it finds again by the call's id.
//
// Outbox delivers what runs tell the sessions that are live in this process.
//
// # Definitions
//
// A run goes on only with the definition that it began with: graph and code
// have the same key. Where it isn't there, the run is parked for the operator,
// with what to do; it stays readable. A run whose workspace is gone is parked
// too. Resume tries again. A run whose definition this version can't read takes
// only cancel.
//
// # Outages
//
// Drive and Work wait for a store that can't be used for now, and tell Trouble
// once.
package host
