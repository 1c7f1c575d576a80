// Package repotest holds the tests about the repository itself: what a reader
// may rely on in every package. It has no code of its own and is imported by
// nobody. Each check takes a tree (file names and bytes) and returns
// findings, "path:line: what is wrong and what to do"; the same checks run
// over this repository and over small made-up trees that each have one fault,
// so no check can rot into one that never fails.
//
// The checks:
//
//   - imports: a package imports only the packages of ours that its row in
//     table_test.go names; a package without a row is a finding. Test files
//     are free, but session and flow never see each other.
//   - purity: packages of the core group reach no clock, file, network,
//     database, randomness, environment, goroutine, channel or lock.
//   - package docs, exported docs: each package has one package comment that
//     says something (3 lines and 200 characters, unless it is a command);
//     each exported name is documented.
//   - file length, function length, package names: the size and name rules.
//   - package state: no init function, no blank or dot import, and no
//     variable of a package but errors, embedded files, compile-time
//     assertions and the few that table_test.go lists with a reason.
//   - forbidden text, unfinished: no file names a build machine's paths or a
//     package registry's host; no Go file has a marker of unfinished work.
//   - sleeps and skips: no test waits by the clock or leaves itself out.
//   - goroutine leaks: a package that starts goroutines has tests that look
//     for leaked ones.
//   - spec index: doc/spec.md says which tests show which rule, and is the
//     text that "make spec" would write.
//
// Files are those that git tracks or would track (not ignored ones). Go files
// in testdata, in directories that begin with "_" or ".", and in other
// modules below the top are data here, not code. All files are parsed, for
// every platform and build tag. The checks go by syntax and don't resolve
// types: a local name that hides an import's name confuses them.
package repotest
