// Package session is the session protocol as a pure core: what a session
// does next follows from its stored entries alone.
//
// Three ideas carry it.
//
//  1. A commit is the event's own entries followed by whatever the state
//     itself asks for: Decide = first(event) ++ plan*. plan looks at nothing
//     but the state and the Env of the event, so every prefix of a commit,
//     such as a crash leaves behind, is a state from which plan writes the
//     same rest. Torn commits need no framing and no recovery code.
//  2. Effects are a level, not an edge. Due lists what should be running; after
//     each commit the actor starts what is due and not running, and cancels
//     what is running and not due. After a crash nothing is running, so the
//     same comparison starts the right things.
//  3. The owner's epoch is part of the state. A model call or a tool of an
//     older epoch is by that fact dead: the model is asked again, and the tool
//     is closed with "outcome unknown" unless it is safe to repeat.
//
// The start of each model call is itself an entry (request): without it the
// state could not tell "the model is answering this context" from "the model
// should be asked", and a steer that arrives during an answer would throw the
// answer away.
//
// # Order of writes
//
// The actor appends Commit.Entries in one synced write, then takes
// Commit.Next as its state, then writes the task projection, publishes
// Commit.Updates and answers with Commit.Reply, then reconciles its effects with Due(Next). A failed write
// stops it. Everything that a client sees is on disk.
//
// # Interrupted runs
//
// A run whose newest delivery or resume is of an older epoch, or whose owner has
// left (a close entry of this epoch), is interrupted: plan writes nothing for it
// and nothing is due. A resume counts towards crash_loop unless the owner under
// whom the run went on last has left with a close entry. A Resumes event continues
// it; a person's message closes it (results for its open calls, then
// settled{interrupted}) and starts its own run. Under an owner that opened
// the session as a deposit nothing starts at all.
//
// # Invariants, asserted after each commit in tests
//
//   - An arrival is in exactly one place: the queue, one deliver, or removed:
//     by a newer client_view, a withdrawal, words that come in a workflow_result's
//     place, a result that tells the same revision, the end of
//     the compaction that it asked for, an abort (of such wishes), or a repair.
//   - Each call has at most one result; no deliver, request, compact or settled
//     while a call is open.
//   - A request for an answer in flight implies a run, no open call, and a
//     context whose last item isn't the model's.
//   - Each entry of the path that owns messages is covered by the summaries or
//     has them in the context, once.
//   - The live state equals Fold of the entries; plan of a planned state
//     returns nothing.
//   - A run always has something due, unless it is interrupted.
//   - A step's prompt is delivered alone and begins its run; at most one prompt
//     of an attempt waits.
//
// # Steps of workflows
//
// A workflow asks for a step by Prompts, for its end by Aborts with a cause,
// and reads what came of it from State.Attempt, which knows the current branch
// only. Asking twice is safe: a prompt that waits, a run that goes on, and the
// first prompt of an attempt that has one are joined; a reminder or resume is a
// new prompt, with an id of its own (ATTEMPT/KIND.N@GENERATION).
//
// What starts a run, in this order (I9): a person's words; a step, the oldest
// that waits; a follow-up; a steer while a task is in progress. A yield doesn't
// hold steps. A session that stopped holds those that waited; they pass with
// one that came since. A step lifts no hold, and what is held stays held while
// it runs; a person's later words lift the hold, also inside the step's run.
//
// A step that completes with an answer refuses workflow, message_user and
// ask_user. Behind its first plain answer only a person's steer goes on with
// it: everything else waits for the settle. A step that submits takes what
// waits as any run does. Neither is nudged, and neither is held to checklists
// or to the form of the final words. If the run of a submitting step yields,
// the run of the person's next words is the attempt's, too.
//
// An attempt that has its answer (Attempt.Answered) is never prompted again,
// and nothing but its settle ends its run: a resume, a person's words and
// another attempt's prompt all settle an interrupted one as done (adopted), and
// an abort is refused. A prompt of another attempt closes what is left of an
// interrupted step, since a session has one workflow run at a time; it closes
// no other run.
//
// An end with a cause leaves no hold. Of an attempt without a run it withdraws
// the prompt that waits; a timeout or cancel also gives back the person's next
// words, if its yield waits for them. A copy of a session (Header.Forked) takes
// part in no workflow of the original.
//
// # Compaction
//
// Before the model is asked (so before a person's turn and behind each batch),
// when a request didn't fit, and when a person wants it (an arrival of class
// command), the beginning of the context is replaced by a block:
//
//	request{compaction}   what will be done is fixed and on disk: from where on
//	                      messages stay, and how much room the request has
//	compact               one record: summary, what the owners say, the request
//	                      that is worked on, what the summaries cover
//	compact_failed        the context stays; two in a row in a run and it goes
//	                      on uncompacted if it fits, else it ends as
//	                      context_irreducible
//
// The context is cut where no call is parted from its results, no entry is
// split, and nothing goes that the model hasn't answered. What outlives it
// comes from its owner and never from the summary: session facts first, the
// newest AGENTS.md, catalog and date, the bodies of active workflow skills and
// of what they require, checklists, the task list unless all of it is
// finished, and the words of the request. What stands in the part that stays
// isn't repeated; each has a receipt in the entry. Skills whose bodies are gone
// are no longer in force. Words that alone are too big keep head and tail, and
// the whole is in a spill file. The queue doesn't notice a compaction.
//
// The block's bytes are made once, by Decide, and are read from the entry from
// then on. A chained compaction summarises the last summary and what came
// since; what the owners say is made anew from the state. Covers is a range of
// the path and doesn't grow.
//
// # Branches and repairs
//
// A leaf record moves the branch; Fold then follows the path to its target,
// and the next request says that it breaks with the one before it ("branch").
// Nodes of other branches still take their arrivals out of the queue and count
// as tries. A repair (package disk) names messages that are lost, for which
// their delivery shows a note, messages that wait no longer, and gaps: places
// where nodes are lost and the path goes on behind them (gap.go).
//
// # Errors
//
// An event that the state doesn't take is answered by Reply.Err, a *Refusal
// with a code; nothing is appended. Reports of effects that are no longer
// wanted are dropped. Fold returns a *BrokenError for entries that contradict
// each other. A plan that doesn't end is a fault of this package and panics.
package session
