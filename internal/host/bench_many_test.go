package host_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	w "github.com/gamma-harness/gamma/workflow"
)

// BenchmarkP5_Runs carries 50 runs of 20 steps out, one after the other and all
// at once, in one database. The ratio of the two is what group commit gives.
func BenchmarkP5_Runs(b *testing.B) {
	const runs, steps = 50, 20
	for _, c := range []struct {
		name   string
		atOnce int
	}{{"sequential", 1}, {"at once", runs}} {
		b.Run(c.name, func(b *testing.B) {
			db, err := store.OpenSQLite(b.Context(), filepath.Join(b.TempDir(), "gamma.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			def := counting(b, steps)
			h := host.NewRuns(host.Config{Store: db, Holder: "bench", Find: func(store.Definition) (*w.Definition, error) { return def, nil }})
			for b.Loop() {
				slots := make(chan struct{}, c.atOnce)
				var all sync.WaitGroup
				for range runs {
					slots <- struct{}{}
					all.Go(func() {
						defer func() { <-slots }()
						drive(b, h, start(b, h, def))
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(b.N*runs*steps)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

func start(b *testing.B, h *host.Runs, def *w.Definition) string {
	id, err := h.Start(context.Background(), host.Request{Definition: def, Source: "bench", Input: w.JSON(`{"word":""}`), Workspace: b.TempDir()})
	if err != nil {
		b.Error(err)
	}
	return id
}

func drive(b *testing.B, h *host.Runs, id string) {
	if r, err := h.Drive(context.Background(), id, nil); err != nil || r.Status != flow.Completed {
		b.Errorf("%v, %+v", err, r)
	}
}

// BenchmarkD3_List lists 1,000 stored runs, and beside it reads their rows bare.
func BenchmarkD3_List(b *testing.B) {
	path := filepath.Join(b.TempDir(), "gamma.db")
	s, err := store.OpenSQLite(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h := host.NewRuns(host.Config{Store: s, Holder: "bench"})
	def := counting(b, 10)
	for range 1000 {
		start(b, h, def)
	}
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Runs(context.Background(), 0); err != nil || len(list) != 1000 {
				b.Fatalf("%d, %v", len(list), err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		for b.Loop() {
			bareList(b, db)
		}
	})
}

func bareList(b *testing.B, db *sql.DB) {
	rows, err := db.Query(`SELECT * FROM run ORDER BY created_at DESC`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(any)
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != 1000 {
		b.Fatalf("%d, %v", n, err)
	}
}
