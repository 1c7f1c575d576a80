package peers

import (
	"math"
	"strings"
	"testing"
)

func TestP1_MedianAndExtremes(t *testing.T) {
	for _, c := range []struct {
		s    Series
		want string
	}{
		{nil, "–"},
		{Series{12.345}, "12.3"},
		{Series{3, 1, 2}, "2.00 (1.00–3.00)"},
		{Series{4, 1, 3, 2}, "2.50 (1.00–4.00)"},
		{Series{0.00123, 0.0123}, "0.007 (0.001–0.012)"},
		{Series{1234.5, 999.4}, "1117 (999–1234)"},
		{Series{0, 0}, "0.000 (0.000–0.000)"},
	} {
		if got := c.s.String(); got != c.want {
			t.Errorf("%v: %q, want %q", []float64(c.s), got, c.want)
		}
	}
	s := Series{3, 1, 2}
	_ = s.Median()
	if s[0] != 3 {
		t.Error("the order of the runs was changed")
	}
	if !math.IsNaN(Series(nil).Median()) {
		t.Error("nothing has a median")
	}
}

func TestP1_TableOfBoth(t *testing.T) {
	table := &Table{Ours: "gamma", Peer: "pi", Notes: []string{"A note."}}
	table.Row("start", "ms").Ours = Series{10, 20, 30}
	table.Row("start", "ms").Peer = Series{400, 500, 300}
	table.Row("alone", "MiB").Ours = Series{7}
	table.Row("nothing", "ms").Ours = Series{0}
	table.Row("nothing", "ms").Peer = Series{1}
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `         unit  gamma             pi             ratio
start    ms    20.0 (10.0–30.0)  400 (300–500)  20.0×
alone    MiB   7.00              –              –
nothing  ms    0.000             1.00           –
  A note.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if got := table.Rows[0].metric("gamma") + " " + (Row{Name: "turn gap: CPU", Unit: "ms"}).metric("ratio"); got != "start-gamma-ms turn-gap-CPU-ratio" {
		t.Errorf("metrics are named %q", got)
	}
}
