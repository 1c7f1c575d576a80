package sim

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/sim/audit"
)

// tampering is a fault that is put into the record of a sound history. do
// reports false if the history has no place for it.
type tampering struct {
	name, rule string
	do         func(*audit.Record) bool
}

// seenBy finds the last observation of a kind.
func seenBy(r *audit.Record, kind audit.SeenKind) *audit.Seen {
	for i := len(r.Seen) - 1; i >= 0; i-- {
		if r.Seen[i].Kind == kind {
			return &r.Seen[i]
		}
	}
	return nil
}

// again repeats the last observation of a kind.
func again(kind audit.SeenKind) func(*audit.Record) bool {
	return func(r *audit.Record) bool {
		s := seenBy(r, kind)
		if s != nil {
			r.Seen = append(r.Seen, *s)
		}
		return s != nil
	}
}

func tamperings() []tampering {
	return []tampering{
		{"an acknowledged entry is lost", "durable", func(r *audit.Record) bool {
			s := seenBy(r, audit.Acked)
			s.Entry = "99-999"
			return true
		}},
		{"published before it was on disk", "durable", func(r *audit.Record) bool {
			seenBy(r, audit.Published).Durable = 0
			return true
		}},
		{"a byte of a segment differs", "log", func(r *audit.Record) bool {
			if len(r.Segments) < 2 {
				return false
			}
			r.Segments[0].Data[len(r.Segments[0].Data)/2] ^= 1
			return true
		}},
		{"a line is missing", "log", func(r *audit.Record) bool {
			s := &r.Segments[len(r.Segments)-1]
			lines := bytes.SplitAfter(s.Data, []byte("\n"))
			if len(lines) < 5 {
				return false
			}
			s.Data = bytes.Join(slices.Delete(lines, 2, 3), nil)
			return true
		}},
		{"a request is sent again", "request", again(audit.Sent)},
		{"a message of a request differs", "request", func(r *audit.Record) bool {
			s := seenBy(r, audit.Sent)
			s.Messages[0] = append([]byte(" "), s.Messages[0]...)
			return true
		}},
		{"an effect happens again", "effect", again(audit.Effect)},
		{"a tool starts again", "effect", again(audit.Started)},
		{"an answer is acknowledged with other words", "arrival", func(r *audit.Record) bool {
			seenBy(r, audit.Acked).Text += "?"
			return true
		}},
		{"the projection is old", "tasks", func(r *audit.Record) bool {
			old := r.Todo
			r.Todo = nil
			return old != nil
		}},
		{"a wait is too short", "retry", func(r *audit.Record) bool {
			s := seenBy(r, audit.Failed)
			if s == nil || s.Wait != 0 {
				return false
			}
			s.Wait = 59 * time.Second
			return true
		}},
	}
}

// TestR1_AuditSeesTampering plays histories until each fault had its place.
func TestR1_AuditSeesTampering(t *testing.T) {
	k, err := NewKit()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tamperings() {
		t.Run(f.name, func(t *testing.T) {
			for seed := uint64(1); seed < 300; seed++ {
				w := k.world(seed, Options{}, NewTotals())
				if err := w.judge(); err != nil {
					t.Fatal(err)
				}
				if !f.do(&w.rec) {
					continue
				}
				_, err := audit.Check(&w.rec)
				var v *audit.Violation
				if errors.As(err, &v) && v.Rule == f.rule {
					return
				}
				if err != nil || seed > 100 {
					t.Fatalf("seed %d: got %v, want a violation of %s", seed, err, f.rule)
				}
			}
			t.Fatal("no history has a place for it")
		})
	}
}
