package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/sim/audit"
)

// Totals count what happened in many histories.
type Totals struct {
	Histories, Entries, Requests, Tears, Effects, Unknown int
	PowerLosses, Stops, Samples, Cuts                     int

	Crashes map[string]int // by point
	Faults  map[string]int
	Opens   map[string]int // by why
	Events  map[string]int
	Settles map[string]int // by reason
	Kinds   map[string]int // entries
	Classes map[string]int // arrivals delivered
	Cases   map[string]int // rare situations
}

// NewTotals returns empty totals.
func NewTotals() *Totals {
	t := &Totals{}
	for _, m := range t.maps() {
		*m.m = map[string]int{}
	}
	return t
}

type named struct {
	name string
	m    *map[string]int
}

func (t *Totals) maps() []named {
	return []named{{"crashes", &t.Crashes}, {"faults", &t.Faults}, {"opens", &t.Opens}, {"events", &t.Events},
		{"settles", &t.Settles}, {"entries", &t.Kinds}, {"delivered", &t.Classes}, {"cases", &t.Cases}}
}

func (t *Totals) numbers() []*int {
	return []*int{&t.Histories, &t.Entries, &t.Requests, &t.Tears, &t.Effects, &t.Unknown, &t.PowerLosses, &t.Stops, &t.Samples, &t.Cuts}
}

func (t *Totals) count(s audit.Stats) {
	t.Histories++
	t.Entries += s.Entries
	t.Requests += s.Requests
	t.Tears += s.Tears
	t.Effects += s.Effects
	t.Unknown += s.Unknown
	for to, from := range map[*map[string]int]map[string]int{&t.Settles: s.Settles, &t.Kinds: s.Kinds, &t.Classes: s.Classes, &t.Cases: s.Cases} {
		for k, n := range from {
			(*to)[k] += n
		}
	}
}

// Add adds other totals to these.
func (t *Totals) Add(o *Totals) {
	for i, n := range o.numbers() {
		*t.numbers()[i] += *n
	}
	for i, m := range o.maps() {
		for k, n := range *m.m {
			(*t.maps()[i].m)[k] += n
		}
	}
}

// String prints the totals, a line a group.
func (t *Totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d entries, %d requests checked, %d tears, %d power losses, %d stopped actors, %d effects, %d unknown outcomes, %d commits sampled, %d cuts\n",
		t.Histories, t.Entries, t.Requests, t.Tears, t.PowerLosses, t.Stops, t.Effects, t.Unknown, t.Samples, t.Cuts)
	for _, m := range t.maps() {
		sum, parts := 0, []string{}
		for _, k := range slices.Sorted(maps.Keys(*m.m)) {
			sum += (*m.m)[k]
			parts = append(parts, fmt.Sprintf("%s %d", k, (*m.m)[k]))
		}
		fmt.Fprintf(&b, "%s %d: %s\n", m.name, sum, strings.Join(parts, " · "))
	}
	return b.String()
}

// Missing names what never happened although the world can bring it about.
func (t *Totals) Missing() []string {
	want := expected()
	var out []string
	for _, m := range t.maps() {
		for _, k := range strings.Split(want[m.name], ", ") {
			if (*m.m)[k] == 0 {
				out = append(out, m.name+": "+k)
			}
		}
	}
	return out
}

// expected lists what must happen in a thousand histories and more.
func expected() map[string]string {
	return map[string]string{
		"crashes": "create.torn, create.after-write, create.after-sync, open.locked, open.segment-created, open.torn, open.after-write, " +
			"open.after-sync, append.before, append.torn, append.after-write, append.after-sync, replace.before-rename, replace.after-rename, " +
			"publish.before, publish.middle, start.before, start.after, ack.before, idle, answering, compacting, tool.started, tool.effected",
		"faults": "short write, failed sync, failed replace",
		"opens":  "start, wake, deposit, compact",
		"settles": "done, yield, no_yield, length, content_filter, aborted, interrupted, error, incomplete, limit, crash_loop, " +
			"context_irreducible",
		"entries":   "withdraw, open, close, session, arrive, facts, deliver, resume, request, assistant, fail, ask, approval, compact, compact_failed, intent, result, abort, settled",
		"delivered": "step, prompt, steer, answer, follow, next",
		"events": "workflow, workflow ends a step, timer, upgrade, facts, deposit, resume, abort, conflict, repeated, sent again, close, long wait, shared write, " +
			"approval, stale approval, relaxed, brought, late answer, late tool report, model answer, model failure, tool report",
		"cases": "a step that can't be submitted, a step is copied, a copy goes on elsewhere, a person speaks in a step, refused in a step, submitted, step adopted, prompt withdrawn, answer taken, output taken, step begins beside a hold, hold kept by a step, step closes an interrupted one, reply to a step's yield, step prompt pinned, " +
			"step settled: done, step settled: yield, step settled: aborted, step settled: interrupted, step settled: limit, step settled: error, step settled: crash_loop, step settled: length, skill activated, skill unchanged, skill too large, skills conflict in a batch, skills closed, open steps refused, " +
			"open steps delivered, gated call, update told by a result, update of what is known, " +
			"superseded, early words, joined at a stop, nudge, asked again, adopted answer, more, resume, resume behind an orderly end, deaf tool, cut call, " +
			"bad call, denied call, approved, refused by a person, granted before, yield beside calls, safe tool again, abort during tools, abort during the answer, " +
			"abort of an interrupted run, waits at the end, facts session, facts date, facts agents, " +
			"fail retry, fail incomplete, fail fatal, fail overflow, hold lifted: yield, hold lifted: aborted, hold lifted: error, " +
			"hold lifted: incomplete, hold lifted: limit, hold lifted: crash_loop, hold lifted: context_irreducible, compacted, compaction in a run, compaction by a person, request pinned, long words shortened, " +
			"not compacted: empty, not compacted: cut, not compacted: tool_call, not compacted: no_progress, not compacted: nothing_to_compact, " +
			"not compacted: model_error, not compacted: aborted, not compacted: body_lost",
	}
}
