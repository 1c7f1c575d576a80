// Package audit judges a simulated history by its raw bytes. It reads the
// lines of the segments, the bytes of the requests that were sent, and what
// the simulated world saw, with structs of its own. It imports neither the
// session core nor the transcript codec: what both of them misread in the
// same way would otherwise stay invisible.
//
// Check reads the log once, in order, and keeps a small model of what the
// rules allow next: the waiting arrivals, the run, its calls, the request in
// flight, the hold. Each entry must be one that the model allows, at the time
// when it was written. Beside that it holds each Seen against the log.
//
// The rules, by the name that a Violation carries:
//
//	log        segments are chained and sealed, ids count 1, 2, 3 …, each node's parent is the node before it
//	durable    what was acknowledged, published, sent or started is on disk before
//	arrival    an id arrives once; a repetition gets the first outcome, other words a conflict
//	delivery   each arrival is delivered at most once, in the right group, order and company
//	start      a run starts only when it may: not against a hold, not under a deposit, with the facts told
//	request    a model call has its entry, is allowed, extends the last one byte for byte, pairs calls and results
//	retry      four tries in a row at most, none before its time, none after a fatal failure
//	call       one result a call; intents only for calls that may run; the result is what was reported
//	effect     an effect has its intent, happens once under a call id, and never in a stopped run
//	settle     each reason has its cause, the hold it leaves is kept, "more" tells the truth
//	abort      no model call after it, settled within three seconds
//	limit      turns, tokens, wall time, nudges and resumes are counted
//	skill      a batch of skill calls is one set: conflicts and the budget refuse, what is active isn't loaded again
//	steps      a completing message with open steps is refused once a run, then delivered with them as deviations; each deviation names a step
//	gate       no tool runs, and nothing completes, without a skill that the person's words need; nothing else is refused
//	mark       no call runs with the session mark in its arguments
//	tasks      the list is the newest todo result's, and so is the projection
//	compaction a context is cut only where pairs stay together, each message is covered or stays, once; what is too big isn't sent
//	restore    what the owners say stands in the block of a compaction, each once, with their bytes; the request stays word for word
//	step       a prompt is delivered alone, once, in its turn; what would end an answer's step in another way is refused, and nothing else; replies are counted; what the workflow took is in the log; the hold beside a step stays
//	end        no run is left, and nothing waits that could have been delivered
package audit
