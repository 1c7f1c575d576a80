package gamma_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma"
	"github.com/gamma-harness/gamma/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Name is who is greeted.
type Name struct {
	Task string `json:"task"`
}

// greet is a workflow of one step.
func greet() (*workflow.Definition, error) {
	in := workflow.Input[Name]()
	hello := workflow.Compute("hello", func(c *workflow.Ctx) (string, error) { return "Hello, " + in.Of(c).Task, nil })
	flow, err := workflow.Define("greet", in, hello, workflow.Description("Greet somebody."))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}

// A program's main would say os.Exit(gamma.Main(os.Args[1:], …)).
func Example() {
	config := gamma.Config{Name: "mytool", Version: "1.0", Workflows: []func() (*workflow.Definition, error){greet}}
	code := gamma.Main([]string{"run", "--list"}, config)
	fmt.Println("exit code", code)
	// Output:
	// WORKFLOW  WHAT IT DOES
	// greet     Greet somebody.
	// exit code 0
}

// TestW5_WrongWorkflowsEndTheProgram: package catalog's test has the texts.
func TestW5_WrongWorkflowsEndTheProgram(t *testing.T) {
	broken := func() (*workflow.Definition, error) { return nil, errors.New("broken") }
	for _, own := range [][]func() (*workflow.Definition, error){{broken}, {greet, greet}, {nil}} {
		if code := gamma.Main([]string{"version"}, gamma.Config{Name: "mytool", Workflows: own}); code != 2 {
			t.Errorf("exit code %d, want 2", code)
		}
	}
}
