package sim

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// seeds is how many histories are played: GAMMA_SIM_SEEDS, or the default.
func seeds(t *testing.T) int {
	n := defaultSeeds
	if s := os.Getenv("GAMMA_SIM_SEEDS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("GAMMA_SIM_SEEDS=%q: want a number from 1", s)
		}
	}
	return n
}

// play runs the histories of the seeds 1 to n on all processors and returns
// the totals and the failure with the smallest seed. It stops at a failure.
func play(k *Kit, n int, opt Options) (*Totals, *Failure) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var next atomic.Uint64
	var failed atomic.Bool
	all := NewTotals()
	var worst *Failure
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			mine := NewTotals()
			for !failed.Load() {
				seed := next.Add(1)
				if seed > uint64(n) {
					break
				}
				var f *Failure
				if errors.As(k.Run(seed, opt, mine), &f) {
					failed.Store(true)
					mu.Lock()
					if worst == nil || f.Seed < worst.Seed {
						worst = f
					}
					mu.Unlock()
				}
			}
			mu.Lock()
			all.Add(mine)
			mu.Unlock()
		})
	}
	wg.Wait()
	return all, worst
}

func TestR1_Simulation(t *testing.T) {
	k, err := NewKit()
	if err != nil {
		t.Fatal(err)
	}
	if s := os.Getenv("GAMMA_SIM_SEED"); s != "" {
		replay(t, k, s)
		return
	}
	n := seeds(t)
	totals, failed := play(k, n, Options{})
	t.Logf("\n%s", totals)
	if failed != nil {
		t.Fatal(failed)
	}
	if missing := totals.Missing(); n >= 1000 && len(missing) > 0 {
		t.Errorf("never happened:\n%s", strings.Join(missing, "\n"))
	}
}

// replay plays one seed and prints its step log.
func replay(t *testing.T, k *Kit, s string) {
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("GAMMA_SIM_SEED=%q: want a number", s)
	}
	w := k.world(seed, Options{}, NewTotals())
	err = w.judge()
	for _, step := range w.steps {
		t.Log(step)
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

func TestR1_SameSeedSameHistory(t *testing.T) {
	k, err := NewKit()
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 40; seed++ {
		a, b := k.world(seed, Options{}, NewTotals()), k.world(seed, Options{}, NewTotals())
		if err := errors.Join(a.judge(), b.judge()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !slices.Equal(a.steps, b.steps) {
			t.Fatalf("seed %d: two plays differ", seed)
		}
		for i, s := range a.disk.segments {
			if !bytes.Equal(s.data, b.disk.segments[i].data) {
				t.Fatalf("seed %d: two plays left other bytes in segment %d", seed, s.token)
			}
		}
	}
}
