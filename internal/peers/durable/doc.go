// Package durable compares gamma's workflows with other durable engines at the
// same runs of three steps: DBOS, River and Temporal, each in a process of its
// own, taking turns in one benchmark. make bench-durable runs it. It is a module
// of its own, so that gamma depends on none of them.
//
// # What is the same
//
// A step is a pure function that returns 200 bytes (package contender). Its
// result is stored before the next step begins, and every engine is made to
// sync each commit; those that don't do it by themselves have a row for both.
// A run is one workflow of n nodes (gamma), a function with n steps (DBOS), a
// chain of n jobs (River) or a function with n activities (Temporal). Disk,
// machine and time are the same. A turn counts only if as many steps ran as
// there had to be, and each run ended well.
//
// # What is measured
//
//	open     spawn of the program with its state → ready for orders
//	three    one run of three steps: started, until its end is known;
//	         the median of ten in a turn
//	long     steps a second of one run of sixty steps
//	many     50 runs of three steps at once, until the last has ended
//	memory   Pss of the program and of the server that it needs, after these
//	recovery the program is killed (SIGKILL) in the second step, and spawned
//	         again: spawn → the step begins again, and which steps ran again.
//	         Servers stay up: it is the program that died
//	size     bytes of the program, and of the server
//
// # What is installed
//
// Go builds each program from its module. PostgreSQL must be on the machine
// (Debian: apt-get install postgresql); it is started on a free port of the
// loopback interface with a new folder and its own defaults, as user postgres
// if we are root, since it refuses to run as root. Temporal's server is built
// from its module too, which takes some minutes the first time.
package durable
