package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// letter is something that a client wants to say. It is sent again with the
// same id until it is acknowledged.
type letter struct {
	transcript.Arrive
	acked bool
}

// write makes a new letter.
func (w *world) write(class string) *letter {
	n := len(w.letters) + 1
	l := &letter{Arrive: transcript.Arrive{AID: fmt.Sprintf("a%d", n), Text: w.words(class)}}
	if w.roll(0.15) {
		l.Text += " a Deck"
	}
	if w.odds.fat && !w.calm && w.roll(0.04) {
		l.Text += strings.Repeat(" long", 3_000) + "!"
	}
	switch class {
	case "prompt", "steer", "answer":
		l.Class, l.Human = transcript.Class(class), true
	case "compact":
		l.Class = transcript.ClassCommand
	case "human follow":
		l.Class, l.Human = transcript.ClassFollow, true
	default:
		a, err := session.Inject(l.AID, class, l.Text)
		if err != nil {
			w.violated("inject: %w", err)
		}
		l.Arrive = a
	}
	if class == session.ArtifactUpdate && w.roll(0.7) {
		l.Ref, l.ToRevision = w.revision()
	}
	if w.roll(0.05) {
		l.AID, l.From = l.AID+"\xff", "\xff"
	}
	w.letters = append(w.letters, l)
	return l
}

// injection draws an injection kind, of every class.
func (w *world) injection() string {
	return w.choose([]choice{{2, session.SystemNote}, {2, session.SystemGuidance}, {2, session.SystemUpdate}, {3, session.ClientView},
		{2, session.ArtifactUpdate}, {1, session.WorkspaceUpdate}, {3, session.BackgroundResult}})
}

// speak lets somebody say something.
func (w *world) speak() {
	class := w.choose(w.odds.classes)
	if class == "inject" {
		class = w.injection()
	}
	w.post(w.write(class))
}

// post sends letters as one batch of events.
func (w *world) post(ls ...*letter) {
	if w.actor == nil {
		return
	}
	w.guard(func() {
		events := make([]session.Event, len(ls))
		for i, l := range ls {
			w.step("%s %s: %s", l.Class, l.AID, l.Text)
			w.totals.Events["arrive "+string(l.Class)]++
			events[i] = session.Arrives{Arrive: l.Arrive}
		}
		for i, r := range w.handle(events...) {
			if r.Err != nil {
				w.violated("arrival %s was refused: %w", ls[i].AID, r.Err)
			}
			ls[i].acked = true
			w.answered(ls[i], r)
		}
	})
}

func (w *world) answered(l *letter, r session.Reply) {
	w.see(audit.Seen{Kind: audit.Acked, AID: readable(l.AID), Text: readable(l.Text), Entry: r.ID.String(), Again: r.Again, Conflict: r.Err != nil})
}

// again sends a letter once more: one that has no answer, or, rarely, one that
// has. Sometimes the words differ.
func (w *world) again() {
	if len(w.letters) == 0 {
		return
	}
	l := w.letters[w.rng.IntN(len(w.letters))]
	switch {
	case !l.acked:
		w.totals.Events["sent again"]++
		w.post(l)
	case w.roll(0.5):
		w.totals.Events["repeated"]++
		w.post(l)
	default:
		w.contradict(l)
	}
}

// contradict sends other words under an id that was used.
func (w *world) contradict(l *letter) {
	if w.actor == nil {
		return
	}
	other := &letter{Arrive: l.Arrive}
	other.Text += "!"
	w.guard(func() {
		w.step("conflict %s", l.AID)
		w.totals.Events["conflict"]++
		for _, r := range w.handle(session.Arrives{Arrive: other.Arrive}) {
			w.answered(other, r)
		}
	})
}

// mail sends what has no answer yet, in the order in which it was written.
func (w *world) mail() {
	for _, l := range w.letters {
		for n := 0; !l.acked && w.actor != nil; n++ {
			if n > 3 {
				w.violated("arrival %s gets no answer", l.AID)
			}
			w.post(l)
		}
	}
}

// abort asks that the run stops.
func (w *world) abort() {
	if w.actor == nil {
		return
	}
	w.guard(func() {
		from := w.actor.State.Seq
		w.step("abort")
		for _, r := range w.handle(session.Aborts{By: "user"}) {
			if r.Err == nil {
				w.totals.Events["abort"]++
				w.see(audit.Seen{Kind: audit.AbortTold, From: from})
			}
		}
	})
}

// resume asks that an interrupted run goes on.
func (w *world) resume() {
	if w.actor == nil {
		return
	}
	w.guard(func() {
		w.step("resume")
		w.totals.Events["resume"]++
		w.handle(session.Resumes{By: "user"})
	})
}

// deposit opens a session that nobody owns, leaves something in it, and goes.
func (w *world) deposit() {
	w.open(transcript.OpenDeposit)
	if w.actor == nil {
		return
	}
	w.totals.Events["deposit"]++
	class := w.injection()
	if w.roll(0.15) {
		class = "prompt"
	}
	w.post(w.write(class))
	if w.roll(0.2) {
		w.resume()
	}
	if w.roll(0.2) {
		w.abort()
	}
	w.advance(time.Second)
	if len(w.effects) > 0 {
		w.violated("%s runs under a deposit", w.effects[0].Key)
	}
	if w.actor != nil {
		w.close()
	}
}

// compactOnly opens a session that nobody owns, for a compaction and nothing
// else.
func (w *world) compactOnly() {
	w.open(transcript.OpenCompact)
	if w.actor == nil {
		return
	}
	w.post(w.write("compact"))
	if w.roll(0.2) {
		w.post(w.write([]string{"prompt", "steer"}[w.rng.IntN(2)]))
	}
	for n := 0; n < 12 && w.actor != nil && w.actor.State.Status(w.now) == session.Compacting; n++ {
		if w.roll(0.1) {
			w.abort()
		}
		w.advance(time.Second)
		if w.actor != nil {
			w.work()
		}
	}
	if w.actor != nil {
		w.close()
	}
}

// change lets the date or AGENTS.md change.
func (w *world) change() {
	w.now = w.now.Add(time.Millisecond)
	if w.roll(0.5) {
		w.env.Facts.Agents = w.words("rule")
	} else {
		w.env.Facts.Date = w.now.AddDate(0, 0, len(w.rec.Facts)).Format(time.DateOnly)
	}
	w.totals.Events["facts"]++
	w.noteFacts()
}

func (w *world) noteFacts() {
	w.step("date %s, AGENTS.md %q", w.env.Facts.Date, w.env.Facts.Agents)
	w.rec.Facts = append(w.rec.Facts, audit.Facts{At: w.now, Date: w.env.Facts.Date, Agents: readable(w.env.Facts.Agents)})
}
