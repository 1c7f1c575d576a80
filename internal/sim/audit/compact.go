package audit

import (
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
	Arrival string `json:"arrival"`
	File    string `json:"file"`
	Text    string `json:"text"`
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

// remember notes what a compaction must restore. It is called for each entry
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
		if isHuman(q) {
			said = append(said, words{e.ID, q})
		}
	}
	switch {
	case begins:
		a.request = said
		a.failures, a.since, a.overflow = 0, 0, false
	case len(said) > 0:
		first := slices.DeleteFunc(slices.Clone(a.request), func(w words) bool { return w.delivery != a.request[0].delivery })
		a.request = append(first, said...)
	}
}

// compactRequest checks that a compaction may be asked for now.
func (a *auditor) compactRequest(e *entry) {
	c := e.Raw.Compaction
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
	a.fails, a.lastFail = 0, nil
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
	for _, p := range e.Raw.Shortened {
		for i := range kept {
			if kept[i].arrival != nil && kept[i].arrival.ID == p.Arrival {
				kept[i].exact = a.pinText(e, p, kept[i].arrival)
			}
		}
	}
	if before, after := weight(a.wants), weight(append(slices.Clone(block), kept...)); after > before+inexact {
		a.fail("compaction", e.ID, "the context had %d bytes and has %d", before, after)
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

// inexact is how many bytes the weights may be off: of some messages only a
// part is known here.
const inexact = 800

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

// restored checks that the owners say in the block what they own, each once
// and in order, and returns the block's messages.
func (a *auditor) restored(e *entry, cut int) []want {
	due := a.dueAnchors(cut)
	if len(due) != len(e.Raw.Restore) {
		a.fail("restore", e.ID, "it restores %d owners, want %d: %+v", len(e.Raw.Restore), len(due), due)
	}
	var head, tail []want
	for i, got := range e.Raw.Restore {
		d := due[i]
		if got.Kind != d.kind || got.Name != d.name || got.Kept != d.kept || got.Kept != (got.Text == "") {
			a.fail("restore", e.ID, "restores %s %s (kept %v), want %s %s (kept %v)", got.Kind, got.Name, got.Kept, d.kind, d.name, d.kept)
		}
		if got.Kept {
			continue
		}
		for _, piece := range d.holds {
			if !strings.Contains(got.Text, piece) || d.exact && got.Text != piece {
				a.fail("restore", e.ID, "%s %s is %q and must be %q", got.Kind, got.Name, got.Text, piece)
			}
		}
		switch got.Kind {
		case "session", "date":
			head = append(head, want{role: "developer", holds: got.Text})
		case "agents":
			head = append(head, want{role: "user", holds: escape(got.Text)})
		case "skill":
			tail = append(tail, want{role: "user", holds: "\n" + got.Text + "\n</skill>"})
		default:
			tail = append(tail, want{role: "developer", holds: escape(got.Text)})
		}
	}
	if e.Raw.Summary != "" {
		head = append(head, want{role: "developer"}, want{role: "user", holds: escape(e.Raw.Summary)})
	}
	block := append(head, tail...)
	for _, w := range a.pinned(e, cut) {
		block = append(block, w)
	}
	for i := range block {
		block[i].owner = e
	}
	a.forget(cut)
	return block
}

// due is what an anchor must say.
type due struct {
	kind, name string
	kept       bool
	exact      bool
	holds      []string
}

func (a *auditor) dueAnchors(cut int) []due {
	var out []due
	for _, part := range []string{"session", "agents", "date"} {
		if o := a.owner[part]; o != nil && o.Raw.Text != "" {
			kept := slices.ContainsFunc(a.wants[cut:], func(w want) bool { return w.owner == o })
			out = append(out, due{part, "", kept, true, []string{o.Raw.Text}})
		}
	}
	steps := false
	for _, act := range a.active {
		if a.bound(act.name) {
			out = append(out, due{"skill", act.name, a.shows(a.loaded[act.name], cut), true, []string{a.skill(act.name).Body}})
		}
		steps = steps || len(act.steps) > 0
	}
	if steps {
		d := due{kind: "steps"}
		for _, act := range a.active {
			for i, st := range act.steps {
				if st == "" {
					st = "pending"
				}
				d.holds = append(d.holds, a.skill(act.name).Steps[i], "["+st+"]")
			}
		}
		out = append(out, d)
	}
	if slices.ContainsFunc(a.tasks.Items, func(t task) bool { return t.Status != "complete" }) {
		d := due{kind: "tasks", kept: a.shows(a.listed, cut)}
		for _, t := range a.tasks.Items {
			d.holds = append(d.holds, t.ID+" ["+t.Status+"] "+t.Content)
		}
		out = append(out, d)
	}
	return out
}

// bound reports whether a skill in force is a workflow skill, or required by
// one.
func (a *auditor) bound(name string) bool {
	return slices.ContainsFunc(a.active, func(act activation) bool {
		s := a.skill(act.name)
		return s.Workflow && (act.name == name || slices.Contains(s.Requires, name))
	})
}

// shows reports whether the result of a call stands in the context from
// message cut on.
func (a *auditor) shows(call string, cut int) bool {
	return slices.ContainsFunc(a.wants[cut:], func(w want) bool { return w.role == "tool" && w.call == call })
}

// forget takes the skills out of force whose bodies are gone.
func (a *auditor) forget(cut int) {
	a.active = slices.DeleteFunc(slices.Clone(a.active), func(act activation) bool {
		return !a.bound(act.name) && !a.shows(a.loaded[act.name], cut)
	})
}

// pinned checks the words of the request that is being worked on.
func (a *auditor) pinned(e *entry, cut int) []want {
	unfinished := a.run != nil
	if a.run == nil && a.ended != nil {
		r := a.ended.Raw.Reason
		unfinished = r != "done" && r != "no_yield" && !(a.yielded == "complete")
	}
	var out []want
	pins := e.Raw.Pinned
	for _, r := range a.request {
		there := slices.ContainsFunc(a.wants[cut:], func(w want) bool { return w.arrival == r.e })
		if there || !unfinished {
			continue
		}
		if len(pins) == 0 || pins[0].Arrival != r.e.ID {
			a.fail("restore", e.ID, "the words %s of the request are lost", r.e.ID)
		}
		out = append(out, want{role: "user", exact: a.pinText(e, pins[0], r.e), arrival: nil})
		pins = pins[1:]
	}
	if len(pins) > 0 {
		a.fail("restore", e.ID, "%d pinned words are none of the request", len(pins))
	}
	return out
}

// pinText checks that a pin has the words whole, or head and tail of them and
// the whole in a file.
func (a *auditor) pinText(e *entry, p pin, q *entry) string {
	if p.File == "" {
		if p.Text != q.Raw.Text {
			a.fail("restore", e.ID, "the words %s were %q and are %q", q.ID, q.Raw.Text, p.Text)
		}
		return p.Text
	}
	head, _, _ := strings.Cut(p.Text, "\n[… ")
	tail := p.Text[strings.LastIndex(p.Text, "\n")+1:]
	if a.rec.Files[p.File] != q.Raw.Text || !strings.HasPrefix(q.Raw.Text, head) || !strings.HasSuffix(q.Raw.Text, tail) || !strings.Contains(p.Text, p.File) {
		a.fail("restore", e.ID, "the long words %s aren't in the file %s, or its ends aren't theirs", q.ID, p.File)
	}
	return p.Text
}

// weight counts the bytes of text that messages must have.
func weight(ws []want) int {
	n := 0
	for _, w := range ws {
		n += len(w.exact) + len(w.holds)
		for _, p := range w.parts {
			n += len(p.Text)
			if p.Call != nil {
				n += len(p.Call.Name) + len(p.Call.Arguments)
			}
		}
	}
	return n
}

// askedSummary: the request of a compaction holds no mark and stays within its
// room.
func (a *auditor) askedSummary(s *Seen) {
	e := a.stored(s, s.Entry, "sent")
	if e.Raw.Compaction == nil || e.epoch != s.Token || a.sentIDs[e.ID] {
		a.fail("compaction", e.ID, "it was sent twice, by another owner, or is no compaction")
	}
	a.sentIDs[e.ID] = true
	text := string(s.Messages[0])
	if strings.Contains(text, "MARK") {
		a.fail("compaction", e.ID, "its request tells the mark")
	}
	if most := 3*e.Raw.Compaction.Room + 6000; len(text) > most {
		a.fail("compaction", e.ID, "its request has %d bytes, its room is %d", len(text), e.Raw.Compaction.Room)
	}
}

// fits: a request isn't larger than the window, and none is made that leaves
// too little room while a compaction could be tried.
func (a *auditor) fits(e *entry, messages [][]byte, sh shot) {
	if a.rec.Window == 0 {
		return
	}
	total := a.rec.PrefixBytes
	for _, m := range a.parsed[:len(messages)] {
		for _, p := range m.Parts {
			total += len(p.Text)
			if p.Call != nil {
				total += len(p.Call.Arguments)
			}
			if p.Result != nil {
				total += len(p.Result.Text)
			}
		}
	}
	answered, last := 0, -1
	for i := sh.block; i < len(sh.wants); i++ {
		if sh.wants[i].role == "assistant" {
			last = i
		}
	}
	for i := sh.block; i < last; i++ {
		if sh.wants[i].owner.Kind != "facts" {
			answered += weight(sh.wants[i : i+1])
		}
	}
	switch tokens := total / 4; {
	case tokens > a.rec.Window:
		a.fail("compaction", e.ID, "a request of about %d tokens, the window is %d", tokens, a.rec.Window)
	case sh.fresh && tokens > a.rec.Window*3/4+100 && answered > a.rec.Window*3/2:
		a.fail("compaction", e.ID, "a request of about %d tokens and no compaction before it (window %d)", tokens, a.rec.Window)
	}
}
