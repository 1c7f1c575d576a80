package e2e

import (
	"strings"
	"testing"
)

// TestW41_RunsAreReadWhereNothingCanBeWritten: on a read-only file system runs
// are listed, shown and exported, with the log of a killed process and without;
// what would write says why it can't.
func TestW41_RunsAreReadWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"after a clean end": ``,
		"after a kill":      `"$GAMMA" run delay-retry --input '{"seconds":3600}' 2>$OUT/log & until grep -q delay $OUT/log; do sleep 0.01; done; kill -9 $!` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			out := p.apart(run + `"$GAMMA" run fix-loop >/dev/null 2>&1
` + left + `mount --bind "$GAMMA_HOME" "$GAMMA_HOME"; mount -o remount,ro,bind "$GAMMA_HOME"
run list runs list; run json runs list --json; run show runs show last; run export runs export last; run watch runs show nosuch
run cancel runs cancel last; run run run fix-loop --json
`)
			workflow := "fix-loop"
			if left != "" {
				workflow = "delay-retry"
			}
			for _, c := range []struct {
				name, out, err string
				codes          string
			}{
				{"list", workflow, "", "0"}, {"json", `"workflow":"` + workflow + `"`, "", "0"}, {"show", "", workflow, "03"},
				{"export", `"type":"commit","seq":1`, "", "0"}, {"watch", "", "there is no run", "1"},
				{"cancel", "", "read-only file system", "1"}, {"run", `"status":"error"`, "read-only file system", "1"},
			} {
				r := told(t, out, c.name)
				if !strings.Contains(r.stdout, c.out) || !strings.Contains(r.stderr, c.err) || !strings.ContainsRune(c.codes, rune('0'+r.code)) {
					t.Errorf("%s: %+v", c.name, r)
				}
			}
		})
	}
}
