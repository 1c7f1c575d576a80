package runs

import (
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// visit decides an event for a run as somebody without its claim.
func (w *world) visit(id string, ev flow.Event, session bool) {
	r := w.db.rows[id]
	if r.lease > w.now && w.off != "store.VisitUnfenced" {
		if _, timer := ev.(flow.Fire); !timer && w.n(10) < 7 {
			w.signalsLeft++
			w.db.leave(id, fmt.Sprint("s", w.signalsLeft), ev)
		}
		return
	}
	run := w.db.load(id)
	c := flow.Decide(w.graphs[id], run, ev, flow.Env{Now: w.now, Session: session})
	if c.Refused != nil || len(c.Facts) == 0 {
		return
	}
	decided := w.now
	w.later = append(w.later, func() { // others may be faster
		w.decided = decided
		if !w.db.write(w.graphs[id], run, &c, 0, w.now, "") {
			w.count("visit lost")
		}
	})
}

// people do something.
func (w *world) people() {
	id := w.ids[w.n(int64(len(w.ids)))]
	r := w.db.rows[id]
	if r.Status.Ended() {
		return
	}
	calm := w.calm()
	switch p := w.n(100); {
	case r.Status == flow.Waiting && (r.Reason == flow.ForDecision):
		for range 1 + w.n(3) {
			choice := []string{"yes", "yes", "no", "replan"}[w.n(4)]
			if calm {
				choice = "yes"
			}
			text := ""
			if choice == "replan" {
				text = "again"
			}
			w.visit(id, flow.Answer{Decision: r.Open.Decision, Choice: choice, Text: text, By: fmt.Sprint("person ", w.n(3))}, false)
		}
		if p < 10 && !calm {
			w.visit(id, flow.Cancel{By: "person"}, false)
		}
	case r.Status == flow.Waiting && r.Reason == flow.ForPause, r.Pause:
		if p < 40 || calm {
			w.visit(id, flow.Resume{By: "person"}, false)
		}
	case r.Status == flow.Parked && r.Reason == flow.ForOperator:
		w.visit(id, flow.Resume{By: "person"}, false)
	case calm:
	case p < 6:
		w.visit(id, flow.Pause{By: fmt.Sprint("pause ", w.n(1<<40))}, false)
	case p < 7:
		w.visit(id, flow.Cancel{By: "person"}, false)
	case p < 12 && r.Open != nil:
		w.visit(id, flow.Escape{By: "person"}, false)
	}
}

// talk lets people and services say something in the sessions.
func (w *world) talk() {
	directories := w.directories()
	s := directories[w.n(int64(len(directories)))]
	o := s.owner
	if o == nil || o.actor == nil || o.busy {
		return
	}
	st := o.actor.State
	w.said++
	say := func(class transcript.Class) {
		o.post(session.Arrives{Arrive: transcript.Arrive{AID: fmt.Sprint("said ", w.said), Class: class, Human: true, Text: "go on"}})
	}
	if w.calm() {
		if st.Run == nil && (st.Hold.Reason != "" && len(st.Queue) > 0 || st.Hold.Reason == transcript.Yield) || st.Interrupted() {
			say(transcript.ClassPrompt)
		}
		return
	}
	switch p := w.n(100); {
	case s.child && p < 90:
	case st.Run == nil && st.Hold.Reason != "" && p < 40, p < 4:
		say(transcript.ClassPrompt)
	case p < 12:
		say(transcript.ClassSteer)
	case p < 15:
		o.post(session.Aborts{By: "person"})
		w.count("escape in the session")
	case p < 20 && st.Interrupted():
		o.post(session.Resumes{By: "person"})
	case p < 30:
		kind := []string{session.BackgroundResult, session.ArtifactUpdate, session.SystemUpdate, session.ClientView}[w.n(4)]
		if a, err := session.Inject(fmt.Sprint("inject ", w.said), kind, "news"); err == nil {
			o.post(session.Arrives{Arrive: a})
		}
	}
}

// timers are fired by anybody.
func (w *world) timers() {
	for _, id := range w.ids {
		r := w.db.rows[id]
		due := r.Wake > 0 && r.Wake <= w.now
		if w.off == "VisitorTimesOut" && r.Open != nil && r.Open.Deadline > 0 && r.Open.Deadline <= w.now {
			due = true
		}
		if due && w.n(2) == 0 {
			w.visit(id, flow.Fire{}, false)
		}
	}
}
