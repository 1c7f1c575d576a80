package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	w "github.com/gamma-harness/gamma/workflow"
)

// echo is one step that submits.
func (p *place) echo(opts ...w.NodeOption) {
	p.t.Helper()
	p.define("echo", w.Agent("reply", ask("Answer."), w.Submit(w.Validate(func(_ *w.Ctx, r reply) error {
		if r.Answer == "bad" {
			return errors.New("bad is no answer")
		}
		return nil
	})), opts...))
}

// assistant is one step whose answer is the output.
func (p *place) assistant(opts ...w.NodeOption) {
	p.t.Helper()
	p.define("say", w.Agent("say", ask("Say it."), w.AssistantMessage(w.MaxChars(20)), opts...))
}

func TestW31_RefusedTwiceAcceptedTheThirdTime(t *testing.T) {
	p := newPlace(t)
	p.echo()
	q := p.process("h", p.script(submits("7")+submits("bad")+submits("good")+"  - text: there\n"))
	h := q.open("")
	if got := q.output(q.drive(q.runs, q.begin("echo", h.id))); got != `{"answer":"good"}` {
		t.Error(got)
	}
	check(t, q.told(h.id), `
step reply#1
result: error: not accepted: the submission doesn't fit: /answer: got number, want string
result: error: not accepted: bad is no answer
result: Accepted as the output of the step. End your turn.
says: there
settled: done`)
}

func TestW31_TwoRemindersThenFailure(t *testing.T) {
	p := newPlace(t)
	p.echo()
	q := p.process("h", p.script("  - text: one\n  - text: two\n  - text: three\n"))
	h := q.open("")
	r := q.drive(q.runs, q.begin("echo", h.id))
	if r.Status != flow.Failed || r.Reason != "not_submitted" {
		t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
	}
	check(t, q.told(h.id), `
step reply#1
says: one
settled: done
reminder reply#1
says: two
settled: done
reminder reply#1
says: three
settled: done`)
}

// The next step may begin in the moment in which the one before it was
// accepted; its prompt waits for the settle and isn't lost.
func TestW31_TheNextStepIsNeverLost(t *testing.T) {
	p := newPlace(t)
	first := w.Agent("first", ask("First."), w.Submit[reply]())
	second := w.Agent("second", func(c *w.Ctx) string { return "After " + first.Of(c).Answer }, w.Submit[reply]())
	third := w.Agent("third", ask("Say."), w.AssistantMessage())
	p.define("three", first, w.Then(first, second), w.Then(second, third))
	q := p.process("h", p.script(submits("a")+"  - text: x\n"+submits("b")+"  - text: y\n  - text: the end\n"))
	h := q.open("")
	if got := q.output(q.drive(q.runs, q.begin("three", h.id))); got != `"the end"` {
		t.Error(got)
	}
	check(t, q.told(h.id), `
step first#1
result: Accepted as the output of the step. End your turn.
says: x
settled: done
step second#2
result: Accepted as the output of the step. End your turn.
says: y
settled: done
step third#3
says: the end
settled: done`)
}

func TestW32_HowAnAnswerStopped(t *testing.T) {
	for name, c := range map[string]struct{ steps, code string }{
		"blank":      {"  - text: \" \\n\"\n", "empty"},
		"invisible":  {"  - text: \"\\u200b\\u2060\\ufeff \\u3164\\u00a0\\ufe0f\\u200d\"\n", "empty"},
		"length":     {"  - text: cut\n    finish: length\n", "length"},
		"too long":   {"  - text: 123456789012345678901\n", "max_chars"},
		"error":      {"  - error: {status: 400}\n", "error"},
		"filtered":   {"  - text: no\n    finish: content_filter\n", "content_filter"},
		"exact text": {"  - tools: [{name: workflow, args: {action: submit, output: 1}}]\n  - text: \" it\\n\"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.assistant()
			q := p.process("h", p.script(c.steps))
			h := q.open("")
			r := q.drive(q.runs, q.begin("say", h.id))
			if c.code != "" {
				if r.Status != flow.Failed || r.Reason != c.code {
					t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
				}
				return
			}
			if got := q.output(r); got != `" it\n"` {
				t.Error(got)
			}
		})
	}
}

// A person stops the step, lets the run go on, and the same attempt is
// prompted anew.
func TestW32_EscapeHoldsAndResumePrompts(t *testing.T) {
	p := newPlace(t)
	p.assistant()
	asked := make(chan *llm.Request)
	pass := make(chan struct{})
	q := p.process("h", &paced{p.script("  - text: said\n"), asked, pass})
	h := q.open("")
	id := q.begin("say", h.id)
	for range 2 { // it may be stopped again and again
		wait := q.driven(t.Context(), id)
		<-asked
		if _, err := h.agent.Send(t.Context(), session.Aborts{By: "user", Why: "escape"}); err != nil {
			t.Fatal(err)
		}
		if r := wait(); r.Status != flow.Waiting || r.Reason != flow.ForPause || !r.Open.Held {
			t.Fatalf("%s (%s)", r.Status, r.Reason)
		}
		if err := q.runs.Send(t.Context(), id, flow.Resume{By: "user"}); err != nil {
			t.Fatal(err)
		}
	}
	wait := q.driven(t.Context(), id)
	<-asked
	close(pass)
	if got := q.output(wait()); got != `"said"` {
		t.Error(got)
	}
	check(t, q.told(h.id), `
step say#1
settled: aborted
resume say#1
settled: aborted
resume say#1
says: said
settled: done`)
}

// What came first counts: the answer, or the end of the time.
func TestW32_TimeoutAgainstAnswer(t *testing.T) {
	for _, answered := range []bool{true, false} {
		p := newPlace(t)
		p.assistant()
		asked, pass := make(chan *llm.Request), make(chan struct{}, 1)
		q := p.process("h", &paced{p.script("  - text: said\n"), asked, pass})
		h := q.open("")
		s := runner.Step{Run: "r", Workflow: "say", Node: "say", Attempt: "r/say#1", Session: h.id, Prompt: "Say it.", Completion: "assistant"}
		ctx, end := context.WithCancelCause(t.Context())
		out := make(chan flow.StepOutcome, 1)
		go func() {
			o, err := q.steps.Step(ctx, s)
			if err != nil {
				t.Error(err)
			}
			out <- o
		}()
		<-asked
		if answered {
			pass <- struct{}{}
			q.settled(h, "r/say#1")
		}
		end(runner.Ending(flow.CauseTimeout))
		o := <-out
		if answered && (o.Stop != "ok" || o.Text != "said") || !answered && (o.Stop != "aborted" || o.Cause != "timeout") {
			t.Errorf("answered %v: %+v", answered, o)
		}
		if o.SessionToken != 1 || o.State != flow.StepSettled {
			t.Errorf("%+v", o)
		}
		o, err := q.steps.Step(t.Context(), s) // whoever asks again gets the same
		if err != nil || (o.Stop == "ok") != answered {
			t.Errorf("asked again: %+v, %v", o, err)
		}
	}
}

// settled waits until the attempt's run has settled.
func (p *process) settled(h *liveSession, attempt string) {
	p.t.Helper()
	p.soon("attempt "+attempt+" settles", func() bool {
		var s session.StepState
		if err := h.agent.View(func(st *session.State) { s = st.Attempt(attempt).State }); err != nil {
			p.t.Fatal(err)
		}
		return s == session.StepSettled
	})
}

// Two callers of one attempt share one turn, and only the newest may end it.
func TestW30_ASecondCallJoins(t *testing.T) {
	p := newPlace(t)
	asked, pass := make(chan *llm.Request), make(chan struct{})
	q := p.process("h", &paced{p.script("  - text: once\n"), asked, pass})
	h := q.open("")
	s := runner.Step{Run: "r", Workflow: "say", Node: "say", Attempt: "r/say#1", Session: h.id, Prompt: "Say it.", Completion: "assistant"}
	zombie, end := context.WithCancelCause(t.Context())
	outs := make(chan flow.StepOutcome, 2)
	step := func(ctx context.Context) {
		o, err := q.steps.Step(ctx, s)
		if err != nil {
			t.Error(err)
		}
		outs <- o
	}
	go step(zombie)
	<-asked
	joined, err := q.steps.Look(t.Context(), s)
	if err != nil || joined.State != flow.StepPrompted {
		t.Errorf("%+v, %v", joined, err)
	}
	go step(t.Context())
	q.joined(s.Attempt, 2)
	end(runner.Ending(flow.CauseTimeout)) // the first one's claim was lost; its clock isn't the run's
	close(pass)
	for range 2 {
		if o := <-outs; o.Text != "once" || o.Stop != "ok" {
			t.Errorf("%+v", o)
		}
	}
	check(t, q.told(h.id), "step say#1\nsays: once\nsettled: done")
}

// joined waits until so many callers share an attempt.
func (p *process) joined(attempt string, n int) {
	p.soon(fmt.Sprintf("%d callers share attempt %s", n, attempt), func() bool { return host.CallersOf(p.steps, attempt) == n })
}

// A process that ends leaves the step as it is; the next owner goes on, with
// one prompt and one answer.
func TestW35_ParkedAndTakenUpByASecondProcess(t *testing.T) {
	p := newPlace(t)
	p.assistant()
	asked := make(chan *llm.Request)
	one := p.process("one", &paced{p.script("  - text: never\n"), asked, make(chan struct{})})
	h := one.open("")
	id := one.begin("say", h.id)
	ctx, stop := context.WithCancel(t.Context())
	wait := one.driven(ctx, id)
	<-asked
	stop()
	if r := wait(); r.Status != flow.Parked || r.Reason != flow.ForHost {
		t.Fatalf("%s (%s)", r.Status, r.Reason)
	}
	h.leave()
	two := p.process("two", p.script("  - text: said\n"))
	two.open(h.id)
	if got := two.output(two.drive(two.runs, id)); got != `"said"` {
		t.Error(got)
	}
	check(t, two.told(h.id), "step say#1\nsays: said\nsettled: done")
}

// What a process before has accepted, and a person's words that came into the
// step, stay as they are.
func TestW35_ASubmissionOnDiskIsAdopted(t *testing.T) {
	p := newPlace(t)
	p.echo()
	asked, pass := make(chan *llm.Request, 9), make(chan struct{}, 1)
	pass <- struct{}{}
	one := p.process("one", &paced{p.script(submits("kept") + "  - text: never\n"), asked, pass})
	h := one.open("")
	id := one.begin("echo", h.id)
	ctx, stop := context.WithCancel(t.Context())
	wait := one.driven(ctx, id)
	<-asked
	<-asked // it has the result, and is asked for its last words
	stop()
	wait()
	h.leave()
	two := p.process("two", p.script("  - text: first\n  - text: done\n"))
	two.open(h.id)
	if got := two.output(two.drive(two.runs, id)); got != `{"answer":"kept"}` {
		t.Error(got)
	}
	check(t, two.told(h.id), `
step reply#1
result: Accepted as the output of the step. End your turn.
says: done
settled: done`)
}

func TestW37_WithoutASessionOfOrigin(t *testing.T) {
	p := newPlace(t)
	p.assistant()
	q := p.process("h", p.script("  - text: never\n"))
	_, err := q.runs.Start(t.Context(), host.Request{Definition: p.defs["say"], Source: "test:say", Input: w.JSON(`{"word":"hi"}`), Workspace: p.dir})
	if err == nil || !strings.Contains(err.Error(), "Assistant completion requires an origin session.") {
		t.Errorf("%v", err)
	}
}

// A host without the session of origin parks before anything is visible; the
// session takes the step up and says it once.
func TestW37_DetachedParksForItsSession(t *testing.T) {
	p := newPlace(t)
	p.assistant()
	home := p.process("home", p.script("  - text: said\n"))
	h := home.open("")
	h.leave()
	away := p.process("away", p.script("  - text: never\n"))
	id := away.begin("say", h.id)
	r := away.drive(away.runs, id)
	if r.Status != flow.Parked || r.Reason != flow.ForSession || r.ClaimBy() != h.id || r.Open == nil {
		t.Fatalf("%s (%s), claimed by %s", r.Status, r.Reason, r.ClaimBy())
	}
	if told := away.told(h.id); told != "" {
		t.Errorf("it was told %s", told)
	}
	home.open(h.id)
	if got := home.output(home.drive(home.runs, id)); got != `"said"` {
		t.Error(got)
	}
	check(t, home.told(h.id), "step say#1\nsays: said\nsettled: done")
}

// The steps of a run without a session are carried out in one of its own, under
// an id that the next host finds again.
func TestW40_ChildSessions(t *testing.T) {
	p := newPlace(t)
	p.echo()
	asked := make(chan *llm.Request)
	one := p.process("one", &paced{p.script(submits("x")), asked, make(chan struct{})})
	var child *liveSession
	one.steps.Child = func(_ context.Context, run string) (*host.Live, error) {
		child = one.open(host.ChildID(run))
		return child.here, nil
	}
	id := one.begin("echo", "")
	ctx, stop := context.WithCancel(t.Context())
	wait := one.driven(ctx, id)
	<-asked
	stop()
	wait()
	child.leave()
	two := p.process("two", p.script(submits("done")+"  - text: ok\n"))
	two.steps.Child = func(_ context.Context, run string) (*host.Live, error) { return two.open(host.ChildID(run)).here, nil }
	if got := two.output(two.drive(two.runs, id)); got != `{"answer":"done"}` {
		t.Error(got)
	}
	check(t, two.told(child.id), "step reply#1\nresult: Accepted as the output of the step. End your turn.\nsays: ok\nsettled: done")
}

// A step that asks the user isn't reminded, isn't late, and goes on with what
// the user says.
func TestW31_AYieldWaitsForTheUser(t *testing.T) {
	p := newPlace(t)
	p.echo(w.Timeout(time.Minute))
	q := p.process("h", p.script("  - tools: [{name: message_user, args: {message: 'Which?', blockOnUser: true, reason: input}}]\n"+
		submits("blue")+"  - text: ok\n"))
	waits := make(chan bool, 9)
	q.runs.Observe = func(_ string, _ *flow.Run, c *flow.Commit) {
		for _, f := range c.Facts {
			if f.Kind == flow.KindYielded || f.Kind == flow.KindSpoke {
				if open := c.Next.Open; (open.Deadline == 0) != open.Waits || (open.Left > 0) != open.Waits {
					t.Errorf("waits %v: it is due at %d, with %d ms left", open.Waits, open.Deadline, open.Left)
				}
				waits <- f.Kind == flow.KindYielded
			}
		}
	}
	h := q.open("")
	wait := q.driven(t.Context(), q.begin("echo", h.id))
	if !<-waits {
		t.Error("it doesn't wait")
	}
	words := transcript.Arrive{AID: "a", Class: transcript.ClassPrompt, Human: true, Text: "The blue one."}
	if r, err := h.agent.Send(t.Context(), session.Arrives{Arrive: words}); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	if <-waits {
		t.Error("it waits twice")
	}
	if got := q.output(wait()); got != `{"answer":"blue"}` {
		t.Error(got)
	}
}

// TestW31_AStepThatWaitsTakesNoSlot: a host that may carry out one run at once
// goes on with others while a step waits for the user, also after it has taken
// that run up anew.
func TestW31_AStepThatWaitsTakesNoSlot(t *testing.T) {
	p := newPlace(t)
	p.echo()
	p.define("one", w.Compute("a", func(*w.Ctx) (string, error) { return "x", nil }))
	q := p.process("h", p.script("  - tools: [{name: message_user, args: {message: 'Which?', blockOnUser: true, reason: input}}]\n"+
		submits("blue")+"  - text: ok\n"))
	h := q.open("")
	asks := q.begin("echo", h.id)
	work := func(do func()) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- q.runs.Work(ctx, 1) }()
		do()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	status := func(id string, want flow.Status) func() bool {
		return func() bool {
			r, _, err := p.db.Load(t.Context(), id)
			return err == nil && r.Status == want
		}
	}
	waits := func() bool {
		r, _, err := p.db.Load(t.Context(), asks)
		return err == nil && r.Open != nil && r.Open.Waits && r.Status == flow.Running
	}
	for range 2 {
		work(func() {
			p.soon("the step waits", waits)
			p.soon("another run ends beside it", status(p.start(q.runs, "one"), flow.Completed))
		})
	}
	work(func() {
		p.soon("it is taken up", waits)
		words := transcript.Arrive{AID: "a", Class: transcript.ClassPrompt, Human: true, Text: "The blue one."}
		if r, err := h.agent.Send(t.Context(), session.Arrives{Arrive: words}); err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		p.soon("the run ends", status(asks, flow.Completed))
	})
}
