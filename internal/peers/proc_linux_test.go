package peers

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestP2_StatusOfAProcess(t *testing.T) {
	const whole = "Name:\tnode\nVmPeak:\t  900 kB\nVmHWM:\t  131072 kB\nVmRSS:\t    2048 kB\nThreads:\t11\n"
	m, err := parseStatus(whole)
	if err != nil || m != (Memory{Peak: 128 << 20, Now: 2 << 20}) {
		t.Errorf("%+v, %v", m, err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"of a process that has ended": {"Name:\tnode\nState:\tZ (zombie)\n", "has the process ended"},
		"without one of the two":      {strings.Replace(whole, "VmRSS", "Vm", 1), "aren't both there"},
		"of another unit":             {strings.Replace(whole, "131072 kB", "128 MB", 1), `VmHWM is "128 MB"`},
		"without a number":            {strings.Replace(whole, "2048", "much", 1), `VmRSS is "much kB"`},
	} {
		if _, err := parseStatus(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestP2_ClockOfAProcess(t *testing.T) {
	me := os.Getpid()
	before, err := cpuTime(me)
	if err != nil {
		t.Fatal(err)
	}
	begin, sum := time.Now(), 0
	for time.Since(begin) < 20*time.Millisecond {
		sum++
	}
	after, err := cpuTime(me)
	if err != nil || after <= before {
		t.Errorf("CPU time went from %s to %s in a busy loop of %d rounds, %v", before, after, sum, err)
	}
	if m, err := memoryOf(me); err != nil || m.Now <= 1<<20 || m.Peak < m.Now {
		t.Errorf("own memory %+v, %v", m, err)
	}
	const none = 1 << 22 // above what Linux gives out
	if _, err := cpuTime(none); err == nil || !strings.Contains(err.Error(), "4194304") {
		t.Errorf("clock of no process: %v", err)
	}
	if _, err := memoryOf(none); err == nil {
		t.Error("memory of no process")
	}
}
