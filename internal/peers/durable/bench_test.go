//go:build peers

package durable

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/gamma-harness/gamma/internal/peers"
)

// BenchmarkDurable lets each engine do the work once in each iteration, and
// prints a table at its end. A turn before them doesn't count: it makes the
// tables and fills the caches. A turn that fails doesn't count either, and is
// listed.
func BenchmarkDurable(b *testing.B) {
	dir, err := os.MkdirTemp("", "durable-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // the user postgres comes through
		b.Fatal(err)
	}
	fmt.Println("PostgreSQL is started, the programs are built; Temporal's server takes some minutes the first time.")
	pg, err := startPostgres(b.Context(), filepath.Join(dir, "pg"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := pg.stop(); err != nil {
			b.Error(err)
		}
	})
	all, err := sides(b.Context(), dir, pg)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range all {
		if err := s.turn(0, filepath.Join(dir, "journal")); err != nil {
			b.Fatalf("%s: %v", s.name, err)
		}
		s.open, s.three, s.long, s.many, s.memory, s.recovery, s.again = nil, nil, nil, nil, nil, nil, nil
	}
	load := loads()
	n := 0
	for b.Loop() {
		n++
		for _, s := range slices.Concat(all[n%len(all):], all[:n%len(all)]) {
			begin := time.Now()
			if err := s.turn(n, filepath.Join(dir, "journal")); err != nil {
				s.failed = append(s.failed, fmt.Errorf("%s, turn %d: %w", s.name, n, err))
			}
			fmt.Printf("  turn %d: %s, %.0f s, three %.2f, long %.1f, many %.1f, recovery %.1f\n", n, s.name, time.Since(begin).Seconds(),
				last(s.three), last(s.long), last(s.many), last(s.recovery))
		}
	}
	b.ReportMetric(0, "ns/op")
	cost, err := peers.SyncCost(dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := printTable(all, pg); err != nil {
		b.Fatal(err)
	}
	for _, s := range all {
		for _, err := range s.failed {
			fmt.Println("  doesn't count:", err)
		}
	}
	fmt.Printf("  Medians (and extremes) of %d turns each, taking turns; %d cores; load before: %s, after: %s; a synced write takes %.2f ms; PostgreSQL %s.\n\n",
		n, runtime.NumCPU(), load, loads(), float64(cost.Microseconds())/1000, pg.version)
}

// sides builds the programs and lists the engines.
func sides(ctx context.Context, dir string, pg *postgres) ([]*side, error) {
	for _, name := range []string{"gamma", "dbos", "river", "temporal"} {
		cmd := exec.Command("nice", "-n", "10", "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "bin", name), "./"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build of %s: %w\n%s", name, err, out)
		}
	}
	all := []*side{
		{name: "gamma, SQLite", bin: "gamma", state: "gamma", dies: true},
		{name: "DBOS, SQLite, commits synced", bin: "dbos", mode: "full", state: "dbos-full/dbos.db", dies: true},
		{name: "DBOS, SQLite, its own setting", bin: "dbos", mode: "normal", state: "dbos-normal/dbos.db", dies: true},
		{name: "DBOS, PostgreSQL", bin: "dbos", pg: pg, dies: true},
		{name: "River, PostgreSQL, its own settings", bin: "river", pg: pg},
		{name: "River, PostgreSQL, quick", bin: "river", mode: "quick", pg: pg, dies: true},
		{name: "Temporal, SQLite, its own settings", bin: "temporal", server: "server", state: "temporal", dies: true},
		{name: "Temporal, SQLite, quick", bin: "temporal", server: "server-quick", state: "temporal-quick", dies: true},
	}
	for _, s := range all {
		name := strings.Trim(s.bin+"_"+s.mode, "_")
		s.bin = filepath.Join(dir, "bin", s.bin)
		if s.pg != nil {
			var err error
			if s.state, err = pg.database(ctx, name); err != nil {
				return nil, err
			}
			continue
		}
		s.state = filepath.Join(dir, s.state)
		folder := s.state
		if filepath.Ext(folder) == ".db" {
			folder = filepath.Dir(folder)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// last is the newest value, for people who wait.
func last(s peers.Series) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return s[len(s)-1]
}

func loads() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(text))[:2], " ")
}

// printTable prints the table.
func printTable(all []*side, pg *postgres) error {
	server, err := pg.size()
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\nengine\topen ms\tthree steps ms\tsteps/s of one run\t50 at once ms\tmemory MiB\tgoes on after a kill, ms\tsteps then\tprogram MB")
	for _, s := range all {
		size, err := treeSize(s.bin)
		if err != nil {
			return err
		}
		mb := fmt.Sprintf("%.1f", float64(size)/1e6)
		if s.pg != nil {
			mb += fmt.Sprintf(" + %.0f", float64(server)/1e6)
		}
		slices.Sort(s.again)
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.name, s.open, s.three, s.long, s.many, s.memory, s.recovery,
			strings.Join(slices.Compact(s.again), " or "), mb)
	}
	return out.Flush()
}
