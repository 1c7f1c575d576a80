package cli

import (
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// stepCard is the line for the prompt of a workflow's step: the prompt itself
// is long, and its author's. The names are as somebody wrote them.
func stepCard(s *wire.Step) string {
	card := "▶ step "
	switch s.Kind {
	case transcript.StepReminder, transcript.StepResume:
		card = "↻ " + s.Kind + " "
	}
	if s.Workflow != "" {
		card += single(s.Workflow) + " › "
	}
	card += single(s.Node)
	if s.Completion == transcript.CompleteAssistant {
		card += " · assistant response"
	}
	return card
}

// withdrawn shows that a workflow took back what it had asked for.
func (s *showing) withdrawn(by transcript.ID, b *transcript.Withdraw) {
	for _, id := range b.Arrivals {
		if a := s.texts[id]; a != nil && a.Step != nil {
			s.shown[id] = true
			s.say(dim, "  %s · withdrawn (%s) by entry %s", stepCard(owner.StepOf(a.Step)), b.Cause, by.String())
		}
	}
}

// withdrawn shows that a workflow took back what it had asked for.
func (b *pageBuilder) withdrawn(x *transcript.Withdraw) {
	for _, id := range x.Arrivals {
		if a := b.words[id]; a != nil {
			delete(b.words, id)
			b.arrival(a)
		}
	}
}
