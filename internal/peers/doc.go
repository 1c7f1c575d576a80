// Package peers compares gamma with Pi, a coding agent that comes from npm: the
// same scripted work for both, taking turns in one run, against the strict fake
// provider over HTTP on loopback. make bench-peers runs it; make test tries the
// same with gamma alone and needs neither npm nor a network.
//
// # What is the same
//
// Prompts, the model's answers with their calls, the file that is read, the
// dialect (Chat Completions), the server, the disk, the environment (PATH and a
// home of its own). Answers that read come in fragments, one each millisecond,
// so that all but the end of a stream is read before its last byte is written.
// A run counts only if the program ended with exit code 0, the provider refused
// nothing, and the requests held the words and the results that they must hold.
// The first run of each program warms the caches and doesn't count.
//
// # What is measured
//
//	start    spawn of the program → the whole first request has arrived
//	turns    a session of 50 turns that read a small file:
//	         gap   the last byte of an answer is written → the whole next
//	               request has arrived: wall clock, and CPU time of the
//	               program between these moments
//	         turn  CPU time from one request to the next
//	         memory when the last request arrives: VmHWM and VmRSS
//	resume   spawn of the program on a stored session → the whole request has
//	         arrived. Both sessions hold the same conversation, which is
//	         20,000 entries of gamma's; Pi needs fewer for it
//	size     bytes of the files that are installed
//
// The build tag peers adds the benchmark that does it all; without the tag the
// package has no benchmark, so that make bench needs no npm.
//
// CPU times are those of the process's own clock (clock_getcpuclockid), not
// ticks. What differs is printed under the table: gamma syncs what it stores
// before it goes on, Pi leaves that to the system.
//
// # What is installed
//
// npm/package.json and its lock file pin Pi, the Node that it runs on, and all
// that they need. Install puts them into a folder that git ignores, named by
// the lock file's hash; a folder that has its final name is whole. No install
// script runs. Nothing else is kept.
package peers
