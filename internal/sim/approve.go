package sim

import (
	"encoding/json"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// permit is what the rules say in this history.
func (w *world) permit(tool string, _ json.RawMessage) session.Judgement {
	switch {
	case tool == w.odds.denied:
		return session.Judgement{Do: session.Deny, Rule: "not " + tool}
	case tool == w.odds.asked && w.odds.once:
		return session.Judgement{Do: session.Ask, Rule: "ask " + tool, Once: tool}
	case tool == w.odds.asked:
		return session.Judgement{Do: session.Ask, Rule: "ask " + tool}
	}
	return session.Judgement{Do: session.Allow}
}

// approve lets a person answer an ask: mostly one that is open, else one that
// was seen before. Two people may answer at once, and the arguments that they
// saw may be others.
func (w *world) approve() {
	if w.actor == nil {
		return
	}
	for _, c := range w.actor.State.Asks() {
		if len(w.asks) == 0 || w.asks[len(w.asks)-1].Ask != c.AskID {
			w.asks = append(w.asks, session.Approves{Ask: c.AskID, Digest: c.Ask.Digest})
		}
	}
	if len(w.asks) == 0 {
		return
	}
	ev := w.asks[len(w.asks)-1]
	if !w.calm && w.roll(0.2) {
		ev = w.asks[w.rng.IntN(len(w.asks))]
	}
	if open := w.actor.State.Asks(); w.calm && len(open) > 0 {
		ev.Ask, ev.Digest = open[0].AskID, ""
	}
	ev.Choice, ev.By = transcript.ApprovalAllow, "user"
	if w.roll(0.3) {
		ev.Choice, ev.Reason = transcript.ApprovalDeny, w.words("no")
	}
	if !w.calm && w.roll(0.1) {
		ev.Digest = "other"
	}
	events := []session.Event{ev}
	if w.roll(0.15) {
		other := ev
		other.Choice = transcript.ApprovalAllow
		events = append(events, other)
	}
	w.guard(func() { w.decided(events, w.handle(events...)) })
}

func (w *world) decided(events []session.Event, replies []session.Reply) {
	for i, r := range replies {
		ev := events[i].(session.Approves)
		w.step("answer %s %s: %v", ev.Ask, ev.Choice, r.Err)
		if r.Err != nil {
			w.totals.Events["stale approval"]++
			continue
		}
		w.totals.Events["approval"]++
		w.see(audit.Seen{Kind: audit.Decided, Entry: r.ID.String(), AID: ev.Ask.String(), Text: string(ev.Choice), Conflict: ev.Digest == "other"})
	}
}
