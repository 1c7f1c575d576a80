package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// BenchmarkP1_SpawnToFirstRequest measures from the spawn of the binary to the
// arrival of its first request at a server on this machine.
func BenchmarkP1_SpawnToFirstRequest(b *testing.B) {
	p := newPlace(b)
	arrived := make(chan time.Time, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- time.Now()
		http.Error(w, `{"error":{"message":"enough","code":"enough"}}`, http.StatusBadRequest)
	}))
	defer server.Close()
	p.env = append(p.env, "OPENAI_BASE_URL="+server.URL+"/v1", "GAMMA_MODEL=openai/fake-1")
	var all []time.Duration
	for b.Loop() {
		start := time.Now()
		r := p.start("hello")
		all = append(all, (<-arrived).Sub(start))
		r.end()
	}
	report(b, all, "ms", time.Millisecond)
}

// report prints the mean and the median of durations.
func report(b *testing.B, all []time.Duration, unit string, in time.Duration) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(mean(all))/float64(in), unit+"/mean")
	b.ReportMetric(float64(median(all))/float64(in), unit+"/median")
}

// BenchmarkP2_TurnGap runs sessions whose turns each read a small file and
// measures, a turn: the time from the last byte of an answer to the arrival of
// the next request, and the CPU time of the process beyond a session without
// such turns.
func BenchmarkP2_TurnGap(b *testing.B) {
	const turns = 100
	var cpu float64
	var gaps []time.Duration
	n := 0
	for b.Loop() {
		n++
		short, _ := turnSession(b, 0)
		long, g := turnSession(b, turns)
		cpu += float64((long - short).Microseconds()) / turns
		gaps = append(gaps, g...)
	}
	report(b, gaps, "gap-µs", time.Microsecond)
	b.ReportMetric(cpu/float64(n), "cpu-µs/turn")
}

// turnSession runs one session of so many turns and returns its CPU time and
// the gaps between answers and requests.
func turnSession(b *testing.B, turns int) (cpu time.Duration, gaps []time.Duration) {
	p := newPlace(b)
	if err := os.WriteFile(filepath.Join(p.ws, "notes.txt"), []byte(strings.Repeat("a line of text\n", 40)), 0o600); err != nil {
		b.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("version: 1\nsteps:\n")
	for range turns {
		script.WriteString("  - {text: Reading., tools: [{name: read, args: {path: notes.txt}}]}\n")
	}
	script.WriteString("  - {text: Over.}\n")
	fake := p.provider(fakeprovider.Responses, script.String(), fakeprovider.Options{})
	answered := make([]time.Time, 0, turns+1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fake.ServeHTTP(w, r)
		answered = append(answered, time.Now()) // one request at a time
	}))
	defer server.Close()
	p.env = append(p.env, "OPENAI_BASE_URL="+server.URL+"/v1")
	r := p.start("read")
	if code := r.end(); code != 0 {
		b.Fatalf("exit %d, %s", code, r.stderr)
	}
	usage := r.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	requests := fake.Requests()
	for i := 1; i < len(requests); i++ {
		gaps = append(gaps, requests[i].At.Sub(answered[i-1]))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), gaps
}

// BenchmarkP9_Version measures gamma version and the size of the binary.
func BenchmarkP9_Version(b *testing.B) {
	p := newPlace(b)
	var all []time.Duration
	for b.Loop() {
		start := time.Now()
		if r := p.run("version"); r.code != 0 || !strings.HasPrefix(r.stdout, "gamma ") {
			b.Fatal(fmt.Sprint(r))
		}
		all = append(all, time.Since(start))
	}
	report(b, all, "ms", time.Millisecond)
	fi, err := os.Stat(gammaBin)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(fi.Size())/1e6, "MB")
}

func mean(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(max(1, len(all)))
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
