package cli

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stuck is a writer whose reader reads only when it is told to.
type stuck struct {
	open chan struct{}
	got  strings.Builder
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.open
	return s.got.Write(b)
}

func TestC12_SlowReaderLosesOnlyWhatIsProvisional(t *testing.T) {
	w := &stuck{open: make(chan struct{})}
	q := newQueue()
	o := q.outlet(w, true)
	if !o.offer([]byte("first ")) {
		t.Fatal("nothing waits, and the offer was refused")
	}
	for range 3 { // far more than a pipe holds
		if _, err := io.WriteString(o, strings.Repeat("x", behindBytes)); err != nil {
			t.Fatal(err)
		}
	}
	if o.offer([]byte("provisional")) {
		t.Error("a provisional piece was taken far behind")
	}
	if _, err := io.WriteString(o, " last"); err != nil {
		t.Fatal(err)
	}
	if q.close(time.Millisecond) {
		t.Error("closed, and nobody has read")
	}
	close(w.open)
	<-q.done
	if got := w.got.String(); len(got) != len("first ")+3*behindBytes+len(" last") || !strings.HasSuffix(got, " last") {
		t.Errorf("%d bytes were written", len(got))
	}
}

// gone is a writer that fails.
type gone struct{ err error }

func (g gone) Write([]byte) (int, error) { return 0, g.err }

func TestC12_BrokenOutputIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		vital bool
		ends  bool
	}{
		{"C12 a full disk behind the results", syscall.ENOSPC, true, true},
		{"C12 a full disk behind the progress", syscall.ENOSPC, false, false},
		{"C12 a reader of the progress that has gone", syscall.EPIPE, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newQueue()
			o := q.outlet(gone{c.err}, c.vital)
			for range 3 {
				if _, err := io.WriteString(o, "x"); err != nil {
					t.Fatal(err)
				}
			}
			q.close(0)
			ends := false
			select {
			case <-q.broken:
				ends = true
			default:
			}
			if ends != c.ends || !errors.Is(o.failure(), c.err) {
				t.Errorf("ends the run: %v, failure %v", ends, o.failure())
			}
		})
	}
}
