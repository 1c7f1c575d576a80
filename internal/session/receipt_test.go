package session

import (
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// logged is a row of a log whose entries are 1-1, 1-2, …: a body and, for a
// node, the seq of its parent.
type logged struct {
	parent int
	body   transcript.Body
}

func logOf(rows ...logged) (out []transcript.Entry) {
	for i, r := range rows {
		e := transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: i + 1}, Body: r.body}
		if r.parent > 0 {
			e.Parent = transcript.ID{Epoch: 1, Seq: r.parent}
		}
		out = append(out, e)
	}
	return out
}

func TestI2_ReceiptOf(t *testing.T) {
	arrive := func(aid, kind string) transcript.Body { return &transcript.Arrive{AID: aid, Inject: kind} }
	deliver := func(seqs ...int) transcript.Body {
		d := &transcript.Deliver{}
		for _, s := range seqs {
			d.Arrivals = append(d.Arrivals, transcript.ID{Epoch: 1, Seq: s})
		}
		return d
	}
	update := func(aid, rev string) transcript.Body {
		return &transcript.Arrive{AID: aid, Inject: ArtifactUpdate, Ref: "a.md", ToRevision: rev}
	}
	saw := func(rev string) transcript.Body {
		return &transcript.Result{Output: transcript.Output{Seen: map[string]string{"a.md": rev}}}
	}
	answer, request := &transcript.Answer{}, &transcript.Request{}
	for _, c := range []struct {
		name  string
		log   []transcript.Entry
		state ReceiptState
		entry int
	}{
		{"nothing arrived", logOf(logged{0, arrive("b", "")}), "", 0},
		{"waiting", logOf(logged{0, arrive("a", "")}, logged{0, deliver()}, logged{2, answer}), ReceiptQueued, 0},
		{"delivered", logOf(logged{0, arrive("a", "")}, logged{0, deliver(1)}, logged{2, request}), ReceiptDelivered, 2},
		{"a failed try consumes nothing", logOf(logged{0, arrive("a", "")}, logged{0, deliver(1)}, logged{2, &transcript.Fail{}}), ReceiptDelivered, 2},
		{"consumed by the first answer behind it", logOf(logged{0, arrive("a", "")}, logged{0, deliver(1)}, logged{2, request}, logged{3, answer}, logged{4, answer}), ReceiptConsumed, 4},
		{"another's answer consumes nothing", logOf(logged{0, arrive("b", "")}, logged{0, deliver(1)}, logged{0, arrive("a", "")}, logged{2, answer}), ReceiptQueued, 0},
		{"an answer on another branch consumes nothing", logOf(logged{0, arrive("b", "")}, logged{0, deliver(1)}, logged{0, arrive("a", "")}, logged{2, deliver(3)},
			logged{0, &transcript.Leaf{}}, logged{2, answer}), ReceiptDelivered, 4},
		{"a branch that was left consumed it", logOf(logged{0, arrive("a", "")}, logged{0, deliver(1)}, logged{2, answer}, logged{0, &transcript.Leaf{}}, logged{0, request}), ReceiptConsumed, 3},
		{"told before it came", logOf(logged{1, saw("r2")}, logged{0, update("a", "r2")}), ReceiptTold, 1},
		{"told while it waited", logOf(logged{0, update("a", "r2")}, logged{1, saw("r2")}), ReceiptTold, 2},
		{"another revision was told", logOf(logged{1, saw("r2")}, logged{1, saw("r3")}, logged{0, update("a", "r2")}), ReceiptQueued, 0},
		{"told, and delivered on another branch", logOf(logged{0, update("a", "r2")}, logged{1, saw("r2")}, logged{1, deliver(1)}), ReceiptDelivered, 3},
		{"a newer view", logOf(logged{0, arrive("a", ClientView)}, logged{0, arrive("b", ClientView)}, logged{0, deliver(2)}), ReceiptSuperseded, 2},
		{"a newer view after the delivery", logOf(logged{0, arrive("a", ClientView)}, logged{0, deliver(1)}, logged{0, arrive("b", ClientView)}), ReceiptDelivered, 2},
		{"a view replaces nothing else", logOf(logged{0, arrive("a", SystemNote)}, logged{0, arrive("b", ClientView)}), ReceiptQueued, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := ReceiptOf(c.log, "a")
			if ok != (c.state != "") || r.State != c.state || r.Entry.Seq != c.entry || ok != !r.Arrival.IsZero() {
				t.Errorf("%+v, %v", r, ok)
			}
		})
	}
}

func TestI2_TheSessionsOwnIDsAreRefused(t *testing.T) {
	s, err := Fold([]transcript.Entry{
		{ID: transcript.ID{Epoch: 1, Seq: 1}, Body: &transcript.Open{Segment: 1, Why: transcript.OpenStart}},
		{ID: transcript.ID{Epoch: 1, Seq: 2}, Body: &transcript.Session{Session: "s"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := Decide(s, Arrives{transcript.Arrive{AID: "nudge:1-3:1", Class: transcript.ClassSteer, Human: true, Text: "x"}}, Env{Now: time.Unix(0, 0)})
	if c.Reply.Err == nil || c.Reply.Err.Code != "bad_arrival" || len(c.Entries) > 0 {
		t.Errorf("%+v, %d entries", c.Reply, len(c.Entries))
	}
}
