// Package gamma makes a program of one's own that has all of gamma's commands
// and runs workflows of one's own: on the command line, in a host, and started
// by a model.
//
//	package main
//
//	func main() {
//		os.Exit(gamma.Main(os.Args[1:], gamma.Config{
//			Workflows: []func() (*workflow.Definition, error){deploy.Workflow},
//		}))
//	}
//
// Such a program, called mytool, then has mytool run deploy, mytool host,
// mytool runs list and the rest (mytool help). Package runs starts and answers
// the same runs inside a process that has no command line of this kind.
//
// # A new build
//
// A stored run goes on in each program that has its workflow under the same
// name, with an equal graph and an equal revision (workflow.Revision). A build
// that changes neither goes on with all open runs, whatever else has changed in
// it, so raise the revision when a run that is open must not go on with new
// code. Where graph or revision have changed, or the workflow is gone, the run
// is parked for the operator, readable, with what to do: go on with the program
// that began it, or cancel it and start a new one. Nothing is lost either way.
// Examples and workflows of one's own never stand for each other.
package gamma

import (
	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/cli"
	"github.com/gamma-harness/gamma/workflow"
)

// Config is what a program is made of. The zero value is gamma without
// workflows, under the executable's name.
type Config struct {
	// Name is the program's name in help, hints and errors; "": the
	// executable's. Commands that are printed to be copied begin with the
	// executable's path instead.
	Name string
	// Version is the program's own: the command version prints "mytool 1.0
	// (gamma …)", with gamma's behind it.
	Version string
	// Workflows make the program's own workflows. Each is called once, when the
	// program begins.
	Workflows []func() (*workflow.Definition, error)
	// Examples: gamma's example workflows can be run too, with the demo's
	// stories that are made of them.
	Examples bool
}

// Main runs one command and returns the process's exit code, which
// "help" of each command lists. main must call it before it does anything
// else: the program runs itself again to confine commands.
//
// All that is wrong with Workflows, also two of one name or one with the name
// of an example, is printed at once, and the exit code is 2.
func Main(args []string, c Config) int {
	own := make([]catalog.Make, len(c.Workflows))
	for i, w := range c.Workflows {
		own[i] = w
	}
	return cli.Main(args, cli.Program{Name: c.Name, Version: c.Version, Workflows: own, Examples: c.Examples})
}
