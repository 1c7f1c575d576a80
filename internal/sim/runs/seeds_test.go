//go:build !race

package runs

// defaultSeeds is how many histories a test run plays.
const defaultSeeds = 1500
