//go:build crashpoints

package disk

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// crash runs a child that dies at the n-th passing of a point, and returns
// the number of entries that it had acknowledged. False: it lived.
func crash(t *testing.T, h *Home, point string, n int) (acked int, died bool) {
	t.Helper()
	p := start(t, h, "work", fmt.Sprintf("%s=%s:%d", crashpoint.Variable, point, n))
	said, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	for line := range strings.Lines(string(said)) {
		if _, err := fmt.Sscanf(line, "ack %d", &acked); err != nil && line != "end <nil>\n" {
			t.Errorf("child said %q", line)
		}
	}
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	died = status.Signaled() && status.Signal() == syscall.SIGKILL
	if !died && (status.ExitStatus() != 0 || !strings.HasSuffix(string(said), "end <nil>\n")) {
		t.Errorf("child ended with %v, said %q", status, said)
	}
	return acked, died
}

func TestR2_KillAtEachWriteBoundary(t *testing.T) {
	for _, point := range crashpoint.Names() {
		switch strings.Split(point, ".")[0] {
		case "create", "open", "append", "replace":
		default:
			continue // another package's
		}
		t.Run(point, func(t *testing.T) {
			for n := 1; ; n++ {
				h := newHome(t)
				acked, died := crash(t, h, point, n)
				if !died && n == 1 {
					t.Fatal("the point was never passed")
				}
				if !died {
					return
				}
				s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
				if acked == 0 && strings.HasPrefix(point, "create.") && err != nil {
					asError[*UnfinishedError](t, err)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Entries) < acked {
					t.Errorf("passing %d: %d entries, %d were acknowledged", n, len(s.Entries)-1, acked)
				}
				if torn := s.Torn != nil; torn != (point == "append.torn") && !strings.HasPrefix(point, "open.") && !strings.HasPrefix(point, "replace.") {
					t.Errorf("passing %d: torn %v", n, s.Torn)
				}
				if void := len(s.Void) > 0; void != (point == "open.segment-created" || point == "open.torn" || point == "open.torn-copied") && !strings.HasPrefix(point, "replace.") {
					t.Errorf("passing %d: void %v", n, s.Void)
				}
				add(t, s, prompt("on we go"), facts("x"))
				shut(t, s)
				if log, err := h.Read(sessionID); err != nil || log.Torn != nil {
					t.Errorf("passing %d: torn %v, %v", n, log.Torn, err)
				}
			}
		})
	}
}

// A repair that is killed at any step leaves the session as damaged as it
// was, or repaired; the next one gets it done, and no file was changed.
func TestR2_BC28_KilledRepairIsRepeated(t *testing.T) {
	for _, point := range []string{"repair.segment-created", "repair.copied", "replace.before-rename", "replace.after-rename"} {
		t.Run(point, func(t *testing.T) {
			for n := 1; ; n++ {
				h := newHome(t)
				all := threeSegments(t, h)
				d := dirOf(h, sessionID)
				change(t, d.segment(2), 2, "{", "[")
				before := history(t, d)
				p := start(t, h, "mend", fmt.Sprintf("%s=%s:%d", crashpoint.Variable, point, n))
				said, err := io.ReadAll(p.out)
				if err != nil {
					t.Fatal(err)
				}
				_ = p.Wait()
				if died := !strings.Contains(string(said), "end <nil>"); !died && n == 1 {
					t.Fatalf("the point was never passed: %q", said)
				} else if !died {
					return
				}
				after := history(t, d)
				for name, data := range before {
					if after[name] != data {
						t.Errorf("passing %d: %s was changed", n, name)
					}
				}
				_, entries := mend(t, h)
				if len(entries) < len(all) {
					t.Errorf("passing %d: %d entries", n, len(entries))
				}
			}
		})
	}
}

func TestR2_KilledRemovalIsFinished(t *testing.T) {
	h := newHome(t)
	threeSegments(t, h)
	p := start(t, h, "remove", crashpoint.Variable+"=remove.renamed")
	if _, err := io.ReadAll(p.out); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	if list, err := h.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if n, err := h.EmptyTrash(); err != nil || n == 0 {
		t.Errorf("%d, %v", n, err)
	}
}
