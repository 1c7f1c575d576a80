//go:build race

package sim

// defaultSeeds is how many histories a test run plays under the race
// detector, which is slow and has little to find without goroutines.
const defaultSeeds = 300
