package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// runView is a run as a terminal shows it: what has happened, a line each, and
// below them a few lines of what goes on, which are drawn again and again. It
// follows from the events alone and does no input or output.
type runView struct {
	color  bool
	graph  *workflow.Graph
	names  int // columns of a node's name
	began  time.Time
	last   time.Time // of the newest event
	steps  int
	done   int            // steps that went to their end
	visits map[string]int // how often a node was entered
	fails  map[string]int // tries of a node that failed since it last went well
	node   string         // that is open; "" is none
	since  time.Time      // of node
	limit  time.Time      // node's deadline
	wait   wire.RunEvent  // what the run waits for; its type is "" if it waits for nothing
	news   []wire.RunEvent
	calls  []openCall // of the run's session
	note   string     // what there is to say instead of how to stop
	first  string     // the run of the session that goes before this one; "": none
}

func newRunView(color bool) *runView {
	return &runView{color: color, visits: map[string]int{}, fails: map[string]int{}}
}

// widestName is how many columns the names of nodes get at most.
const widestName = 28

// of tells the view whose run it shows.
func (v *runView) of(g *workflow.Graph) {
	v.graph, v.names = g, 8
	for _, n := range g.Nodes {
		v.names = max(v.names, min(cells(n.ID)+3, widestName))
	}
}

func (v *runView) row(width int, spans ...span) string { return spanned(width, v.color, spans...) }

// header is the first lines. The id is never cut: people copy it.
func (v *runView) header(verb string, r wire.Run, width int) []string {
	lines := v.heading(verb, r, width)
	if r.Session != "" {
		lines = append(lines, v.row(max(width, len("session ")+len(r.Session)), span{dim, "session " + r.Session}))
	}
	return lines
}

func (v *runView) heading(verb string, r wire.Run, width int) []string {
	id := []span{{dim, verb + " "}, {"", r.Run}}
	if cells(verb+" "+r.Run+" · "+r.Workflow) <= width {
		return []string{v.row(width, append(id, span{dim, " · "}, span{bold, r.Workflow}, span{dim, " · " + r.Workspace})...)}
	}
	return []string{v.row(width, span{dim, verb + " "}, span{bold, r.Workflow}, span{dim, " · " + r.Workspace}), v.row(max(width, len(r.Run)), span{"", r.Run})}
}

// took is how long it has taken, from the first event to the newest.
func (v *runView) took() time.Duration { return v.last.Sub(v.began) }

// name is a node's name with how often it was entered.
func (v *runView) name(node string, width int) []span {
	names := min(v.names, max(10, width*2/5))
	turn := ""
	if n := v.visits[node]; n > 1 {
		turn = fmt.Sprintf(" ↻%d", n)
	}
	name := cutCells(single(node), names-cells(turn))
	return []span{{bold, name}, {yellow, turn}, {"", strings.Repeat(" ", max(0, names-cells(name+turn)))}}
}

// take follows an event and returns the lines that stay.
func (v *runView) take(e wire.RunEvent, width int) []string {
	if v.began.IsZero() {
		v.began = e.Time
	}
	if !e.Time.IsZero() {
		v.last = e.Time
	}
	switch e.Type {
	case "node_started":
		v.steps++
		v.visits[e.Node]++
		v.node, v.since, v.limit, v.wait, v.news = e.Node, e.Time, e.Until, wire.RunEvent{}, nil
	case "node_finished":
		return v.finished(e, width)
	case "update":
		v.update(e)
	case "decision":
		v.wait = e
		q, err := questionOf(e.Request, e.Choices, e.Until)
		if err != nil {
			return nil // the request was checked before it was stored
		}
		return q.card(width, v.color)
	case "answer":
		v.wait = wire.RunEvent{}
		if unanswered(e) {
			return nil
		}
		return []string{v.row(width, span{green, "  ☑ "}, span{bold, cmp.Or(e.Choice, "answered")}, span{dim, detail(e.By)}, span{"", answerText(e)})}
	case "waiting", "parked":
		v.wait = e
		if e.Reason != forUser && e.Reason != flow.ForDelay && e.Reason != flow.ForRetry && !(e.Type == "parked" && e.Reason == flow.ForHost) {
			return []string{v.row(width, span{yellow, "  ⏸ " + cmp.Or(e.Reason, e.Type)}, span{"", " " + e.Message})}
		}
	case "resumed":
		v.wait = wire.RunEvent{}
	case "notification":
		return []string{v.row(width, span{cyan, "  » "}, span{"", e.Text})}
	}
	return nil
}

// finished is the line of a step that has ended.
func (v *runView) finished(e wire.RunEvent, width int) []string {
	took := ""
	if e.Node == v.node && !v.since.IsZero() {
		took = span10(e.Time.Sub(v.since))
	}
	if v.node, v.wait, v.news = "", (wire.RunEvent{}), nil; e.Outcome != "cancelled" {
		v.done++
	}
	head := func(code, mark string) []span {
		return append(append([]span{{code, "  " + mark + " "}}, v.name(e.Node, width)...), span{dim, fmt.Sprintf("%6s  ", took)})
	}
	switch e.Outcome {
	case "ok":
		v.fails[e.Node] = 0
		return []string{v.row(width, append(head(green, "✓"), span{"", oneLine(dataText(e.Output), 400)})...)}
	case "cancelled":
		return []string{v.row(width, append(head(dim, "–"), span{dim, endedText(e.Outcome, e.Code, "")})...)}
	}
	v.fails[e.Node]++
	why := oneLine(endedText(e.Outcome, e.Code, e.Message), 400)
	return []string{v.row(width, append(head(red, "✗"), span{red, why})...)}
}

// dataText is JSON for people: a string without its quotes.
func dataText(j json.RawMessage) string {
	var s string
	if json.Unmarshal(j, &s) == nil {
		return s
	}
	return string(j)
}

// answerText is what an answer says beside its choice.
func answerText(e wire.RunEvent) string {
	if e.Text == "" && len(e.Output) == 0 {
		return ""
	}
	return ": " + oneLine(cmp.Or(e.Text, dataText(e.Output)), 400)
}

// update keeps the newest update of each kind and key.
func (v *runView) update(e wire.RunEvent) {
	for i, n := range v.news {
		if n.Kind == e.Kind && n.Key == e.Key {
			v.news[i] = e
			return
		}
	}
	v.news = append(v.news, e)
}

// mostNews is how many updates are shown at once.
const mostNews = 6

// now is what goes on, in lines that fit the terminal.
func (v *runView) now(at time.Time, width, height int) []string {
	out := []string{v.here(at, width)}
	for _, c := range v.calls[:min(len(v.calls), mostNews, max(height-4, 0))] {
		out = append(out, v.row(width, span{dim, "      " + c.line + "  " + span10(at.Sub(c.since))}))
	}
	news := v.news[max(0, len(v.news)-max(0, min(mostNews, height-4))):]
	label := 0
	for _, n := range news {
		label = max(label, min(cells(single(newsName(n))), widestName, width/3))
	}
	for _, n := range news {
		out = append(out, v.newsRow(n, at, label, width))
	}
	if v.began.IsZero() { // nothing has happened, so no clock runs
		return append(out, v.row(width, span{dim, "    " + v.note}))
	}
	step := fmt.Sprintf("    step %d", max(v.steps, 1))
	if most := v.graph.MaxSteps; most > 0 && v.steps*2 > most {
		step += fmt.Sprintf(" of at most %d", most)
	}
	return append(out, v.row(width, span{dim, step + " · " + span10(at.Sub(v.began)) + " · " + v.note}))
}

// here is the line of the node that is open, or of what the run waits for.
func (v *runView) here(at time.Time, width int) string {
	left := v.wait.Until.Sub(at)
	clock := ""
	if !v.wait.Until.IsZero() {
		clock = " (" + v.wait.Until.Local().Format("15:04:05") + ")"
	}
	switch {
	case v.first != "":
		return v.row(width, span{cyan, "  " + spinner(at) + " "}, span{dim, "behind run " + v.first + " of its session"})
	case v.wait.Reason == flow.ForRetry:
		text := fmt.Sprintf("again in %s%s", span10(max(left, 0)), clock)
		if n := v.nodeOf(v.wait.Node); n != nil && n.Retry != nil {
			text += fmt.Sprintf(" · try %d of %d", v.fails[n.ID]+1, n.Retry.Attempts)
		}
		return v.row(width, append(append([]span{{yellow, "  ↻ "}}, v.name(v.wait.Node, width)...), span{yellow, "  " + text})...)
	case v.wait.Reason == flow.ForDelay:
		return v.row(width, append(append([]span{{yellow, "  ◷ "}}, v.name(v.wait.Node, width)...), span{yellow, "  " + span10(max(left, 0)) + " left" + clock})...)
	case v.wait.Type == "decision":
		return v.row(width, span{yellow, "  ⏸ waits for an answer"})
	case v.wait.Reason == forUser:
		return v.row(width, append(append([]span{{yellow, "  ⏸ "}}, v.name(v.node, width)...), span{yellow, "  waits for your words"})...)
	case v.wait.Type != "":
		return v.row(width, span{yellow, "  ⏸ " + cmp.Or(v.wait.Reason, v.wait.Type)})
	case v.node == "":
		return v.row(width, span{cyan, "  " + spinner(at) + " "}, span{dim, "…"})
	}
	spans := append(append([]span{{cyan, "  " + spinner(at) + " "}}, v.name(v.node, width)...), span{dim, fmt.Sprintf("%6s", span10(at.Sub(v.since)))})
	if n := v.nodeOf(v.node); n != nil && n.StatusDetail != "" {
		spans = append(spans, span{"", "  " + n.StatusDetail})
	}
	if over := v.limit.Sub(at); !v.limit.IsZero() && over < time.Minute {
		spans = append(spans, span{red, "  at most " + span10(max(over, 0)) + " more"})
	}
	return v.row(width, spans...)
}

func (v *runView) nodeOf(id string) *workflow.Node {
	if id == "" {
		return nil
	}
	return v.graph.Node(id)
}

// spinner turns while something goes on.
func spinner(at time.Time) string {
	turns := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(turns[int(at.UnixMilli()/int64(frame/time.Millisecond))%len(turns)])
}

// newsName is what an update is about.
func newsName(e wire.RunEvent) string {
	if e.Kind == "progress" {
		var p workflow.Progress
		if json.Unmarshal(e.Data, &p) == nil {
			return cmp.Or(p.Label, e.Key, "progress")
		}
	}
	return cmp.Or(e.Key, e.Kind)
}

// newsRow is the line of an update.
func (v *runView) newsRow(e wire.RunEvent, at time.Time, label, width int) string {
	head := []span{{"", "      " + padCells(cutCells(single(newsName(e)), label), label) + "  "}}
	var p workflow.Progress
	if e.Kind != "progress" || json.Unmarshal(e.Data, &p) != nil {
		return v.row(width, append(head, span{dim, oneLine(dataText(e.Data), 400)})...)
	}
	return v.row(width, append(head, progressSpans(p, e.Estimate, at, width-label-8)...)...)
}

// progressSpans are a bar, numbers, and how long it will take, as far as they
// are known and there is room.
func progressSpans(p workflow.Progress, raw json.RawMessage, at time.Time, room int) []span {
	var out []span
	var words []string // what says most first: the rest may be cut
	var e flow.Estimate
	json.Unmarshal(raw, &e) // the engine's own; empty if there is none
	if eta, err := time.Parse(time.RFC3339, e.ETA); err == nil {
		words = append(words, leftText(eta.Sub(at)+time.Second/2)) // it is stored without its fraction
	}
	if p.Completed != nil && p.Total != nil && *p.Total > 0 {
		long := max(min(24, room/3), 6)
		full := int(float64(long) * float64(*p.Completed) / float64(*p.Total))
		out = append(out, span{green, strings.Repeat("█", full)}, span{dim, strings.Repeat("░", long-full)},
			span{bold, fmt.Sprintf(" %3d%%  ", 100**p.Completed / *p.Total)})
		words = append(words, fmt.Sprintf("%d/%d %s", *p.Completed, *p.Total, p.Unit))
	} else if p.Completed != nil {
		words = append(words, fmt.Sprintf("%d %s", *p.Completed, p.Unit))
	}
	if p.Phase != "" {
		words = append(words, p.Phase)
	}
	if e.PerSecond > 0 {
		words = append(words, fmt.Sprintf("%.3g/s", e.PerSecond))
	}
	if p.Status != "running" || len(words) == 0 {
		words = append(words, p.Status)
	}
	code := dim
	if slices.Contains([]string{"failed", "blocked", "cancelled"}, p.Status) {
		code = red
	}
	return append(out, span{code, strings.Join(words, " · ")})
}

// leftText is how long something will take yet, as estimated: in seconds.
func leftText(d time.Duration) string {
	if d < time.Second {
		return "<1s left"
	}
	return strings.Replace(span10(d.Round(time.Second)), ".0s", "s", 1) + " left"
}

// span10 is a span of time, as exact as it says something.
func span10(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", max(d, 0).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
