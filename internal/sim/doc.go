// Package sim plays a session in memory, with everything around it simulated
// and every accident drawn from a seed: the real line codec, the real session
// core and the real agent.Actor run under a simulated disk, model, tools,
// clock and people. There are no goroutines in a history and no real time, so
// a seed decides it fully.
//
// Replay a seed with its step log:
//
//	GAMMA_SIM_SEED=17 go test -count=1 -v -run TestR1_Simulation ./internal/sim
//
// # The world
//
//   - disk: a segment an owner, with a written and a synced length, and
//     todo.json, which is replaced as a whole. When the process dies, what was
//     written stays; when the power goes, any part of what wasn't synced is
//     lost. A write may be short (ENOSPC), a sync may fail (EIO) and leave or
//     lose the bytes: the actor stops and the world opens the session anew.
//   - model: plain answers, batches of one to four calls (unknown tools, broken
//     arguments, core tools, blocking messages alone and beside others), cut
//     and filtered answers, failures of each class. Answers get lost in
//     crashes, and late ones arrive after an abort.
//   - tools: started, then taking effect, then reporting, in steps of their
//     own, so a crash can fall between any two. Deaf ones ignore their
//     cancellation and report late or never.
//   - people and services: prompts, steers, follow-ups, next-turn notes, client
//     views, aborts, resumes. Each arrival is sent again with the same id until
//     it is acknowledged, sometimes once more, sometimes with other words.
//   - a workflow that has the session, in a part of the histories: one attempt
//     after the other, with both completions; it prompts, asks again, reminds,
//     resumes, ends its step with each cause, and takes what came of it.
//   - owners: the session is closed and opened, also only to deposit something;
//     opening can crash as well; the binary may be another one afterwards. The
//     date and AGENTS.md change.
//
// A history ends on a good disk with a good model, when the run is settled.
//
// # Crash points
//
// The same names as in package crashpoint where they mean the same:
//
//	create.torn, create.after-write, create.after-sync   the first two lines
//	open.locked, open.segment-created, open.torn, open.after-write, open.after-sync
//	append.before, append.torn (after any byte), append.after-write, append.after-sync
//	replace.before-rename, replace.after-rename          todo.json
//	publish.before        stored, nothing published
//	publish.middle        some updates of the commit are published
//	start.before          published, an effect that is due isn't started
//	start.after           it is started
//	ack.before            all is done, the sender has no answer
//	idle                  between two events, nothing runs
//	answering             while the model answers
//	tool.started          a tool was started and had no effect
//	tool.effected         it had its effect and hasn't reported
//
// # What is checked
//
// Package audit judges the raw bytes and what was seen. Here, where the core
// may be called: after each commit a sample is taken of
//
//   - equality: the live state equals the fold of the bytes on disk;
//   - rest: a planned state plans nothing;
//   - life: a run that isn't interrupted has something due;
//   - level: what runs is what is due (after each commit);
//   - prefix: a commit, cut behind any of its entries, is continued in the same
//     way.
//
// # Mutants
//
// With the build tag mutants single rules can be switched off by name (the
// table in mutants_test.go). Each must be found within a few hundred seeds: a
// mutant that survives is a fault of the workload, of the audit or of the
// design.
package sim
