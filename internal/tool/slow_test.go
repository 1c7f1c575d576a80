package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// bigEdit is a content of about size bytes and n edits, each of one line. With
// loose, oldText has a blank at its end that the line hasn't; with missing, the
// line isn't there.
func bigEdit(size, n int, loose, missing bool) (content string, edits []textEdit) {
	var b strings.Builder
	lines := size / 40
	for i := range lines {
		fmt.Fprintf(&b, "func name%08d() { return nil }  \n", i)
	}
	for k := range n {
		i := k * (lines / n)
		old := fmt.Sprintf("func name%08d() { return nil }", i)
		if loose {
			old += "\n" + fmt.Sprintf("func name%08d() { return nil }", i+1)
		}
		if missing {
			old = fmt.Sprintf("func nome%08d() { return nil }", i)
		}
		edits = append(edits, textEdit{old, fmt.Sprintf("func other%08d() {}", i)})
	}
	return b.String(), edits
}

// TestE43_E8_LargeEditsHearAnAbort: an edit that would take minutes ends soon
// after nobody waits for it any more.
func TestE43_E8_LargeEditsHearAnAbort(t *testing.T) {
	for name, of := range map[string]struct{ loose, missing bool }{"exact": {}, "inexact": {loose: true}, "missing": {missing: true}} {
		t.Run("E8 "+name, func(t *testing.T) {
			content, edits := bigEdit(4<<20, 20_000, of.loose, of.missing)
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("stop")
			var at time.Time
			time.AfterFunc(50*time.Millisecond, func() { at = time.Now(); cancel(stop) })
			_, err := planWithin(&effort{ctx: ctx, left: 1 << 60}, content, edits)
			if took := time.Since(at); !errors.Is(err, stop) || took > 2*time.Second {
				t.Errorf("%s after the abort: %v", took, err)
			}
		})
	}
}

// TestE43_WorkIsBounded: what would take too long is refused, and says so.
func TestE43_WorkIsBounded(t *testing.T) {
	for name, of := range map[string]struct{ loose, missing bool }{"exact": {}, "inexact": {loose: true}, "missing": {missing: true}} {
		t.Run("E43 "+name, func(t *testing.T) {
			content, edits := bigEdit(1<<20, 1000, of.loose, of.missing)
			_, err := planWithin(&effort{ctx: t.Context(), left: 100 << 20}, content, edits)
			if err == nil || !strings.Contains(err.Error(), "make several calls") {
				t.Errorf("got %v", err)
			}
			if _, err := plan(t.Context(), content, edits); (err != nil) != of.missing {
				t.Errorf("within the bounds: %v", err)
			}
		})
	}
	t.Run("E43 only the first faults are explained", func(t *testing.T) {
		content, edits := bigEdit(1<<20, 1000, false, true)
		_, err := plan(t.Context(), content, edits)
		if err == nil || strings.Count(err.Error(), "the nearest text") != 5 || strings.Count(err.Error(), "not found") != 1000 {
			t.Errorf("got %.2000v", err)
		}
	})
}
