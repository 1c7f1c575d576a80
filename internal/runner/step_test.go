package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	w "github.com/gamma-harness/gamma/workflow"
)

// scripted is a StepExecutor that does what a test says. When a step's context
// ends it reports the abort with its cause, as a session does.
type scripted struct {
	knows []string
	look  flow.StepOutcome
	step  func(ctx context.Context, s runner.Step) (flow.StepOutcome, error)
	steps []runner.Step
	held  []string
}

func (x *scripted) Completions() []string { return x.knows }
func (x *scripted) Hold(attempt string)   { x.held = append(x.held, attempt) }
func (x *scripted) Look(context.Context, runner.Step) (flow.StepOutcome, error) {
	return x.look, nil
}

func (x *scripted) Step(ctx context.Context, s runner.Step) (flow.StepOutcome, error) {
	x.steps = append(x.steps, s)
	o, err := x.step(ctx, s)
	if ctx.Err() != nil && o.Stop == "" && err == nil {
		return flow.StepOutcome{State: flow.StepSettled, Stop: "aborted", Cause: context.Cause(ctx).Error()}, nil
	}
	return o, err
}

func says(text string) func(context.Context, runner.Step) (flow.StepOutcome, error) {
	return func(context.Context, runner.Step) (flow.StepOutcome, error) {
		return flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: text, Entry: "1-2"}, nil
	}
}

func waits(ctx context.Context, _ runner.Step) (flow.StepOutcome, error) {
	<-ctx.Done()
	return flow.StepOutcome{}, nil
}

func both() []string { return []string{"submit", "assistant"} }

func ask(s string) func(*w.Ctx) string { return func(*w.Ctx) string { return s } }

func TestW32_AssistantTextIsTheOutput(t *testing.T) {
	say := w.Agent("say", ask("Say it."), w.AssistantMessage(w.MaxCharsOf(func(*w.Ctx) int { return 20 })))
	end := w.Compute("end", func(c *w.Ctx) (string, error) { return say.Of(c), nil })
	x := &scripted{knows: both(), step: says("  exactly <this>\n")}
	d := prepare(t, "S", say, w.Then(say, end))
	d.conf.Steps = x
	d.carry()
	if d.result() != `"  exactly <this>\n"` {
		t.Errorf("got %s", d.result())
	}
	s := x.steps[0]
	if len(x.steps) != 1 || s.Prompt != "Say it." || s.Completion != "assistant" || s.MaxChars != 20 || s.Attempt != "r/say#1" || s.Session != "S" || s.Workflow != "test" {
		t.Errorf("got %+v", x.steps)
	}
}

func TestW30_UnknownCompletionFails(t *testing.T) {
	d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage()))
	d.conf.Steps = &scripted{knows: []string{"submit"}, step: says("never")}
	if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "complete by assistant") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	d = prepare(t, "S", w.Agent("job", ask("?"), w.Submit[value]()))
	if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "complete by submit") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

func TestW33_BadLimitFailsBeforeThePrompt(t *testing.T) {
	x := &scripted{knows: both(), step: says("never")}
	d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage(w.MaxCharsOf(func(*w.Ctx) int { return 0 }))))
	d.conf.Steps = x
	if r := d.carry(); r.Status != flow.Failed || r.Reason != "max_chars" || len(x.steps) != 0 {
		t.Errorf("%s (%s), %d prompts", r.Status, r.Reason, len(x.steps))
	}
}

func TestW31_SubmissionsAreChecked(t *testing.T) {
	var refused []string
	x := &scripted{knows: both(), step: func(_ context.Context, s runner.Step) (flow.StepOutcome, error) {
		for _, try := range []string{`{"n":"x"}`, `{"n":-1}`, `{"n":5}`} {
			err := s.Accept(w.JSON(try))
			if err == nil {
				return flow.StepOutcome{State: flow.StepSettled, Stop: "aborted", Cause: "timeout", Output: w.JSON(try)}, nil
			}
			refused = append(refused, err.Error())
		}
		return flow.StepOutcome{}, errors.New("nothing was accepted")
	}}
	d := prepare(t, "", w.Agent("job", ask("?"), w.Submit(w.Validate(func(_ *w.Ctx, v value) error {
		if v.N < 0 {
			return errors.New("n is below 0")
		}
		return nil
	}))))
	d.conf.Steps = x
	d.carry()
	want := "the submission doesn't fit: /n: got string, want integer | n is below 0"
	if d.result() != `{"n":5}` || strings.Join(refused, " | ") != want {
		t.Errorf("got %s after %q", d.result(), refused)
	}
}

// What the schema allows and the Go type can't hold is refused while the model
// can still correct it.
func TestW31_SubmissionsFitTheirGoType(t *testing.T) {
	type tree struct {
		V    int64     `json:"v"`
		U    uint64    `json:"u,omitempty"`
		F    float32   `json:"f,omitempty"`
		At   time.Time `json:"at,omitzero"`
		Kids []any     `json:"kids,omitempty"`
	}
	refused := map[string]string{}
	x := &scripted{knows: both(), step: func(_ context.Context, s runner.Step) (flow.StepOutcome, error) {
		for try, want := range map[string]string{
			`{"v":1.0}`: "/v: number 1.0 can't be stored in int64: write whole numbers", `{"v":1e2}`: "/v: number 1e2 can't",
			`{"v":9223372036854775808}`: "/v: number 9223372036854775808", `{"v":1e400}`: "/v: number 1e400",
			`{"v":1,"u":18446744073709551616}`: "/u: number 18446744073709551616", `{"v":1,"f":1e39}`: "/f: number 1e39",
			`{"v":1,"kids":[{"a":1e400}]}`: "number 1e400 can't be stored in float64", `{"v":1,"at":"tomorrow"}`: "tomorrow",
		} {
			if err := s.Accept(w.JSON(try)); err == nil || !strings.Contains(err.Error(), want) {
				refused[try] = fmt.Sprint(err)
			}
		}
		err := s.Accept(w.JSON(`{"v":9223372036854775807,"u":18446744073709551615,"at":"2026-01-02T03:04:05Z"}`))
		return flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Output: w.JSON(`{"v":1}`)}, err
	}}
	for name, entry := range map[string]w.Target{
		"plain":     w.Agent("job", ask("?"), w.Submit[tree]()),
		"validated": w.Agent("job", ask("?"), w.Submit(w.Validate(func(*w.Ctx, tree) error { return nil }))),
	} {
		d := prepare(t, "", entry)
		d.conf.Steps = x
		d.carry()
		if d.result() != `{"v":1}` || len(refused) > 0 {
			t.Errorf("%s: %s; %v", name, d.result(), refused)
		}
	}
}

func TestW35_AnAnswerThatIsThereIsAdopted(t *testing.T) {
	x := &scripted{knows: both(), look: flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: "said before"}, step: says("said twice")}
	d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage()))
	d.conf.Steps = x
	d.carry()
	if d.result() != `"said before"` || len(x.steps) != 0 {
		t.Errorf("got %s after %d prompts", d.result(), len(x.steps))
	}
}

func TestW32_TheSessionsOutcomeDecides(t *testing.T) {
	say := func() w.Target { return w.Agent("say", ask("?"), w.AssistantMessage(), w.Timeout(time.Hour)) }
	answered := func(ctx context.Context, _ runner.Step) (flow.StepOutcome, error) {
		<-ctx.Done()
		return flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: "just in time"}, nil
	}
	type c struct {
		step   func(context.Context, runner.Step) (flow.StepOutcome, error)
		signal flow.Event
		status flow.Status
		reason string
		output bool
	}
	for name, c := range map[string]c{
		"timeout":               {waits, nil, flow.TimedOut, "timeout", false},
		"timeout, but answered": {answered, nil, flow.Completed, "", true},
		"cancel":                {waits, flow.Cancel{By: "me"}, flow.Cancelled, "cancelled", false},
		"cancel, but answered":  {answered, flow.Cancel{By: "me"}, flow.Completed, "", true},
		"escape":                {waits, flow.Escape{By: "me"}, flow.Waiting, flow.ForPause, false},
		"escape, but answered":  {answered, flow.Escape{By: "me"}, flow.Completed, "", true},
		"the session isn't here": {func(context.Context, runner.Step) (flow.StepOutcome, error) {
			return flow.StepOutcome{}, runner.ErrAbsent
		}, nil, flow.Parked, flow.ForSession, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &scripted{knows: both(), step: c.step}
				d := prepare(t, "S", say())
				d.conf.Steps = x
				if c.signal != nil {
					go func() {
						<-time.After(time.Minute)
						d.leave("s", c.signal)
					}()
				}
				r := d.carry()
				if r.Status != c.status || r.Reason != c.reason || len(d.signals) != 0 {
					t.Errorf("%s (%s), %d signals", r.Status, r.Reason, len(d.signals))
				}
				if c.output != (d.outputs[r.Nodes["say"].Seq] != nil && r.Nodes["say"].Outcome == flow.OK) {
					t.Errorf("output %s", d.outputs[r.Nodes["say"].Seq])
				}
			})
		})
	}
}

func TestW35_AStepWithoutAWordStopsTheRun(t *testing.T) {
	d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage()))
	d.conf.Steps = &scripted{knows: both(), step: func(context.Context, runner.Step) (flow.StepOutcome, error) {
		return flow.StepOutcome{}, errors.New("the disk is full")
	}}
	r, err := d.begin(t.Context())
	if err == nil || !strings.Contains(err.Error(), "step r/say#1: the disk is full") || r.Status != flow.Running {
		t.Errorf("%v, %s", err, r.Status)
	}
}

// A session may take its time to settle, for its disk is slow. What people see by
// then counts, so nothing is recorded before it has said what that is.
func TestW36_AnOverdueStepIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &scripted{knows: both(), step: func(ctx context.Context, _ runner.Step) (flow.StepOutcome, error) {
			<-ctx.Done()
			<-time.After(10 * runner.EndWait)
			return flow.StepOutcome{State: flow.StepSettled, Stop: "ok", Text: "just in time"}, nil
		}}
		d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage(), w.Timeout(time.Hour)))
		d.conf.Steps = x
		if r := d.carry(); r.Status != flow.Completed || d.result() != `"just in time"` {
			t.Errorf("%s (%s), output %s", r.Status, r.Reason, d.result())
		}
	})
}

// A session that ends while its step is being stopped says nothing about it. The
// run is given up then, and the next claim finds the wish still there.
func TestW32_AStepThatIsStoppedWithoutAWordStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &scripted{knows: both()}
		d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage(), w.NoTimeout()))
		d.conf.Steps = x
		x.step = func(ctx context.Context, _ runner.Step) (flow.StepOutcome, error) {
			d.leave("stop", flow.Cancel{By: "me"})
			<-ctx.Done()
			return flow.StepOutcome{}, errors.New("the session has ended")
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		r, err := d.begin(ctx)
		if err == nil || !strings.Contains(err.Error(), "the session has ended") || r.Status != flow.Running || len(d.signals) != 1 {
			t.Errorf("%v, %s, %d signals", err, r.Status, len(d.signals))
		}
	})
}

// A step that waits for the user isn't timed out; its time goes on when they
// have spoken.
func TestW31_WaitingStopsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		x := &scripted{knows: both(), step: func(ctx context.Context, s runner.Step) (flow.StepOutcome, error) {
			<-time.After(50 * time.Minute)
			if err := s.Waits(true); err != nil {
				return flow.StepOutcome{}, err
			}
			<-time.After(10 * time.Hour)
			if ctx.Err() != nil {
				t.Error("it was ended while it waited for the user")
			}
			if err := s.Waits(false); err != nil {
				return flow.StepOutcome{}, err
			}
			<-ctx.Done()
			if err := s.Waits(true); err == nil {
				t.Error("it may wait again, although its time is up")
			}
			return flow.StepOutcome{}, nil
		}}
		d := prepare(t, "S", w.Agent("job", ask("?"), w.Submit[value](), w.Timeout(time.Hour)))
		d.conf.Steps = x
		if r := d.carry(); r.Status != flow.TimedOut || time.Since(begun) != 11*time.Hour {
			t.Errorf("%s (%s) after %v", r.Status, r.Reason, time.Since(begun))
		}
	})
}

// A session learns how often the run let the attempt go on.
func TestW32_AStepKnowsItsResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &scripted{knows: both()}
		d := prepare(t, "S", w.Agent("say", ask("?"), w.AssistantMessage()))
		d.conf.Steps = x
		x.step = func(ctx context.Context, s runner.Step) (flow.StepOutcome, error) {
			d.leave("stop", flow.Escape{By: "me"})
			return waits(ctx, s)
		}
		for range 2 {
			if r := d.carry(); r.Reason != flow.ForPause {
				t.Fatalf("%s (%s)", r.Status, r.Reason)
			}
			d.leave("on", flow.Resume{By: "me"})
		}
		x.step = says("done")
		d.carry()
		if n := len(x.steps); n != 3 || x.steps[0].Resumes != 0 || x.steps[1].Resumes != 1 || x.steps[2].Resumes != 2 {
			t.Errorf("%d steps: %+v", n, x.steps)
		}
	})
}

// The session is looked at before the author is asked for the prompt, and a step
// that is to end while the author thinks ends for that cause.
func TestW32_TheAuthorThinksAboutThePrompt(t *testing.T) {
	for name, c := range map[string]struct {
		look   string
		signal flow.Event
		status flow.Status
		reason string
		steps  int
	}{
		"cancel":             {flow.StepAbsent, flow.Cancel{By: "me"}, flow.Cancelled, "cancelled", 0},
		"escape":             {flow.StepAbsent, flow.Escape{By: "me"}, flow.Waiting, flow.ForPause, 0},
		"timeout":            {flow.StepAbsent, nil, flow.TimedOut, "timeout", 0},
		"a turn is there":    {flow.StepPrompted, flow.Cancel{By: "me"}, flow.Cancelled, "cancelled", 1},
		"an answer is there": {flow.StepSettled, nil, flow.Completed, "", 0},
	} {
		t.Run("W32 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, over := 0, make(chan struct{})
				x := &scripted{knows: both(), look: flow.StepOutcome{State: c.look}, step: func(ctx context.Context, _ runner.Step) (flow.StepOutcome, error) {
					if ctx.Err() == nil {
						t.Error("the session is asked before the prompt is there")
					}
					return flow.StepOutcome{}, nil
				}}
				if c.look == flow.StepSettled {
					x.look.Stop, x.look.Text = "ok", "said"
				}
				d := prepare(t, "S", w.Agent("say", func(*w.Ctx) string {
					if asked++; asked > 1 {
						<-over
					}
					return "Say it."
				}, w.AssistantMessage(), w.Timeout(10*time.Second)))
				d.conf.Steps = x
				if c.signal != nil {
					go func() {
						<-time.After(5 * time.Second)
						d.leave("s", c.signal)
					}()
				}
				r := d.carry()
				if r.Status != c.status || r.Reason != c.reason || len(d.signals) != 0 || len(x.steps) != c.steps {
					t.Errorf("%s (%s): %s; %d signals, %d steps", r.Status, r.Reason, r.Message, len(d.signals), len(x.steps))
				}
				close(over)
			})
		})
	}
	t.Run("W32 for too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asked, over := 0, make(chan struct{})
			d := prepare(t, "S", w.Agent("say", func(*w.Ctx) string {
				if asked++; asked > 1 {
					<-over
				}
				return "Say it."
			}, w.AssistantMessage(), w.NoTimeout()))
			d.conf.Steps = &scripted{knows: both(), step: says("never")}
			if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "prompt: ") || !strings.Contains(r.Message, "30s") {
				t.Errorf("%s (%s): %s", r.Status, r.Reason, r.Message)
			}
			close(over)
		})
	})
}
