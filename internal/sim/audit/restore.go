package audit

import (
	"slices"
	"strings"
)

// due is what an anchor must say.
type due struct {
	kind, name string
	kept       bool
	exact      bool
	holds      []string
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
	block := slices.Concat(head, tail, a.pinned(e, cut))
	for i := range block {
		block[i].owner = e
	}
	a.forget(cut)
	return block
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
	unfinished := a.run != nil || a.leftOpen()
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
		w := want{role: "user"}
		if isStep(r.e) {
			w.role = "developer"
			a.stats.Cases["step prompt pinned"]++
			if pins[0].Step == nil || *pins[0].Step != *r.e.Raw.Step {
				a.fail("restore", e.ID, "the prompt %s is kept without its step", r.e.ID)
			}
		}
		out = append(out, pinWant(w, a.pinText(e, pins[0], r.e)))
		pins = pins[1:]
	}
	if len(pins) > 0 {
		a.fail("restore", e.ID, "%d pinned words are none of the request", len(pins))
	}
	return out
}

// pinWant is the message of words that are kept: a person's are exact, a
// step's prompt stands in its tag.
func pinWant(w want, text string) want {
	w.sent = 0
	if w.role == "developer" {
		w.holds = escape(text)
	} else {
		w.exact = text
	}
	return w
}

// leftOpen reports whether the newest settle left its request open.
func (a *auditor) leftOpen() bool {
	return a.ended != nil && a.ended.Raw.Reason != "done" && a.ended.Raw.Reason != "no_yield" && a.yielded != "complete"
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
