package audit

import (
	"encoding/json"
	"slices"
	"strings"
)

// compaction is what an entry says of a compaction, in a request, in what came
// of it, or both.
type compaction struct {
	Compaction *struct {
		Command   string   `json:"command"`
		FirstKept string   `json:"firstKept"`
		Shorten   []string `json:"shorten"`
		Silent    bool     `json:"silent"`
		Room      int      `json:"room"`
	} `json:"compaction"`
	For       string   `json:"for"`
	Command   string   `json:"command"`
	FirstKept string   `json:"firstKept"`
	Covers    []span   `json:"covers"`
	Summary   string   `json:"summary"`
	Restore   []anchor `json:"restore"`
	Pinned    []pin    `json:"pinned"`
	Shortened []pin    `json:"shortened"`
	Before    int      `json:"before"`
	After     int      `json:"after"`
}

type span struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type anchor struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Entry string `json:"entry"`
	Bytes int    `json:"bytes"`
	Kept  bool   `json:"kept"`
	Text  string `json:"text"`
}

type pin struct {
	Arrival string    `json:"arrival"`
	File    string    `json:"file"`
	Text    string    `json:"text"`
	Step    *stepMark `json:"step"`
}

// context is what the audit knows of the context beside its messages.
type context struct {
	block    int // leading messages that are the block of a compaction
	covers   []span
	summary  string
	broken   bool // compacted since the newest request
	era      int
	failures int // failed compactions in a row
	since    int // compactions since the newest answer
	overflow bool
	sent     bool // a request was made
	owner    map[string]*entry
	loaded   map[string]string // by skill, the call whose result shows it
	listed   string            // the call that wrote the task list
	request  []words           // the words that the run answers
	ended    *entry            // the newest settle
	yielded  string            // reason of the newest run's yield
	snapshot map[string]shot   // by request
}

// words are a person's, with the delivery that brought them.
type words struct {
	delivery string
	e        *entry
}

// shot is the context at a request.
type shot struct {
	wants []want
	block int
	era   int  // compactions before it
	fresh bool // a compaction could have been tried
}

// owns notes what a compaction must restore. It is called for each entry
// before it is judged.
func (a *auditor) owns(e *entry, from int) {
	if e.Kind == "compact" {
		return
	}
	for i := from; i < len(a.wants); i++ {
		a.wants[i].owner = e
	}
	if e.Kind == "facts" {
		a.owner[e.Raw.Part] = e
	}
	if e.Kind == "settled" {
		a.ended = e
	}
}

// requested notes the words of a delivery.
func (a *auditor) requested(e *entry, begins bool) {
	var said []words
	for _, id := range e.Raw.Arrivals {
		q := a.byID[id]
		begins = begins || isPrompt(q)
		if isHuman(q) || isStep(q) {
			said = append(said, words{e.ID, q})
		}
	}
	switch {
	case begins:
		if len(said) > 0 || !a.leftOpen() {
			a.request = said
		}
		a.failures, a.since, a.overflow = 0, 0, false
	case len(said) > 0:
		first := slices.DeleteFunc(slices.Clone(a.request), func(w words) bool { return w.delivery != a.request[0].delivery })
		a.request = append(first, said...)
	}
}

// compactRequest checks that a compaction may be asked for now.
func (a *auditor) compactRequest(e *entry) {
	c := e.Raw.Compaction
	if a.squeeze == nil || a.squeeze.Raw.Compaction.Command != c.Command {
		a.fails, a.lastFail = 0, nil // failures count for the compaction that asked
	}
	a.squeeze = e
	switch {
	case a.open() > 0:
		a.fail("compaction", e.ID, "while %d calls are open", a.open())
	case a.req != nil && a.req.epoch == e.epoch:
		a.fail("compaction", e.ID, "while %s has no answer", a.req.ID)
	case a.fails > 3:
		a.fail("retry", e.ID, "a try after %d failures in a row", a.fails)
	case a.lastFail != nil && e.Time.Before(a.lastFail.Raw.NotBefore):
		a.fail("retry", e.ID, "a try %s before its time", a.lastFail.Raw.NotBefore.Sub(e.Time))
	case c.Command != "":
		if !slices.ContainsFunc(a.queue, func(q *entry) bool { return q.ID == c.Command && q.Raw.Class == "command" }) {
			a.fail("compaction", e.ID, "the wish %s doesn't wait", c.Command)
		}
		a.stats.Cases["compaction by a person"]++
	default:
		a.live("compaction", e)
		switch {
		case a.run.abort != nil || a.turn != modelsTurn || a.waits(isSteer):
			a.fail("compaction", e.ID, "it isn't the model's turn")
		case a.failures >= 2 || a.since >= 3:
			a.fail("compaction", e.ID, "a try after %d failures and %d compactions without an answer", a.failures, a.since)
		}
		a.stats.Cases["compaction in a run"]++
	}
	a.req = e
}

// compactAnswered takes the request of a compaction that has come to its end.
func (a *auditor) compactAnswered(e *entry) *entry {
	r := a.req
	if r == nil || r.Raw.Compaction == nil || e.Raw.Request != r.ID || r.epoch != e.epoch {
		a.fail("compaction", e.ID, "%s answers %s, which isn't in flight", e.Kind, e.Raw.Request)
	}
	if e.Raw.Command != r.Raw.Compaction.Command {
		a.fail("compaction", e.ID, "it answers the wish %q", e.Raw.Command)
	}
	a.req = nil
	return r
}

func (a *auditor) compactEnded(e *entry) {
	a.fails, a.lastFail, a.squeeze = 0, nil, nil
	if a.run != nil {
		a.run.tokens += e.Raw.Usage.Input + e.Raw.Usage.Output
	}
	if e.Raw.Command == "" {
		a.since++
		return
	}
	a.queue = slices.DeleteFunc(slices.Clone(a.queue), func(q *entry) bool { return q.ID == e.Raw.Command })
}

func (a *auditor) compactFailed(e *entry) {
	if e.Raw.Request != "" {
		a.compactAnswered(e)
	} else if a.req != nil && a.req.epoch == e.epoch || e.Raw.Command == "" {
		a.fail("compaction", e.ID, "it failed and nobody asked for it")
	}
	if e.Raw.Command == "" {
		a.failures++
	}
	a.stats.Cases["not compacted: "+e.Raw.Reason]++
	a.compactEnded(e)
}

// compact judges what goes, what stays, and what is restored.
func (a *auditor) compact(e *entry) {
	plan := a.compactAnswered(e).Raw.Compaction
	if a.open() > 0 || a.run != nil && a.run.abort != nil && a.run.epoch == e.epoch {
		a.fail("compaction", e.ID, "in an aborted run, or with open calls")
	}
	cut := a.cutOf(e)
	if e.Raw.FirstKept != plan.FirstKept {
		a.fail("compaction", e.ID, "it keeps from %q, and was to keep from %q", e.Raw.FirstKept, plan.FirstKept)
	}
	a.covered(e, cut)
	a.summarised(e, plan.Silent)
	block := a.restored(e, cut)
	kept := slices.Clone(a.wants[cut:])
	gone, comes := most(a.wants[:cut]), least(block)
	for _, p := range e.Raw.Shortened {
		for i := range kept {
			if kept[i].arrival != nil && kept[i].arrival.ID == p.Arrival {
				gone += most(kept[i : i+1])
				kept[i] = pinWant(kept[i], a.pinText(e, p, kept[i].arrival))
				comes += least(kept[i : i+1])
			}
		}
	}
	if comes >= gone {
		a.fail("compaction", e.ID, "%d bytes or more take the place of %d or less", comes, gone)
	}
	a.wants = append(block, kept...)
	a.block = len(block)
	a.era++
	a.broken = a.sent
	a.failures, a.overflow = 0, false
	a.stats.Cases["compacted"]++
	if plan.Silent {
		a.stats.Cases["long words shortened"]++
	}
	if len(e.Raw.Pinned) > 0 {
		a.stats.Cases["request pinned"]++
	}
	a.compactEnded(e)
}

// What a message weighs beside its text, and what our tags and notices add to
// one at most, in bytes.
const (
	envelope = 16
	wrapping = 700
)

// weigh takes from a request that was sent how many bytes its messages have: of
// some, the log says a part only.
func (a *auditor) weigh(request *entry) {
	s := a.requests[request.ID]
	for i := range a.wants {
		if s == nil || i >= len(s.Messages) || a.wants[i].sent > 0 {
			continue
		}
		var m message
		if json.Unmarshal(s.Messages[i], &m) != nil {
			return // that it can't be read is found where it is checked
		}
		a.wants[i].sent = envelope
		for _, p := range m.Parts {
			a.wants[i].sent += p.weight()
		}
	}
}

// most is what messages weigh: exactly, if they were sent, as all are that
// the model answered; else at most.
func most(ws []want) int {
	n := 0
	for _, w := range ws {
		switch {
		case w.sent > 0:
			n += w.sent
		case w.exact == "" && len(w.parts) == 0:
			n += envelope + weight([]want{w}) + wrapping
		default:
			n += envelope + weight([]want{w})
		}
	}
	return n
}

// least is what messages that weren't sent yet weigh at least.
func least(ws []want) int { return len(ws)*envelope + weight(ws) }

// cutOf finds where what stays begins: at a place where no call is parted from
// its results, no entry is split, and nothing goes that the model hasn't
// answered.
func (a *auditor) cutOf(e *entry) int {
	cut := len(a.wants)
	for i := a.block; i < len(a.wants) && e.Raw.FirstKept != ""; i++ {
		if a.wants[i].owner.ID == e.Raw.FirstKept {
			cut = i
			break
		}
	}
	if e.Raw.FirstKept != "" && cut == len(a.wants) {
		a.fail("compaction", e.ID, "it keeps from %s, which isn't in the context", e.Raw.FirstKept)
	}
	answered := a.block
	for i := a.block; i < len(a.wants); i++ {
		if a.wants[i].role == "assistant" {
			if answered = i + 1; slices.ContainsFunc(a.wants[i].parts, func(p part) bool { return p.Type == "call" }) {
				answered = i
			}
		}
	}
	switch {
	case cut > answered:
		a.fail("compaction", e.ID, "it drops %d messages, and the model has answered %d", cut, answered)
	case cut < len(a.wants) && a.wants[cut].role == "tool":
		a.fail("compaction", e.ID, "what stays begins with a result")
	}
	return cut
}

// covered: each message is covered by the summaries or stays, once.
func (a *auditor) covered(e *entry, cut int) {
	want := a.covers
	if cut > a.block {
		from := a.wants[a.block].owner.ID
		if len(want) > 0 {
			from = want[0].From
		}
		want = []span{{from, a.wants[cut-1].owner.ID}}
	}
	if !slices.Equal(e.Raw.Covers, want) {
		a.fail("compaction", e.ID, "it covers %v, want %v", e.Raw.Covers, want)
	}
	a.covers = want
}

// summarised holds the summary against what the model said.
func (a *auditor) summarised(e *entry, silent bool) {
	if silent {
		if e.Raw.Summary != a.summary {
			a.fail("compaction", e.ID, "nobody was asked, and the summary changed")
		}
		return
	}
	s := a.summaries[e.Raw.Request]
	if s == nil || !s.Good || strings.TrimSpace(s.Text) == "" {
		a.fail("compaction", e.ID, "there is no summary that is whole")
	}
	if e.Raw.Summary != strings.TrimSpace(strings.ReplaceAll(s.Text, "MARK", "")) {
		a.fail("compaction", e.ID, "the summary is another one")
	}
	a.summary = e.Raw.Summary
}

// weight counts the bytes of text that messages must have.
func weight(ws []want) int {
	n := 0
	for _, w := range ws {
		n += len(w.exact) + len(w.holds)
		for _, p := range w.parts {
			n += p.weight()
		}
	}
	return n
}

func (p part) weight() int {
	n := len(p.Text) + len(p.Raw)
	if p.Call != nil {
		n += len(p.Call.Name) + len(p.Call.Arguments)
	}
	if p.Result != nil {
		n += len(p.Result.Text)
	}
	return n
}

// ofCompaction reports whether an entry belongs to a compaction.
func (e *entry) ofCompaction() bool {
	return e.Kind == "compact" || e.Kind == "compact_failed" || e.Raw.Compaction != nil || e.Kind == "fail" && e.Raw.For == "compaction"
}
