// Command gamma runs agent sessions. All that it does is in package gamma; this
// file only hands over the arguments and the exit code.
package main

import (
	"os"

	"github.com/gamma-harness/gamma"
)

// version is stamped by the build: -ldflags "-X main.version=…".
var version string

func main() {
	os.Exit(gamma.Main(os.Args[1:], gamma.Config{Name: "gamma", Version: version, Examples: true}))
}
