package cli

import (
	"strings"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// What a repair has lost or left out is shown, too: what people can read must
// not vanish.

// findGaps notes where entries are lost, and what may have been delivered there.
func (s *showing) findGaps(entries []transcript.Entry) {
	s.gaps = map[transcript.ID]transcript.Gap{}
	for _, e := range entries {
		if o, ok := e.Body.(*transcript.Open); ok && o.Repair != nil {
			for _, g := range o.Repair.Gaps {
				s.gaps[g.Node] = g
			}
		}
	}
}

// gap prints what stands before an entry behind a gap. An arrival that came
// behind it in the file is not known yet and shown at the end.
func (s *showing) gap(e transcript.Entry) {
	g, ok := s.gaps[e.ID]
	if !ok {
		return
	}
	s.say(yellow, "\n── entries are lost here: the session's files were damaged")
	for _, id := range g.Arrivals {
		s.arrival(id)
	}
}

// undelivered prints the messages that no entry has delivered and that don't
// wait: their delivery is lost.
func (s *showing) undelivered(entries []transcript.Entry) {
	st, err := session.Fold(entries)
	if err != nil {
		return // the doctor tells
	}
	waits := map[transcript.ID]bool{}
	for _, a := range st.Queue {
		waits[a.ID] = true
	}
	for _, e := range entries {
		a, ok := e.Body.(*transcript.Arrive)
		if !ok || s.shown[e.ID] || waits[e.ID] || a.Class == transcript.ClassCommand {
			continue // a command is carried out and has no place in the conversation
		}
		if a.Inject != "" {
			if r, ok := session.ReceiptOf(entries, a.AID); ok && r.State == session.ReceiptSuperseded {
				s.say(dim, "\n  ▸ %s%s · superseded by entry %s", a.Inject, from(a.From), r.Entry.String())
				s.words(dim, a.Text)
				continue
			}
		}
		s.say(yellow, "\n── not delivered, or its delivery is lost; it isn't sent again:")
		s.arrival(e.ID)
	}
}

// setAside prints what repairs have left out of the log, as it stood there.
func (s *showing) setAside(home *disk.Home, id string) {
	lost, err := home.Lost(id)
	if err != nil {
		s.say(red, "\n%v", err)
	}
	for _, l := range lost {
		s.say(yellow, "\n── doesn't count since a repair (%s):", l.File)
		s.words("", strings.TrimSuffix(l.Text, "\n"))
	}
}
