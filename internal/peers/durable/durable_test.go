package durable

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGammaAlone tries a turn and a kill with gamma, without any other engine.
func TestGammaAlone(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if out, err := exec.Command("go", "build", "-o", bin, "./gamma").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s := &side{bin: bin, state: filepath.Join(dir, "state"), dies: true}
	if err := s.turn(1, filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]float64{"open": s.open, "three": s.three, "long": s.long, "many": s.many, "memory": s.memory, "recovery": s.recovery} {
		if len(got) != 1 || got[0] <= 0 {
			t.Errorf("%s: got %v, want one positive figure", name, got)
		}
	}
	if !slices.Equal(s.again, []string{"[2 3]"}) {
		t.Errorf("steps that began after the kill: got %v, want [2 3]", s.again)
	}
}

// TestBrokenProgramSaysWhy shows what a program that can't open says.
func TestBrokenProgramSaysWhy(t *testing.T) {
	_, err := spawn("sh", "-c", "echo no such database >&2; exit 1")
	if err == nil || !strings.Contains(err.Error(), "no such database") {
		t.Errorf("got %v, want what the program said", err)
	}
}

// TestJournal reads only what belongs to the run and came after the moment.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	if out, err := exec.Command("sh", "-c", `printf '5 a 1\n9 b 2\n20 a 2\n30 a 3\n40 a' > "$1"`, "sh", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, steps, err := read(path, "a", time.Unix(0, 10))
	if err != nil || !slices.Equal(steps, []int{2, 3}) {
		t.Errorf("got %v, %v; want [2 3]", steps, err)
	}
}
