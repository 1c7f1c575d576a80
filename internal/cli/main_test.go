package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/sandbox"
)

// TestMain makes this program what gamma is to its commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Entry {
		os.Exit(Main(os.Args[1:], Program{Name: "gamma", Examples: true}))
	}
	if args := os.Getenv(mainEnv); args != "" {
		os.Exit(childrenOf(strings.Fields(args)))
	}
	goleak.VerifyTestMain(m)
}

// mainEnv makes the test program do what gamma does with these arguments, and
// then say whether it had children.
const mainEnv = "GAMMA_TEST_MAIN"

func childrenOf(args []string) int {
	had := func() bool {
		var u syscall.Rusage
		return syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) == nil && u.Maxrss > 0
	}
	before := had()
	code := Main(args, Program{Version: "v"})
	fmt.Printf("children: %v, %v\n", before, had())
	return code
}
