package sim

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// effect is something that runs: a model call, a tool or a timer.
type effect struct {
	session.Effect
	cancelled bool
	deaf      bool // ignores its cancellation
	late      bool // of a model call: its answer comes although it is cancelled
	done      bool // a tool had its effect
}

// Start implements agent.Effects.
func (w *world) Start(e session.Effect, s *session.State, env session.Env) {
	if e.Kind != session.Wait {
		w.disk.here("start.before")
	}
	run := &effect{Effect: e}
	w.effects = append(w.effects, run)
	switch e.Kind {
	case session.CallModel:
		run.late = w.roll(0.4)
		w.send(e, s, env)
	case session.Compact:
		run.late = w.roll(0.4)
		w.startCompact(e, s)
	case session.RunTool:
		run.deaf = w.roll(w.odds.deaf)
		w.step("  start %s %s", e.Tool.Name, e.Tool.ID)
		w.see(audit.Seen{Kind: audit.Started, Call: e.Tool.ID})
	}
	if e.Kind != session.Wait {
		w.disk.here("start.after")
	}
}

// send notes the bytes of the request.
func (w *world) send(e session.Effect, s *session.State, env session.Env) {
	req := session.Request(s, env)
	messages := make([][]byte, len(req.Messages))
	for i, m := range req.Messages {
		b, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			w.violated("request %s: message %d: %w", e.Request, i+1, err)
		}
		messages[i] = b
	}
	w.see(audit.Seen{Kind: audit.Sent, Entry: e.Request.String(), Messages: messages})
}

// Cancel implements agent.Effects. Timers and most model calls are gone at
// once; the answer of some is already on its way.
func (w *world) Cancel(key string) {
	for _, e := range w.effects {
		if e.Key == key {
			e.cancelled = true
		}
	}
}

// end takes an effect out and tells the actor.
func (w *world) end(e *effect) {
	w.effects = slices.DeleteFunc(w.effects, func(o *effect) bool { return o == e })
	w.actor.Done(e.Key)
}

// drop takes out cancelled timers, and cancelled model calls whose answer
// isn't on its way.
func (w *world) drop() {
	w.effects = slices.DeleteFunc(w.effects, func(e *effect) bool {
		return e.cancelled && (e.Kind == session.Wait || e.Kind != session.RunTool && !e.late)
	})
}

// advance lets time pass; timers fire on their way.
func (w *world) advance(d time.Duration) {
	until := w.now.Add(d)
	for n := 0; w.actor != nil; n++ {
		if n > 1000 {
			w.violated("timers fire without end")
		}
		var next *effect
		for _, e := range w.effects {
			if e.Kind == session.Wait && !e.cancelled && !e.At.After(until) && (next == nil || e.At.Before(next.At)) {
				next = e
			}
		}
		if next == nil {
			break
		}
		if next.At.After(w.now) {
			w.now = next.At
		}
		w.guard(func() {
			w.end(next)
			w.step("timer")
			w.totals.Events["timer"]++
			w.handle(session.Tick{})
		})
	}
	if until.After(w.now) {
		w.now = until
	}
}

// work lets one running effect, chosen at random, get on.
func (w *world) work() {
	w.drop()
	var able []*effect
	for _, e := range w.effects {
		if e.Kind != session.Wait {
			able = append(able, e)
		}
	}
	if len(able) == 0 {
		return
	}
	e := able[w.rng.IntN(len(able))]
	w.guard(func() {
		if e.Kind == session.CallModel {
			w.end(e)
			w.report(w.modelEnds(e))
			return
		}
		if e.Kind == session.Compact {
			w.end(e)
			w.report(w.compactEnds(e))
			return
		}
		w.toolWorks(e)
	})
}

// report hands in what an effect led to. Sometimes something else waits in
// the mailbox and shares its write: words, an abort, or another tool's end.
func (w *world) report(ev session.Event) {
	if !w.roll(0.15) {
		w.handle(ev)
		return
	}
	w.totals.Events["shared write"]++
	events := []session.Event{ev}
	var l *letter
	switch w.rng.IntN(6) {
	case 0, 1, 2:
		l = w.write([]string{"steer", "prompt", session.SystemUpdate}[w.rng.IntN(3)])
		events = append(events, session.Arrives{Arrive: l.Arrive})
	case 3:
		events = append(events, session.Aborts{By: "user"})
	default:
		if other := w.otherEnd(); other != nil {
			events = append(events, *other)
		}
	}
	if w.roll(0.5) {
		slices.Reverse(events)
	}
	from := w.actor.State.Seq
	for i, r := range w.handle(events...) {
		switch events[i].(type) {
		case session.Arrives:
			l.acked = true
			w.answered(l, r)
		case session.Aborts:
			if r.Err == nil {
				w.see(audit.Seen{Kind: audit.AbortTold, From: from})
			}
		}
	}
}

// otherEnd ends another tool that had its effect.
func (w *world) otherEnd() *session.ToolDone {
	for _, e := range w.effects {
		if e.Kind == session.RunTool && e.done && !e.cancelled {
			done := w.ends(e)
			return &done
		}
	}
	return nil
}

// toolWorks: a tool takes effect, then it reports. A cancelled one may stop
// before its effect; a deaf one may never report.
func (w *world) toolWorks(e *effect) {
	if !e.done && !(e.cancelled && !e.deaf) {
		e.done = true
		w.see(audit.Seen{Kind: audit.Effect, Call: e.Tool.ID})
		return
	}
	if e.cancelled && e.deaf && w.roll(0.7) {
		return
	}
	w.report(w.ends(e))
}

// ends makes the report of a tool.
func (w *world) ends(e *effect) session.ToolDone {
	out := transcript.Output{Outcome: transcript.OutcomeOK, Text: w.fat(w.words("did "+e.Tool.Name), 6000)}
	switch {
	case e.cancelled && !e.deaf:
		out.Outcome, out.Text = transcript.OutcomeError, w.words("cancelled")
	case w.roll(0.15):
		out.Outcome, out.Text = transcript.OutcomeError, w.words("failed")
	}
	if w.roll(0.1) {
		out.Details = w.rawJSON()
	}
	w.tells(e, &out)
	w.step("tool %s reports", e.Tool.ID)
	w.totals.Events["tool report"]++
	if e.cancelled {
		w.totals.Events["late tool report"]++
	}
	w.end(e)
	w.see(audit.Seen{Kind: audit.Reported, Call: e.Tool.ID, Text: readable(out.Text)})
	return session.ToolDone{Call: e.Tool.ID, Epoch: w.token, Output: out}
}

// toolsDie: with its owner a running tool ends, maybe after its effect.
func (w *world) toolsDie() {
	for _, e := range w.effects {
		if e.Kind == session.RunTool && !e.done && w.roll(0.5) {
			w.see(audit.Seen{Kind: audit.Effect, Call: e.Tool.ID})
		}
	}
}

// idlePoint names a crash between two events.
func (w *world) idlePoint() string {
	point := "idle"
	for _, e := range w.effects {
		switch {
		case e.cancelled || e.Kind == session.Wait:
		case e.Kind == session.CallModel:
			return "answering"
		case e.Kind == session.Compact:
			return "compacting"
		case e.done:
			return "tool.effected"
		default:
			point = "tool.started"
		}
	}
	return point
}

// modelEnds makes the report of a model call.
func (w *world) modelEnds(e *effect) session.Event {
	if e.cancelled {
		w.totals.Events["late answer"]++
	}
	resp, err := w.think()
	if err != nil {
		w.step("model fails: %s", err.Class)
		w.see(audit.Seen{Kind: audit.Failed, Entry: e.Request.String(), Wait: err.RetryAfter})
		w.totals.Events["model failure"]++
		return session.ModelFailed{Request: e.Request, Err: err, Jitter: w.rng.Float64()}
	}
	w.step("model answers: %s, %d parts", resp.Stop, len(resp.Parts))
	w.totals.Events["model answer"]++
	return session.ModelDone{Request: e.Request, Response: resp}
}

func text(s string) llm.Part { return llm.Part{Type: llm.TextPart, Text: s} }
