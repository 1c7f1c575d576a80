package cli

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/sandbox"
)

// TestMain makes this program what gamma is to its commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Entry {
		os.Exit(Main(os.Args[1:], Program{Name: "gamma", Examples: true}))
	}
	goleak.VerifyTestMain(m)
}
