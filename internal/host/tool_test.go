package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/llm"
	w "github.com/gamma-harness/gamma/workflow"
)

// call calls the workflow tool as the model of a session does.
func (h *liveSession) call(id string, args any) session.Output {
	h.p.t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		h.p.t.Fatal(err)
	}
	return h.tool.Run(h.p.t.Context(), session.ToolCall{ID: id, Name: "workflow", Args: b}, nil)
}

type m = map[string]any

// says checks the text of a result.
func says(t *testing.T, out session.Output, outcome string, parts ...string) {
	t.Helper()
	if string(out.Outcome) != outcome {
		t.Errorf("%s, want %s: %s", out.Outcome, outcome, out.Text)
	}
	for _, p := range parts {
		if !strings.Contains(out.Text, p) {
			t.Errorf("%q isn't in: %s", p, out.Text)
		}
	}
}

func TestW41_TheToolStartsAndSteers(t *testing.T) {
	p := newPlace(t)
	asks := w.Checkpoint[reply]("asks", func(*w.Ctx) string { return "Which colour?" })
	p.define("check", asks)
	p.define("person", gate("person"))
	q := p.process("h", p.script("  - text: x\n"))
	h, other := q.open(""), q.open("")

	says(t, h.call("c1.1", m{"action": "list"}), "ok", "check: ", `"word"`)
	says(t, h.call("c1.2", m{"action": "status"}), "ok", "No run")
	says(t, h.call("c1.3", m{"action": "start"}), "error", "start needs workflow")
	says(t, h.call("c1.3", m{"action": "start", "workflow": "none"}), "error", `there is no workflow "none"`, "check")
	says(t, h.call("c1.3", m{"action": "start", "workflow": "check", "input": m{"word": 1}}), "error", "/word: got number, want string")
	says(t, h.call("c1.4", m{"action": "submit", "output": 1}), "error", "no step of a workflow is open here")
	says(t, h.call("c1.4", m{"action": "submit", "attempt": "r/x#1", "output": 1}), "error", `no step waits for the output of attempt "r/x#1"`)
	says(t, h.call("c1.4", m{"action": "submit", "attempt": "r/x#1", "run": "q", "output": 1}), "error", `attempt "r/x#1" doesn't belong to run "q"`)
	says(t, h.call("c1.4", m{"action": "update", "attempt": "r/x#1", "run": "q"}), "error", `attempt "r/x#1" doesn't belong to run "q"`)
	says(t, h.call("c1.5", m{"action": "pause"}), "error", "0 runs of this session haven't ended")

	// The same call is the same run.
	start := m{"action": "start", "workflow": "check", "input": m{"word": "a"}}
	says(t, h.call("c2.1", start), "ok", "is started")
	says(t, h.call("c2.1", start), "ok", "is started")
	says(t, other.call("c2.1", start), "ok", "is started")
	id := host.DerivedID(h.id, "c2.1")
	list, err := p.db.Runs(t.Context(), 0)
	if err != nil || len(list) != 2 || len(q.started) != 3 || q.started[0] != id {
		t.Fatalf("%v, %+v, started %v", err, list, q.started)
	}

	q.drive(q.runs, id)
	says(t, h.call("c3.1", m{"action": "status", "run": id}), "ok", "waiting (checkpoint) at asks", "Which colour?")
	says(t, other.call("c3.1", m{"action": "status", "run": id}), "error", "0 runs of this session have the id")
	says(t, other.call("c3.1", m{"action": "cancel", "run": id}), "error", "0 runs of this session have the id")
	says(t, h.call("c3.2", m{"action": "answer", "input": m{"answer": 1}}), "error", "got number, want string")
	answer := m{"action": "answer", "run": id, "input": m{"answer": "blue"}}
	says(t, h.call("c3.3", answer), "ok")
	says(t, h.call("c3.3", answer), "ok", "Done.")
	if got := q.output(q.drive(q.runs, id)); got != `{"answer":"blue"}` {
		t.Error(got)
	}
	says(t, h.call("c3.4", m{"action": "status", "run": id}), "ok", "completed", `Output: {"answer":"blue"}`)
	says(t, h.call("c3.3", answer), "ok", "is now completed")
	says(t, h.call("c3.5", m{"action": "answer", "run": id, "input": 1}), "error", "isn't waiting for an answer")
}

// A call that is carried out again after a crash does nothing that a person has
// changed since, and isn't told as refused.
func TestW41_ACallThatComesAgainSteersOnce(t *testing.T) {
	p := newPlace(t)
	p.define("gate", w.Checkpoint[reply]("asks", ask("?")))
	q := p.process("h", p.script("  - text: x\n"))
	h := q.open("")
	id := q.begin("gate", h.id)
	pause, resume, cancel := m{"action": "pause"}, m{"action": "resume"}, m{"action": "cancel"}
	stands := func(want flow.Status) {
		t.Helper()
		if r, _, err := p.db.Load(t.Context(), id); err != nil || r.Status != want {
			t.Errorf("it is %s, %v; want %s", r.Status, err, want)
		}
	}
	says(t, h.call("c1", pause), "ok", "waiting (paused)")
	says(t, h.call("c1", pause), "ok", "waiting (paused)")
	says(t, h.call("c2", resume), "ok", "queued")
	if err := q.runs.Send(t.Context(), id, flow.Pause{By: "user"}); err != nil {
		t.Fatal(err)
	}
	says(t, h.call("c2", resume), "ok", "waiting (paused)")
	stands(flow.Waiting)
	// The process died when it had left its wish to the holder, whose claim ran out.
	now := time.Now().UnixMilli()
	if err := p.db.Leave(t.Context(), id, host.DerivedID(id, "model:"+h.id, "c4"), flow.Resume{By: "model:" + h.id, Key: "c4"}, now); err != nil {
		t.Fatal(err)
	}
	says(t, h.call("c4", resume), "ok", "queued")
	if left, err := p.db.Signals(t.Context(), id); err != nil || len(left) != 0 {
		t.Errorf("%d signals are left, %v", len(left), err)
	}
	says(t, h.call("c5", cancel), "ok", "cancelled")
	says(t, h.call("c5", cancel), "ok", "cancelled")
	says(t, h.call("c6", m{"action": "cancel", "run": id}), "error", "has ended")
	stands(flow.Cancelled)
}

// Whatever a model says, a person's decision stays the person's.
func TestW18_TheToolNeverAnswersForAPerson(t *testing.T) {
	p := newPlace(t)
	p.define("person", gate("person"))
	q := p.process("h", p.script("  - text: x\n"))
	h := q.open("")
	says(t, h.call("c1.1", m{"action": "start", "workflow": "person", "input": m{"word": "a"}}), "ok")
	id := host.DerivedID(h.id, "c1.1")
	q.drive(q.runs, id)
	says(t, h.call("c1.2", m{"action": "status", "run": id}), "ok", "waiting (decision)", "Only a person can answer that.")
	says(t, h.call("c1.3", m{"action": "answer", "run": id, "choice": "yes"}), "error", "a model can't answer a decision that is a person's")
	says(t, h.call("c1.4", m{"action": "answer", "run": id, "input": m{"choice": "yes"}}), "error", "a model can't answer")
	if r := q.drive(q.runs, id); r.Status != flow.Waiting {
		t.Errorf("it is %s", r.Status)
	}
	says(t, h.call("c1.5", m{"action": "cancel", "run": id}), "ok", "cancelled")
}

// Updates of a step are stored with the run; an assistant step publishes none.
func TestW16_AStepPublishesUpdates(t *testing.T) {
	p := newPlace(t)
	p.echo()
	q := p.process("h", p.script("  - tools: [{name: workflow, args: {action: update, update: {type: note, key: a, data: {n: 1}}}}]\n"+
		"  - tools: [{name: workflow, args: {action: update, update: {type: 'No', data: {n: 1}}}}]\n"+submits("x")+"  - text: ok\n"))
	h := q.open("")
	id := q.begin("echo", h.id)
	r := q.drive(q.runs, id)
	if n := r.News[flow.NewsKey("note", "a")]; string(n.Data) != `{"n":1}` {
		t.Errorf("%+v", r.News)
	}
	if told := q.told(h.id); !strings.Contains(told, "result: Stored.") || !strings.Contains(told, "its type is no name") {
		t.Error(told)
	}
}

// A call that publishes and is carried out again after a crash publishes once.
func TestW41_ACallThatComesAgainPublishesOnce(t *testing.T) {
	p := newPlace(t)
	p.echo()
	asked, pass := make(chan *llm.Request), make(chan struct{})
	q := p.process("h", &paced{p.script("  - tools: [{name: workflow, args: {action: update, update: {type: note, key: a, data: {n: 1}}}}]\n  - text: never\n"), asked, pass})
	h := q.open("")
	id := q.begin("echo", h.id)
	ctx, end := context.WithCancel(t.Context())
	driven := q.driven(ctx, id)
	published := func() (by []string) {
		t.Helper()
		log, err := p.db.Log(t.Context(), id, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			for _, f := range e.Facts {
				if f.Kind == flow.KindUpdated {
					by = append(by, f.By)
				}
			}
		}
		return by
	}
	<-asked
	pass <- struct{}{}
	<-asked // the call has its result
	if by := published(); len(by) != 1 {
		t.Fatalf("published by %q", by)
	}
	_, call, _ := strings.Cut(published()[0], "/")
	update := func(call string, n int) session.Output {
		return h.call(call, m{"action": "update", "update": m{"type": "note", "key": "a", "data": m{"n": n}}})
	}
	says(t, update(call, 1), "ok", "Stored.")
	if by := published(); len(by) != 1 {
		t.Errorf("published by %q", by)
	}
	says(t, update("c99.1", 2), "ok", "Stored.")
	says(t, update(call, 1), "ok", "Stored.")
	if by := published(); len(by) != 2 {
		t.Errorf("published by %q", by)
	}
	end()
	driven()
	if r, _, err := p.db.Load(t.Context(), id); err != nil || string(r.News[flow.NewsKey("note", "a")].Data) != `{"n":2}` {
		t.Errorf("%+v, %v", r.News, err)
	}
}

// One run holds the session's slot; the others wait for it.
func TestW38_RunsOfASessionTakeTurns(t *testing.T) {
	p := newPlace(t)
	p.echo()
	q := p.process("h", p.script(submits("one")+"  - text: a\n"+submits("two")+"  - text: b\n"))
	h := q.open("")
	ids := []string{q.begin("echo", h.id), q.begin("echo", h.id)}
	first, second := q.driven(t.Context(), ids[0]), q.driven(t.Context(), ids[1])
	got := map[string]bool{q.output(first()): true, q.output(second()): true}
	if !got[`{"answer":"one"}`] || !got[`{"answer":"two"}`] {
		t.Errorf("%v", got)
	}
	check(t, q.told(h.id), `
step reply#1
result: Accepted as the output of the step. End your turn.
says: a
settled: done
step reply#1
result: Accepted as the output of the step. End your turn.
says: b
settled: done`)
}

// Of the runs that are wanted in a session the older one goes first, whoever is
// asked for first.
func TestW38_TheOlderRunGoesFirst(t *testing.T) {
	p := newPlace(t)
	p.echo()
	q := p.process("h", p.script(submits("one")+"  - text: a\n"+submits("two")+"  - text: b\n"))
	q.runs.Wanted = q.steps.Wanted
	h := q.open("")
	older := q.begin("echo", h.id)
	newer := q.begin("echo", h.id)
	q.steps.Coming(older)
	second := q.driven(t.Context(), newer)
	first := q.driven(t.Context(), older)
	if got := q.output(first()); got != `{"answer":"one"}` {
		t.Errorf("the older run got %s", got)
	}
	if got := q.output(second()); got != `{"answer":"two"}` {
		t.Errorf("the newer run got %s", got)
	}
}
