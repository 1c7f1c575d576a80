// Package runner carries out one claimed workflow run: what flow.Owed says, one
// effect at a time, each outcome stored before the next begins.
//
// One goroutine at a time drives, and owns the run value. Everything that
// changes it passes through that one: the effect that has ended, signals that
// others left, the deadline, the renewal of the claim, the end of the context.
// An effect runs in a goroutine of its own and gets the run as it stood when it
// began. Only what is computed is so short mostly that the driver does it
// itself; if it takes longer, another goroutine drives on.
//
// # Order
//
// Decide, commit, take the next state, tell Observe, start what is owed. A
// commit that fails ends Drive: the run value is dropped, and who claims the run
// next reads it again. Nothing outside is begun with less than StartMargin left
// of the lease.
//
// # How Drive ends
//
//	nil       nothing is owed: the run has ended, waits or is parked
//	ErrLost   somebody else has the claim, or may have it; effects were ended first
//	others    the store or the program's surroundings failed; the run is as it
//	          was stored, and goes on at the next claim
//
// A store that can't be used for now (ErrTryLater) is called again, and Trouble
// is told once. A running effect is ended StartMargin before its lease; without
// one nothing is lost by waiting, and the claim's token decides. When its
// context ends meanwhile, Drive returns ErrTryLater.
//
// When its context ends, Drive parks the run for any host, unless its claim is
// lost. Effects are told to end and waited for: a command's process group gets
// TERM, and KILL after a second; a Go callback that doesn't listen to its
// context is left to itself after EndWait.
//
// # Callbacks
//
// They see the run by flow.Reads. An error, a panic included, is the node's
// failure. A store that can't be read isn't: it ends Drive.
//
// # Commands
//
// A process group in the workspace, with the environment that the host gives
// and the command's own over it. Each stream keeps its first MaxChars UTF-16
// units, 1,000,000 at most. The receipt is stored with the attempt also when it
// failed. The streams of a batch's items share what can be stored, each the
// same. Lines of standard output may become updates; the command waits when
// more than a few wait to be stored. Updates end with the command's time.
//
// A command that finds no workspace wasn't begun: the run is parked for the
// operator.
package runner
