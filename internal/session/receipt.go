package session

import (
	"slices"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// ReceiptState says how far an arrival has come.
type ReceiptState string

// The states. A receipt moves from the first towards the third, or to the
// fourth. One that is told may still be delivered, if the branch moves to
// where the model doesn't know of the revision.
const (
	ReceiptQueued     ReceiptState = "queued"
	ReceiptDelivered  ReceiptState = "delivered"  // Entry is its delivery
	ReceiptConsumed   ReceiptState = "consumed"   // Entry is the first answer behind the delivery
	ReceiptSuperseded ReceiptState = "superseded" // Entry is the newer client_view that replaced it
	ReceiptTold       ReceiptState = "told"       // Entry is the result that told the model the same revision
	ReceiptWithdrawn  ReceiptState = "withdrawn"  // Entry took it back: its workflow ended the step
)

// Receipt tells what became of an arrival.
type Receipt struct {
	State   ReceiptState
	Arrival transcript.ID
	Entry   transcript.ID // what brought the state about; zero while queued
}

// ReceiptOf derives the receipt of the arrival with this id from the entries
// of a session, in log order. ok is false if there is no such arrival.
//
// An answer consumes what was delivered before it on its own branch. That a
// branch was left afterwards changes nothing: the model has read the words.
func ReceiptOf(entries []transcript.Entry, aid string) (r Receipt, ok bool) {
	view := false
	var update transcript.Arrive   // the arrival, if it is an artifact_update
	told := map[string]knowledge{} // by path
	gaps := gapsOf(entries)
	below := map[transcript.ID]bool{} // the delivery and the nodes behind it
	for _, e := range entries {
		switch b := e.Body.(type) {
		case *transcript.Arrive:
			switch {
			case !ok && b.AID == aid:
				r, ok = Receipt{State: ReceiptQueued, Arrival: e.ID}, true
				view = b.Inject == ClientView
				if b.Inject == ArtifactUpdate && b.Ref != "" && b.ToRevision != "" {
					update = *b
				}
				if k := told[b.Ref]; update.Ref != "" && k.revision == b.ToRevision {
					r.State, r.Entry = ReceiptTold, k.by
				}
			case view && r.State == ReceiptQueued && b.Inject == ClientView:
				return Receipt{ReceiptSuperseded, r.Arrival, e.ID}, true
			}
		case *transcript.Result:
			for path, rev := range b.Seen {
				told[path] = knowledge{rev, e.ID}
				if r.State == ReceiptQueued && update.Ref == path && update.ToRevision == rev {
					r.State, r.Entry = ReceiptTold, e.ID
				}
			}
		case *transcript.Withdraw:
			if ok && r.State == ReceiptQueued && slices.Contains(b.Arrivals, r.Arrival) {
				return Receipt{ReceiptWithdrawn, r.Arrival, e.ID}, true
			}
		case *transcript.Deliver:
			for _, id := range b.Arrivals {
				if ok && id == r.Arrival {
					r.State, r.Entry = ReceiptDelivered, e.ID
					below[e.ID] = true
				}
			}
		}
		if c, entry := answeredWish(e); ok && c == r.Arrival {
			return Receipt{ReceiptConsumed, r.Arrival, entry}, true
		}
		if !below[parentOf(gaps, e)] {
			continue
		}
		below[e.ID] = true
		if _, answer := e.Body.(*transcript.Answer); answer {
			return Receipt{ReceiptConsumed, r.Arrival, e.ID}, true
		}
	}
	return r, ok
}

// answeredWish names the wish for a compaction that an entry answers.
func answeredWish(e transcript.Entry) (wish, by transcript.ID) {
	switch b := e.Body.(type) {
	case *transcript.Compact:
		return b.Command, e.ID
	case *transcript.CompactFailed:
		return b.Command, e.ID
	}
	return transcript.ID{}, e.ID
}

// knowledge is the revision that the model was told last, and by which result.
type knowledge struct {
	revision string
	by       transcript.ID
}
