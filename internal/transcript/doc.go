// Package transcript holds the record of a session: the kinds of entries, how
// an entry is stored as a line, the walk along a branch, and how entries
// become messages for the model. It decides nothing: which entry comes next
// is the session package's matter.
//
// # Lines
//
// A session's log is a sequence of lines over one or more segment files
// (package disk). Each line is one JSON object, UTF-8, ended by "\n":
//
//	{"id":"2-17","parent":"1-16","time":"2026-11-30T15:04:05.123Z","kind":"assistant","v":1,"body":{…}}
//
// "id" is <epoch>-<seq>; seq counts 1, 2, 3 … over the whole log and epoch is
// the number of the segment. "parent" is set for nodes only, and is "" for
// the first node of a branch that starts at the root. Two families:
//
//   - session records belong to the session on all branches and are folded
//     in log order: open, session, arrive, withdraw, leaf, label, close;
//   - nodes have a parent and are folded along the path from the root to the
//     leaf: facts, deliver, resume, request, assistant, fail, ask,
//     approval, intent, result, abort, settled,
//     compact, compact_failed, model_change.
//
// Compatibility: a kind that this build doesn't know is kept (Unknown) and
// has no effect; an unknown field of a known body is ignored; a line with a
// "v" newer than Version or a session header with a newer schema is refused
// with the number named. A line is refused, too, when it isn't one JSON
// object, has a duplicate name, or isn't UTF-8.
//
// The open entry of a repair says what counts of the segments before it
// (package disk); it may leave gaps in seq and nodes without their parents.
// An arrival has one of the classes of this build; others are refused, since
// nothing would ever deliver it. One of class step is a trusted workflow_step
// and names its attempt, and no other arrival has a step.
//
// # Steps of workflows (step.go)
//
//	arrive    step{run, workflow, node, attempt, kind, completion, maxChars}: a prompt
//	abort     cause: the workflow ends its step; none: a person stops the run
//	result    submitted{attempt, output}: what the workflow accepted
//	settled   attempt: of the run's step
//	withdraw  attempt, arrivals, by, cause: prompts that wait no longer
//	compact   pinned[].step: the words are the prompt of a step
//
// The model gets a prompt as <workflow_step mark workflow step attempt kind
// completion>, the body escaped, from its delivery and from a compaction alike.
//
// # Errors
//
// Decode returns errors that say what is wrong with the line; the caller adds
// file, line and offset. Encode fails only for values that JSON can't hold.
package transcript
