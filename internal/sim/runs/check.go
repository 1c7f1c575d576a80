package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// committed checks a commit that was just written.
func (w *world) committed(g *flow.Graph, r *row, before *flow.Run, c *flow.Commit, token int64) {
	w.count("commits")
	if w.loud {
		var facts []string
		for _, f := range c.Facts {
			facts = append(facts, strings.TrimSpace(f.Kind+" "+f.Attempt+" "+string(f.Outcome)+" "+f.Code+f.Reason+f.By))
		}
		w.logf("%s #%d token %d: %s", r.ID, c.Next.Seq, token, strings.Join(facts, "; "))
	}
	if token != 0 && token != r.token {
		w.fail("%s: commit %d was made under claim %d, and claim %d is the newest", r.ID, c.Next.Seq, token, r.token)
	}
	if n := len(r.log); n > 1 && r.log[n-1].Seq != r.log[n-2].Seq+1 {
		w.fail("%s: commit %d follows commit %d", r.ID, r.log[n-1].Seq, r.log[n-2].Seq)
	}
	successors := 0
	if w.taking && token != 0 {
		w.takes[r.ID]++
	}
	w.taking = false
	for _, f := range c.Facts {
		if f.Kind == flow.KindPresent || f.Kind == flow.KindTurnDue {
			successors++
		}
		w.fact(r, before, f, token)
		if further(f) {
			w.takes[r.ID] = 0
		}
		if f.Code == "crash_loop" {
			w.count("crash loop")
		}
		if f.Kind == flow.KindFinished {
			w.outputs[f.Attempt] = string(c.Output)
			w.finished(g, before, f, c)
		}
	}
	if successors > 1 {
		w.fail("%s has %d successors in one commit", r.ID, successors)
	}
	w.stands(g, c.Next)
	if w.n(16) == 0 {
		if err := w.db.equal(g, r); err != nil {
			w.fail("%v", err)
		}
	}
}

// further reports whether a fact brings its run further, or a person or a host
// gave it up in good order.
func further(f flow.Fact) bool {
	switch f.Kind {
	case flow.KindDeadlineMoved, flow.KindTaken, flow.KindUpdated, flow.KindPauseAsked, flow.KindResumed, flow.KindUnparked, flow.KindUnheld:
		return false
	case flow.KindFinished:
		return f.Code != "interrupted"
	case flow.KindAttempt:
		return !f.Again
	}
	return true
}

func (w *world) fact(r *row, before *flow.Run, f flow.Fact, token int64) {
	switch f.Kind {
	case flow.KindFinished:
		if was, twice := w.ended[f.Attempt]; twice {
			w.fail("attempt %s ended twice: %s and %s", f.Attempt, was.Outcome, f.Outcome)
		}
		w.ended[f.Attempt] = f
		if f.Outcome == flow.TimedOutAttempt && before.Open.Waits && !w.overIn(f.Attempt) {
			w.fail("attempt %s was timed out while it waited for the user", f.Attempt)
		}
		if f.Outcome == flow.TimedOutAttempt && token == 0 && before.Status == flow.Running {
			w.fail("a visitor timed out attempt %s", f.Attempt)
		}
	case flow.KindAttempt:
		if token == 0 {
			w.fail("%s: a visitor entered node %s", r.ID, f.Node)
		}
		if before.Pause {
			w.fail("%s: node %s was entered while a pause was due", r.ID, f.Node)
		}
	case flow.KindPauseAsked:
		if w.pauses[r.ID+f.By]++; w.pauses[r.ID+f.By] > 1 && f.By != "escape" {
			w.fail("%s: the signal %q was carried out twice", r.ID, f.By)
		}
	case flow.KindPresent:
		if before.Presented {
			w.fail("%s presents itself a second time", r.ID)
		}
	case flow.KindAnswered:
		if strings.HasPrefix(f.By, "person") && before.Open.Until > 0 && token == 0 && w.decided >= before.Open.Until {
			w.fail("%s: an answer was taken after its time", r.ID)
		}
	}
}

// stands checks that a run that goes on is owed something and that one that
// stands still has a reason.
func (w *world) stands(g *flow.Graph, r *flow.Run) {
	switch r.Status {
	case flow.Running:
		if flow.Owed(g, r) == nil {
			w.fail("%s is running and nothing is owed", r.ID)
		}
	case flow.Waiting:
		timed := r.Reason == flow.ForDelay || r.Reason == flow.ForRetry
		if r.Reason == "" || timed && r.Wake == 0 {
			w.fail("%s waits (%s) and nothing will wake it", r.ID, r.Reason)
		}
	case flow.Parked:
		if r.Reason == "" {
			w.fail("%s is parked without a reason", r.ID)
		}
	}
}

// atEnd checks the whole history.
func (w *world) atEnd() {
	for _, id := range w.ids {
		if err := w.db.equal(w.graphs[id], w.db.rows[id]); err != nil {
			w.fail("%v", err)
		}
		w.notices(id)
	}
	for _, s := range w.directories() {
		w.branch(s)
	}
	for id, d := range w.db.decisions {
		if d.answers > 1 {
			w.fail("%s has %d answers", id, d.answers)
		}
	}
	for _, n := range w.db.outbox {
		told := 0
		for _, l := range w.session(n.session).read(w) {
			if l.Kind == "arrive" && strings.HasPrefix(l.Body.AID, n.ID) {
				told++
			}
		}
		if told != 1 && (n.Kind != flow.NoticePresent || told > 1) {
			w.fail("%s is %d times in its session", n.ID, told)
		}
	}
}

// notices compares notifications and successors with the run.
func (w *world) notices(id string) {
	kinds := map[string]int{}
	for _, n := range w.db.outbox {
		if n.run == id {
			kinds[n.Kind]++
		}
	}
	if kinds[flow.NoticeTurn] > 1 || kinds[flow.NoticePresent] > 1 {
		w.fail("%s has %d turns and %d presentations", id, kinds[flow.NoticeTurn], kinds[flow.NoticePresent])
	}
	if r := w.db.rows[id]; r.Status == flow.Completed && w.graphs[id].Has("present") && kinds[flow.NoticePresent] != 1 {
		w.fail("%s has completed and presents itself %d times", id, kinds[flow.NoticePresent])
	}
	told := 0
	for attempt, end := range w.ended {
		if strings.HasPrefix(attempt, id+"/") && end.Outcome == flow.OK && w.graphs[id].Node(end.Node).NodeType == workflow.TypeNotify {
			told++
		}
	}
	if told != kinds[flow.NoticeText] {
		w.fail("%s notified %d times, and has %d rows", id, told, kinds[flow.NoticeText])
	}
}

// normal makes two dumps of a run comparable: pointers differ.
func normal(s string) string {
	parts := strings.Fields(s)
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "Open:0x") }), " ")
}

// replay plays a seed once more and returns its log.
func replay(seed uint64, off string, k kit) string {
	w := newWorld(seed, off, k)
	w.loud = true
	err := w.play()
	return strings.Join(w.log, "\n") + fmt.Sprintf("\n%v", err)
}
