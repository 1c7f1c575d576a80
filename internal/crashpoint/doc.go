// Package crashpoint marks the boundaries between writes, so that a test can
// stop the program at any of them. In an ordinary build it does nothing and
// costs nothing. In a build with the tag "crashpoints" the environment
// variable GAMMA_CRASH_AT=NAME[:N] makes the process kill itself with SIGKILL
// when it passes the point NAME for the N-th time (the first time, if N isn't
// given): nothing is flushed, closed or unlocked. A NAME that is not listed
// here or a bad N ends the process at its first point with exit code 2 and a
// message, since a test that waits for such a crash would prove nothing.
//
// Here marks a point between two steps; Torn marks a write that can be cut
// in half, Cut one that can lose its last line. The points:
//
//	create.dir-made         the session directory exists and is locked, nothing in it
//	create.segment-created  the first segment exists, empty; the directories are synced
//	create.torn             half of the opening lines (open, session) is written
//	create.after-write      the opening lines are written, not synced
//	create.after-sync       the opening lines are synced, the caller doesn't know yet
//	open.locked             the lock is held, nothing was read
//	open.segment-created    the new segment exists, empty; its directory is synced
//	open.torn-copied        the fragment of a torn tail is copied aside (passed only if there is one)
//	open.torn               half of the open line is written
//	open.after-write        the open line is written, not synced
//	open.after-sync         the open line is synced, the caller doesn't know yet
//	append.before           nothing of the batch is written
//	append.torn             half of the batch's bytes is written
//	append.cut              all lines of the batch but the last are written
//	append.after-write      the batch is written, not synced
//	append.after-sync       the batch is synced, the caller doesn't know yet
//	repair.segment-created  the doctor's segment exists, empty
//	repair.copied           what a repair skips is copied aside (or nothing is to be copied)
//	remove.renamed          a session that is being removed has its other name, nothing is synced
//	fork.filled             a copy of a session is whole and synced, under a name that nobody takes for one
//	fork.renamed            it has its name, nothing is synced
//	rewind.file             one more file is as it was before, the conversation hasn't moved
//	rewind.restored         all are, the conversation hasn't moved
//	replace.before-rename   a replacement (todo.json, a blob, a torn tail's copy) is synced under its temporary name
//	replace.after-rename    it has its name, the directory isn't synced
//	file.noted              a file of the workspace is about to be written; its lock names the temporary file
//	file.before-rename      the temporary file is synced
//	file.after-rename       the file is replaced, its lock still names the temporary file
//	store.before-begin      writes wait for a transaction of the database
//	store.before-commit     all of them are in the transaction, it isn't committed
//	store.after-commit      it is committed and synced, no caller knows yet
//	step.owed               an attempt of an agent step is prepared, its session knows nothing of it
//	step.prompted           the prompt is in the session, nobody waits for the answer yet
//	step.settled            the attempt has settled in its session, the run knows nothing of it
//
// Quick shortens the times of a claim in such a build, so that a test can let a
// lease run out.
package crashpoint

// Variable is the environment variable that names the point to crash at.
const Variable = "GAMMA_CRASH_AT"

// QuickVariable is the environment variable by whose number Quick divides.
const QuickVariable = "GAMMA_QUICK"

// Names returns the names of all points, in the order of the table above.
func Names() []string {
	return []string{
		"create.dir-made", "create.segment-created", "create.torn", "create.after-write", "create.after-sync",
		"open.locked", "open.segment-created", "open.torn-copied", "open.torn", "open.after-write", "open.after-sync",
		"append.before", "append.torn", "append.cut", "append.after-write", "append.after-sync",
		"repair.segment-created", "repair.copied", "remove.renamed",
		"fork.filled", "fork.renamed", "rewind.file", "rewind.restored",
		"replace.before-rename", "replace.after-rename",
		"file.noted", "file.before-rename", "file.after-rename",
		"store.before-begin", "store.before-commit", "store.after-commit",
		"step.owed", "step.prompted", "step.settled",
	}
}
