package cli

import "runtime/debug"

// memoryAim is what the collector tries to keep the process below, in bytes.
// A session lives in far less; what goes beyond is mostly the copies that one
// huge answer passes through, and these shall be collected one by one.
const memoryAim = 96 << 20

// stayLean makes the collector work harder when memory passes memoryAim. What
// is really in use may have more. The user's GOMEMLIMIT rules.
func stayLean(env func(string) string) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryAim)
	}
}
