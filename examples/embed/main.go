// Command mytool has all of gamma's commands, and the workflows deploy and
// notes.
package main

import (
	"os"

	"github.com/gamma-harness/gamma"
	"github.com/gamma-harness/gamma/workflow"

	"example.com/mytool/deploy"
)

func main() {
	os.Exit(gamma.Main(os.Args[1:], gamma.Config{
		Version:   "1.0",
		Workflows: []func() (*workflow.Definition, error){deploy.Workflow, deploy.NotesWorkflow},
	}))
}
