//go:build peers

package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// rounds is the conversation that makes 20,000 entries of gamma's.
const rounds = 2222

// BenchmarkPeers compares gamma with Pi: each iteration runs the work once
// with each. It prints a table at its end.
func BenchmarkPeers(b *testing.B) {
	top, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(top, ".cache", "peers")
	fmt.Printf("Pi and its Node come from npm into %s, unless they are there.\n", dir)
	pi, err := Install(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	gamma, err := Build(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	c := New(gamma, pi, b.TempDir())
	n := 0
	b.Run("P1 start", func(b *testing.B) { n = several(b, c, c.Start) })
	b.Run("P2 turns", func(b *testing.B) { several(b, c, c.Turns) })
	long := Long(rounds)
	ours, peer, err := c.Store(long)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("P4 resume", func(b *testing.B) { several(b, c, func() error { return c.Resume(long, ours, peer) }) })
	b.Run("P9 size", func(b *testing.B) { several(b, c, c.Size) })
	sizes, err := c.Parts()
	if err != nil {
		b.Fatal(err)
	}
	cost, err := SyncCost(c.Dir)
	if err != nil {
		b.Fatal(err)
	}
	c.Table.Notes = []string{
		fmt.Sprintf("Medians (and extremes) of %d runs each, taking turns; ratio: pi / gamma; %d cores.", n, runtime.NumCPU()),
		fmt.Sprintf("gamma syncs every step to disk before it goes on; one synced write takes %.2f ms here. Pi writes and doesn't sync.", ms(cost)),
		fmt.Sprintf("The long session is one conversation: %d entries and %.1f MB of gamma's, %d entries and %.1f MB of Pi's.",
			ours.Entries, float64(ours.Bytes)/1e6, peer.Entries, float64(peer.Bytes)/1e6),
		"Installed: " + sizes + ".",
	}
	fmt.Println()
	if err := c.Table.Print(os.Stdout); err != nil {
		b.Fatal(err)
	}
	fmt.Println()
}

// several repeats a measure after a run that warms up, and reports the medians
// of the rows that it fills.
func several(b *testing.B, c *Comparison, measure func() error) int {
	before := len(c.Table.Rows)
	if err := measure(); err != nil {
		b.Fatal(err)
	}
	rows := c.Table.Rows[before:]
	c.Forget(rows)
	n := 0
	for b.Loop() {
		n++
		if err := measure(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, r := range rows {
		b.ReportMetric(r.Ours.Median(), r.metric("gamma"))
		b.ReportMetric(r.Peer.Median(), r.metric("pi"))
		b.ReportMetric(r.Ratio(), r.metric("ratio"))
	}
	return n
}
