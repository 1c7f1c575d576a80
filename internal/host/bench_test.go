package host_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	w "github.com/gamma-harness/gamma/workflow"
)

type counter struct {
	N    int    `json:"n"`
	More bool   `json:"more"`
	Pad  string `json:"pad"`
}

// counting is a loop of two nodes with outputs of 200 bytes, for steps steps.
func counting(tb testing.TB, steps int) *w.Definition {
	var a *w.NodeOf[counter]
	pad := strings.Repeat("x", 160)
	b := w.Compute("b", func(c *w.Ctx) (counter, error) { return counter{a.Of(c).N + 1, true, pad}, nil })
	a = w.Compute("a", func(c *w.Ctx) (counter, error) {
		last, _ := b.Last(c)
		return counter{last.N + 1, last.N+1 < steps-1, pad}, nil
	})
	end := w.Compute("end", func(c *w.Ctx) (string, error) { return "", nil })
	f, err := w.Define("counting", w.Input[in](), a, w.Switch(a, "$.more", w.Cases{"true": b, "false": end}), w.Then(b, a), w.MaxSteps(steps+10))
	if err != nil {
		tb.Fatal(err)
	}
	return f.Definition()
}

// stepper carries out workflows of so many steps in a database of its own.
func stepper(b *testing.B, steps int) func() {
	db, err := store.OpenSQLite(b.Context(), filepath.Join(b.TempDir(), "gamma.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	def := counting(b, steps)
	h := host.NewRuns(host.Config{Store: db, Holder: "bench", Find: func(store.Definition) (*w.Definition, error) { return def, nil }})
	return func() {
		id, err := h.Start(context.Background(), host.Request{Definition: def, Source: "bench", Input: w.JSON(`{"word":""}`), Workspace: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		r, err := h.Drive(context.Background(), id, nil)
		if err != nil || r.Status != flow.Completed {
			b.Fatalf("%v, %+v", err, r)
		}
	}
}

// BenchmarkP5_Steps measures durable steps of one run, in a database of its
// own: callback, decision, one synced commit.
func BenchmarkP5_Steps(b *testing.B) {
	for _, steps := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			run := stepper(b, steps)
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*steps), "µs/step")
		})
	}
}

// BenchmarkP5_Ratio measures the same three things in turn, so that what else
// the machine does meets all of them: steps of a run, the rows that they write
// in a bare loop of one synced transaction a step, and one autocommitted insert
// a step. bare/step and insert/step are the ratios of their medians; 0.7 and
// 0.6 are asked.
func BenchmarkP5_Ratio(b *testing.B) {
	const steps = 500
	turns := []func(){stepper(b, steps), bare(b, true), bare(b, false)}
	times := make([][]time.Duration, len(turns))
	for b.Loop() {
		for i, turn := range turns {
			begun := time.Now()
			if turn(); i > 0 {
				for range steps - 1 {
					turn()
				}
			}
			times[i] = append(times[i], time.Since(begun))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2].Nanoseconds()) / 1000 / steps
	}
	b.ReportMetric(median(0), "µs/step")
	b.ReportMetric(median(1)/median(0), "bare/step")
	b.ReportMetric(median(2)/median(0), "insert/step")
}

// BenchmarkP5_Bare writes the same rows in a bare loop, one synced transaction
// a step, and beside it one autocommitted insert a step.
func BenchmarkP5_Bare(b *testing.B) {
	for _, what := range []string{"same rows", "one insert"} {
		b.Run(what, func(b *testing.B) {
			step := bare(b, what == "same rows")
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/step")
		})
	}
}

// bare writes what a step writes, or the one insert only, into a database of
// its own.
func bare(b *testing.B, all bool) (step func()) {
	dir := b.TempDir()
	s, err := store.OpenSQLite(b.Context(), filepath.Join(dir, "gamma.db"))
	if err != nil {
		b.Fatal(err)
	}
	h := host.NewRuns(host.Config{Store: s, Holder: "bench"})
	id, err := h.Start(context.Background(), host.Request{Definition: counting(b, 10), Source: "bench", Input: w.JSON(`{"word":""}`), Workspace: dir})
	if err != nil {
		b.Fatal(err)
	}
	s.Close()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "gamma.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	prepare := func(q string) *sql.Stmt {
		s, err := db.Prepare(q)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	event := prepare(`INSERT INTO event(run, seq, at, token, facts, output) VALUES(?,?,?,?,?,?)`)
	node := prepare(`INSERT INTO node(run, node, attempt, outcome, code, message, seq, notified) VALUES(?,?,?,'ok','','',?,0)
		ON CONFLICT(run, node) DO UPDATE SET attempt=excluded.attempt, seq=excluded.seq`)
	run := prepare(`UPDATE run SET seq=?, attempts=?, steps=?, open=?, updated_at=?, lease_until=? WHERE id=? AND seq<?`)
	begin, commit := prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	facts := `[{"kind":"attempt_finished","node":"a","attempt":"` + id + `/a#1000","outcome":"ok"},{"kind":"attempt_started","node":"b","attempt":"` + id + `/b#1001","at":1796067780050}]`
	output := `{"n":1000,"more":true,"pad":"` + strings.Repeat("x", 160) + `"}`
	seq := 10
	must := func(_ sql.Result, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	return func() {
		seq++
		if !all {
			must(event.Exec(id, seq, 1, 1, facts, output))
			return
		}
		must(begin.Exec())
		must(run.Exec(seq, seq, seq, facts, seq, seq, id, seq))
		must(event.Exec(id, seq, 1, 1, facts, output))
		must(node.Exec(id, "a", "x", seq))
		must(commit.Exec())
	}
}
