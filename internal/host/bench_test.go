package host_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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

// BenchmarkP5_Steps measures durable steps of one run, in a database of its
// own: callback, decision, one synced commit.
func BenchmarkP5_Steps(b *testing.B) {
	for _, steps := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			db, err := store.OpenSQLite(b.Context(), filepath.Join(b.TempDir(), "gamma.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			def := counting(b, steps)
			h := host.NewRuns(host.Config{Store: db, Holder: "bench", Find: func(store.Definition) (*w.Definition, error) { return def, nil }})
			for b.Loop() {
				id, err := h.Start(context.Background(), host.Request{Definition: def, Source: "bench", Input: w.JSON(`{"word":""}`), Workspace: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				r, err := h.Drive(context.Background(), id, nil)
				if err != nil || r.Status != flow.Completed {
					b.Fatalf("%v, %+v", err, r)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*steps), "µs/step")
		})
	}
}

// BenchmarkP5_Bare writes the same rows in a bare loop, one synced transaction
// a step, and beside it one autocommitted insert a step.
func BenchmarkP5_Bare(b *testing.B) {
	for _, what := range []string{"same rows", "one insert"} {
		b.Run(what, func(b *testing.B) {
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
			defer db.Close()
			db.SetMaxOpenConns(1)
			bare(b, db, id, what == "same rows")
		})
	}
}

func bare(b *testing.B, db *sql.DB, id string, all bool) {
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
	for b.Loop() {
		seq++
		if !all {
			must(event.Exec(id, seq, 1, 1, facts, output))
			continue
		}
		must(begin.Exec())
		must(run.Exec(seq, seq, seq, facts, seq, seq, id, seq))
		must(event.Exec(id, seq, 1, 1, facts, output))
		must(node.Exec(id, "a", "x", seq))
		must(commit.Exec())
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/step")
}
