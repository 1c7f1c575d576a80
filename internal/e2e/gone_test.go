package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestW40_AHostNoticesThatItsDatabaseIsGone: it stops, and says what happened,
// instead of working for nobody.
func TestW40_AHostNoticesThatItsDatabaseIsGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	host := p.cmd("host")
	var out bytes.Buffer
	host.Stderr = &out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	p.ok("run", "command-batch", "--detach")
	eventually(t, "the run ends", func() bool { return p.runStatus() == "completed " })
	path := filepath.Join(p.home, "gamma.db")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	if code := host.ProcessState.ExitCode(); code != 1 || !strings.Contains(out.String(), path+": it was removed or replaced while it was open") {
		t.Errorf("exit code %d, said:\n%s", code, out.String())
	}
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if got := p.runStatus(); got != "completed " {
		t.Errorf("put back, the run is %q", got)
	}
}
