package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gamma-harness/gamma/workflow"
)

// progress is the closed content of an update of the type "progress".
type progress struct {
	workflow.Progress
}

// readProgress reads and checks progress. The text says what is wrong, "" if
// nothing is.
func readProgress(data workflow.JSON) (progress, string) {
	var p progress
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p.Progress); err != nil {
		return p, err.Error()
	}
	return p, p.fault()
}

func progressStates() []string {
	return []string{"pending", "running", "waiting", "blocked", "done", "failed", "cancelled", "skipped"}
}

func (p progress) fault() string {
	counts := p.Completed != nil || p.Total != nil
	switch {
	case !slices.Contains(progressStates(), p.Status):
		return fmt.Sprintf("status %q; want one of %v", p.Status, progressStates())
	case Units(p.Label) > 200:
		return "label has more than 200 characters"
	case Units(p.Phase) > 128:
		return "phase has more than 128 characters"
	case p.Completed != nil && *p.Completed < 0:
		return "completed is below 0"
	case p.Total != nil && *p.Total <= 0:
		return "total isn't over 0"
	case p.Total != nil && p.Completed != nil && *p.Total < *p.Completed:
		return "total is below completed"
	case counts && (p.Unit == "" || Units(p.Unit) > 32):
		return "unit needs 1 to 32 characters where completed or total is given"
	}
	for _, t := range [][2]string{{"eta", p.ETA}, {"at", p.At}} {
		if _, err := time.Parse(time.RFC3339, t[1]); t[1] != "" && err != nil {
			return fmt.Sprintf("%s %q is no time like 2026-11-30T12:00:00Z", t[0], t[1])
		}
	}
	return ""
}

// over reports whether the task has ended.
func (p progress) over() bool {
	return slices.Contains([]string{"done", "failed", "cancelled", "skipped"}, p.Status)
}

// Sample is one measurement of a task's progress.
type Sample struct {
	At        int64  `json:"at"`
	Completed int64  `json:"completed"`
	Total     int64  `json:"total,omitempty"`
	Unit      string `json:"unit,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Over      bool   `json:"over,omitempty"`
}

func (p progress) sample(now int64) *Sample {
	if p.Completed == nil {
		return nil
	}
	s := &Sample{At: now, Completed: *p.Completed, Unit: p.Unit, Phase: p.Phase, Over: p.over()}
	if p.Total != nil {
		s.Total = *p.Total
	}
	if t, err := time.Parse(time.RFC3339, p.At); err == nil {
		s.At = t.UnixMilli()
	}
	return s
}

// samples is how many measurements are kept: the ends of eight intervals.
const samples = 9

// remember adds a measurement. One that isn't comparable with those before it
// begins a new history.
func remember(history []Sample, s *Sample) []Sample {
	if s == nil {
		return history
	}
	if n := len(history); n > 0 {
		was := history[n-1]
		switch {
		case was.Phase != s.Phase, was.Unit != s.Unit, was.Total != s.Total, s.Completed < was.Completed, was.Over, s.At < was.At:
			history = nil
		}
	}
	out := append(slices.Clone(history), *s)
	return out[max(0, len(out)-samples):]
}

// Estimate is what the engine adds to a progress: how fast, how sure, and when
// it ends.
type Estimate struct {
	PerSecond  float64 `json:"perSecond,omitempty"`  // units a second: the median of the newest intervals
	Confidence string  `json:"confidence,omitempty"` // high | medium | low
	ETA        string  `json:"eta,omitempty"`        // RFC 3339
	Source     string  `json:"source,omitempty"`     // of the ETA: source | engine
}

// estimate computes rate, confidence and expected end after a measurement.
// Confidence goes by the spread of the rates, (p75-p25)/median: high needs five
// intervals and at most 0.25, medium two and at most 0.5.
func estimate(history []Sample, s *Sample, p progress) workflow.JSON {
	var e Estimate
	rates := ratesOf(remember(history, s))
	if len(rates) > 0 {
		slices.Sort(rates)
		median := quantile(rates, 0.5)
		spread := math.Inf(1)
		if median > 0 {
			spread = (quantile(rates, 0.75) - quantile(rates, 0.25)) / median
		}
		e.PerSecond, e.Confidence = math.Round(median*1e6)/1e6, "low"
		if len(rates) >= 5 && spread <= 0.25 {
			e.Confidence = "high"
		} else if len(rates) >= 2 && spread <= 0.5 {
			e.Confidence = "medium"
		}
		if s != nil && s.Total > 0 && median > 0 && !p.over() {
			left := float64(s.Total-s.Completed) / median * 1000
			if left < 365*24*3600*1000 {
				e.ETA, e.Source = time.UnixMilli(s.At+int64(left)).UTC().Format(time.RFC3339), "engine"
			}
		}
	}
	if eta, err := time.Parse(time.RFC3339, p.ETA); err == nil && !p.over() && (s == nil || eta.UnixMilli() > s.At) {
		e.ETA, e.Source = p.ETA, "source"
	}
	if e == (Estimate{}) {
		return nil
	}
	return ToJSON(e)
}

// ratesOf are the units a second of each interval.
func ratesOf(history []Sample) []float64 {
	var out []float64
	for i := 1; i < len(history); i++ {
		if d := history[i].At - history[i-1].At; d > 0 {
			out = append(out, float64(history[i].Completed-history[i-1].Completed)*1000/float64(d))
		}
	}
	return out
}

// quantile of sorted values, between neighbours by their distance.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (v[i+1]-v[i])*(at-float64(i))
}
