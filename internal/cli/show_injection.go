package cli

import (
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// injection shows an injection with its receipt.
func (s *showing) injection(a *transcript.Arrive) {
	if s.full {
		s.told(transcript.ArrivalMessages(a, s.hide.mark)...)
		return
	}
	who := "data"
	if a.Trusted {
		who = "harness"
	}
	receipt := ""
	if r, ok := s.receipts[a.AID]; ok && (a.Step == nil || r.State != session.ReceiptConsumed) {
		receipt = " · " + string(r.State)
		if !r.Entry.IsZero() {
			receipt += " by entry " + r.Entry.String()
		}
	}
	s.unread = append(s.unread, a.Inject)
	if a.Step != nil {
		s.say(cyan, "  %s%s", stepCard(owner.StepOf(a.Step)), receipt)
		if text := oneLine(s.hide.text(firstLine(a.Text, 300)), s.room(200)); text != "" {
			s.words("", text)
		}
		return
	}
	s.say(cyan, "  ▸ %s%s (%s)%s", a.Inject, from(a.From), who, receipt)
	s.words("", a.Text)
}

// consumed tells, of what happens now, which injections an answer has read. A
// session that is read as a whole shows that at the injection.
func (s *showing) consumed(by transcript.ID) {
	if s.live {
		for _, kind := range s.unread {
			s.say(dim, "  · %s is consumed by entry %s", kind, by.String())
		}
	}
	s.unread = nil
}
