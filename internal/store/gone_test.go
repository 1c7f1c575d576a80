package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
)

// TestW12_AFileThatIsGoneTakesNothing: what nobody could find isn't written,
// and the error names the file.
func TestW12_AFileThatIsGoneTakesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		do   func(path string) error
	}{
		"removed":       {"", os.Remove},
		"log removed":   {"-wal", os.Remove},
		"index removed": {"-shm", os.Remove},
		"moved away":    {"", func(path string) error { return os.Rename(path, path+".old") }},
		"replaced": {"", func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".new", b, 0o600)
			}
			if err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gamma.db")
			s := openTemp(t, path)
			defer s.Close()
			k := &kit{t: t, Store: s, ctx: t.Context(), now: 1, graphs: graphs(t)}
			k.start("r", "steps", "")
			if err := c.do(path + c.file); err != nil {
				t.Fatal(err)
			}
			<-time.After(lookEvery)
			err := s.Leave(t.Context(), "r", "x", flow.Pause{By: "me"}, 1)
			if !errors.Is(err, ErrGone) || errors.Is(err, ErrTryLater) || !strings.Contains(err.Error(), path+c.file+": ") {
				t.Errorf("got %v", err)
			}
		})
	}
}
