package peers

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Series are the values of one measure, one for each run that counts.
type Series []float64

// Median is the middle value, or the mean of the two in the middle; NaN if
// there is none.
func (s Series) Median() float64 {
	n := len(s)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// String is the median with the smallest and the largest value.
func (s Series) String() string {
	switch len(s) {
	case 0:
		return "–"
	case 1:
		return short(s[0])
	}
	return fmt.Sprintf("%s (%s–%s)", short(s.Median()), short(slices.Min(s)), short(slices.Max(s)))
}

// short has three significant digits and no exponent.
func short(v float64) string {
	digits := 0
	for limit := 100.0; math.Abs(v) < limit && digits < 3; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Row is a measure of both programs.
type Row struct {
	Name string
	Unit string
	Ours Series
	Peer Series
}

// Ratio says how many times as much the peer needs: median by median.
func (r Row) Ratio() float64 { return r.Peer.Median() / r.Ours.Median() }

// metric is the name of a figure of the row in the output of Go's benchmarks:
// of a program, or "ratio".
func (r Row) metric(of string) string {
	name := strings.NewReplacer(" ", "-", ":", "").Replace(r.Name) + "-" + of
	if of == "ratio" {
		return name
	}
	return name + "-" + r.Unit
}

// Table is the comparison.
type Table struct {
	Ours, Peer string // the programs
	Rows       []*Row
	Notes      []string // what one must know to read it
}

// Row returns the row of this name, made if it isn't there.
func (t *Table) Row(name, unit string) *Row {
	for _, r := range t.Rows {
		if r.Name == name {
			return r
		}
	}
	r := &Row{Name: name, Unit: unit}
	t.Rows = append(t.Rows, r)
	return r
}

// Print writes the table for people.
func (t *Table) Print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "\tunit\t%s\t%s\tratio\n", t.Ours, t.Peer)
	for _, r := range t.Rows {
		ratio := "–"
		if q := r.Ratio(); !math.IsNaN(q) && !math.IsInf(q, 0) {
			ratio = short(q) + "×"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Unit, r.Ours, r.Peer, ratio)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, n := range t.Notes {
		if _, err := fmt.Fprintln(w, "  "+n); err != nil {
			return err
		}
	}
	return nil
}
