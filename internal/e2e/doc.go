// Package e2e holds the tests of the real binary: it is built, started as a
// process, fed over real HTTP, killed, and judged by what anybody can see of
// it: exit codes, the lines of --json, the files of the session, the bytes
// that a server received.
//
// The package has no code of its own. Its tests share none with what they
// judge: they read transcripts by the format that package disk documents and
// compare requests with their own eyes. The scripted model and the strict
// fake provider play the models.
//
// # Kills
//
// A kill is SIGKILL to the process of gamma alone. Its bash children are
// sessions of their own and live on: a command that was running at the kill
// can still write a second later, while the resumed run already goes on. That
// is what "outcome unknown" means: the transcript tells the model that the
// call may have taken full, partial or no effect, and it stays true when the
// effect comes late. So the tests wait until all that a killed process
// started is gone before they count effects, and an effect whose call has an
// unknown outcome may be there or not, but never twice.
//
// The processes of a test hold the writing end of a pipe, which their
// children inherit; its end of file says that the last of them is gone.
//
// # Knobs
//
// GAMMA_KILLS is the number of random kills (default 12), GAMMA_KILL_SEED
// makes them the same again, as far as the clock allows.
package e2e
