// Package disk holds the session directories under $GAMMA_HOME/sessions. It
// is the only package that opens a path below them. It stores a session's
// entries so that what was acknowledged survives a kill or a power loss at
// any moment, keeps one writer a session, and says exactly where a file isn't
// what was written. It decides nothing about what entries mean.
//
// # Layout
//
// One directory a session, mode 0700, named by the session's id (a-z, 0-9 and
// "-", at most 64; gamma makes UUIDv7). Files have mode 0600.
//
//	transcript/000001.jsonl   segments: the entries
//	transcript/000001.torn    copy of a fragment that was cut off (.torn.2, …)
//	transcript/000004.lost    copy of what the repair in segment 4 skips, for people
//	todo.json                 projection of the task list
//	NAME.aside                what a repair found in the place of NAME (.aside.2, …)
//	blobs/<sha256>            large contents, named by their hash (hex)
//	spill/NAME                full outputs of tools, and words that a compaction cut;
//	                          no entry depends on them. At most 1 GiB, the oldest go;
//	                          none while the disk is nearly full
//	files/                    workspace of a server session
//	lock                      the owner's lock
//	.new-*                    a replacement being written; the next owner removes it
//
// Beside the sessions, .trash-ID is a session that is being removed, or a copy
// that isn't whole yet (Fork): nobody takes it for one, and the next removal
// removes what is left of it.
//
// blobs, spill, files and todo.json are made when first used.
//
// # Segments
//
// Each owner writes one segment and never to another file of the transcript.
// A segment's number is its token: the highest number that begins a name in
// transcript/ ("7.torn" counts), plus one; more if a higher one is known to have
// been used before the directory was put back from a copy or made anew, so
// numbers may be missing. It has at least six digits in the
// name, is the epoch of the segment's entries, and is never used twice.
//
// A segment is a sequence of records. A record is one entry in one line, as
// package transcript writes it, with its "\n": a line without "\n" is no
// record. The first record is an open entry,
//
//	{"id":"3-10",…,"kind":"open","v":1,"body":{"segment":3,"prev":{"token":2,"length":396,"sha256":"…"},…}}
//
// whose prev seals the predecessor: only its first length bytes count, they
// end with a record, and sha256 is their hash. Whatever stands behind them, a
// fragment or the late writes of a former owner, is never read. Segment 1 has
// no prev, and its second record is the session header.
//
// The log is the chain of segments from the first to the newest one, found by
// following prev. The newest is the one with the highest token that isn't
// void. A segment is void if its first line isn't a whole open entry because
// its owner was stopped before that: nothing in it is a whole record, and it
// has at most 4096 bytes. A void segment stays as it is and is passed over.
//
// Rules of the log, checked before writing and when reading:
//
//   - an entry's epoch is its segment's token;
//   - seq counts 1, 2, 3, … over all segments;
//   - an open entry stands in the first line of each segment and nowhere
//     else; the session header is entry 2, nothing else is;
//   - the parent of a node is an earlier node, or none;
//   - the header names the session that the directory is named after.
//
// # Reading
//
// Of the newest segment, everything up to the last whole record counts. What
// stands behind it is a torn tail: a write that was cut short, never
// acknowledged. It is the rest from the first line that is no entry, if that
// line isn't a whole JSON object with its "\n" and no such line stands behind
// it. The next owner seals at the last whole record, copies the fragment to
// TOKEN.torn and leaves the segment as it is. A line that was written whole is
// never taken for a torn one.
//
// Everything else that doesn't fit is damage: *DamageError names the file, the
// line and the byte, and nothing is changed. The entries before it can be
// read. If the hash of a sealed segment differs though every line is in order,
// the line can't be told. A whole line with a version number, or a header with
// a schema, that is newer than this build's is no damage but a *NewerError.
//
// Read, Tail and List take no lock and change nothing; they work while
// somebody owns the session and then report no torn tail, since it may be a
// record being written at that moment. Unknown kinds are kept.
//
// # Repair
//
// Examine names every fault; Mend repairs. No file of the transcript is ever
// changed or removed: a repair is a new segment whose open entry carries,
// beside prev, a list that takes the place of the whole chain below it:
//
//	"repair":{"segments":[{"token":1,"length":953,"sha256":"…","skip":[{"offset":402,"length":131,"why":"…"}]},…],
//	          "header":{"token":1,"offset":149},"lost":["1-3"],"taken":["2-9"],
//	          "gaps":[{"node":"2-9","after":"1-4","run":"1-4","arrivals":["1-5"]}],"blobs":["…"],"sum":"…"}
//
// Segments that it doesn't list don't count. Of a listed one the first length
// bytes count, as the repair found them, without the ranges to skip, which are
// whole lines; the other lines count in the order of their numbers. The last
// one may lack its "\n", if a seal showed that nothing else was there. prev is
// the last one listed. The session header stands at "header", or, with the
// repair's own token, in its second line (it was lost and made anew). "sum" is
// the hash of the repair itself. For such a log the rules are:
//
//   - below a repair, seq rises, with gaps, and each entry is of its segment's
//     epoch; parents, open entries and the header may be missing;
//   - the repair's seq is higher than any number that is known to have been
//     used; from there on the rules above hold again;
//   - a node whose parent is missing stands behind "after" of the gap that
//     names it, else it is on no branch.
//
// Which lines count: those that are entries of their segment. Of entries whose
// numbers contradict each other, as many count as stand in order; one that
// stands elsewhere counts if its number is free, so swapped lines lose nothing
// and doubled ones count once. The numbers of a line that can't be read are
// never used again.
//
// Where the conversation goes on: where it stood, over the gaps on its path
// (package session says how a fold crosses one), if no node can be lost behind
// that and it isn't inside a gap. Else a leaf record moves it to the newest
// settled entry, or the root, before. A run in which entries contradict each
// other is left out as if it were lost. Session records stay, whatever
// happens to the nodes. A message whose record is gone but not its delivery
// ("lost") leaves a note in its place. A waiting message that a lost delivery
// may have taken waits no longer ("taken"): what was done once isn't done
// again unasked; people are told, and it is shown in the first gap ("arrivals")
// that may have delivered it. What stands in a later segment arrived after all
// that a lost one held. Another kind of file in the place of a segment stays
// and is passed over; under the other names of the directory it is set aside.
// A torn tail alone is no reason for a repair: the doctor opens the session as
// any owner and leaves. Newer versions are refused, unless they stand in a
// segment whose seal doesn't fit: that is damage. Blobs can't be repaired; the
// repair notes that they are known.
//
// A later examination relies on a repair only while it and every segment that
// it lists are unchanged; else it judges all files anew.
//
// # Order of writes
//
// Create: directory, lock, transcript/, sync of both parents; segment 1,
// empty; sync of transcript/; open entry and header in one write; sync. A
// crash before the end leaves an unfinished creation: no whole header, at most
// 64 KiB, nothing else in the directory. List leaves it out, Open says so.
//
// Open: lock; read; new segment, empty; sync of transcript/; if the
// predecessor has grown since, read again; copy a fragment aside (written,
// synced, renamed, directory synced); sync of the predecessor; the open entry
// in one write; sync.
//
// Append: one write, one sync, then a look whether a segment with the next
// number exists. doc/state.md says what a crash between any two steps leaves.
//
// Mend: set aside what isn't of the kind that its name is for; lock; new
// segment, empty (void until the last step); read and plan; sync of all that it
// names; the copy; then the whole segment in place of the empty one, by another
// name and a rename.
//
// Collect: lock; look for names of blobs in all files but blobs, spills and
// files/; delete the blobs without one.
//
// Remove: lock; what the caller asks under it; rename to .trash-ID; sync; delete.
//
// Fork: .trash-ID of the new session with segments, blobs, spills and todo.json,
// each synced; sync of its directories; rename to ID; sync. Its lock is held all
// the while, so that EmptyTrash leaves it alone.
//
// todo.json and blobs are written under another name, synced, renamed, and the
// directory is synced. A blob is on disk before an entry refers to it.
//
// # One writer
//
// The owner holds a kernel lock (flock) on the open file lock. It ends with the
// process, however that ends. The file holds {"pid","host","since"} for
// people while somebody owns the session; nothing is decided by it, and it is
// shown only while the lock is held and its process isn't known to be gone.
// The file is never unlinked.
//
// Should the lock not hold (deleted by hand, or a file system without locks),
// no acknowledged entry gets lost either: a new owner creates its segment
// before it reads the predecessor for the last time, and an owner looks for
// that segment after each sync and stops with ErrTaken if it is there.
//
// # Errors
//
// Callers can tell apart *LockedError, *NotFoundError, *AmbiguousError,
// *UnfinishedError, *DamageError, *NewerError and *StoppedError. The first
// failed append stops the session (ErrStopped), since what is in the file then
// isn't known; opening it again finds out. Messages name the session, the
// file, the cause and what to do. Failures of todo.json, blobs and spills
// don't stop the session.
package disk
