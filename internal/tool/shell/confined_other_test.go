//go:build !linux

package shell

import "testing"

func wrapIfConfined(*testing.T, *Config) {}
