// Command gamma runs agent sessions. All that it does is in package cli; this
// file only hands over the arguments and the exit code.
package main

import (
	"os"

	"github.com/gamma-harness/gamma/internal/cli"
)

// version is stamped by the build: -ldflags "-X main.version=…".
var version string

func main() { os.Exit(cli.Main(os.Args[1:], version)) }
